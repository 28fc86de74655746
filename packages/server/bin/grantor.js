#!/usr/bin/env node
// Plain JavaScript, so that an old version of Node can run this file and print which version is needed.
import { accessSync, constants } from 'fs'

const NEEDED = 24
const installed = process.versions.node

/** The commands that run until they are stopped. */
const SERVERS = ['serve', 'login-server', 'start']

if (Number(installed.split('.')[0]) < NEEDED) {
  console.error(
    `grantor needs Node.js ${NEEDED} or newer, and this is ${installed}: ` +
      'get it from https://nodejs.org/en/download, or with "npm install node@24" and then "npx grantor".',
  )
  process.exitCode = 1
} else {
  if (SERVERS.includes(process.argv[2])) restartWithLessMemory()
  import('./run.js')
    .then(({ importProgram }) =>
      importProgram(new URL('../src/app/main.ts', import.meta.url), new URL('../dist/src/app/main.js', import.meta.url)),
    )
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((exitCode) => {
      process.exitCode = exitCode
    })
}

// Two limits of memory can be set only when a process starts (docs/decisions/0028-processes-and-updates.md). So the process replaces
// itself once by the same command with these limits. The process id and the standard streams stay the same. If an operator has set a limit,
// it stays as it is. The process goes on without limits on Windows, which has no execve, and if its parent has a channel to it or systemd
// passed sockets, because execve closes both. The units set the limits themselves. The workers of `serve --workers` get the limits of their parent.
function restartWithLessMemory() {
  const options = `${process.env.NODE_OPTIONS || ''} ${process.execArgv.join(' ')}`
  const heap = /--max[-_]semi[-_]space[-_]size/.test(options) ? [] : ['--max-semi-space-size=8']
  const malloc = process.env.MALLOC_ARENA_MAX === undefined ? { MALLOC_ARENA_MAX: '1' } : {}
  const isComplete = heap.length === 0 && !('MALLOC_ARENA_MAX' in malloc)
  const hasSockets = process.env.LISTEN_PID === String(process.pid)
  if (isComplete || process.channel || hasSockets || process.platform === 'win32' || !process.execve) return
  const args = [process.argv0, ...heap, ...process.execArgv, ...process.argv.slice(1)]
  try {
    // In Node 24 a failed execve ends the process instead of throwing, so this is checked before.
    accessSync(process.execPath, constants.X_OK)
    process.execve(process.execPath, args, { ...process.env, ...malloc })
  } catch {
    // The service works without the limits.
  }
}
