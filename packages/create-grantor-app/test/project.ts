/** A new app from a template, whose packages are those of this checkout in place of the registry. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect } from 'vitest'
import { newFolder } from '../../server/test/app/run.ts'
import { compilePackage } from '../../server/test/support/compiled-package.ts'
import { freePorts, sixInARow } from '../../server/test/support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../server/test/support/own-environment.ts'

const ROOT = join(import.meta.dirname, '../../..')

export type NewApp = { folder: string; url: string; env: NodeJS.ProcessEnv }

/** Runs the command, and links the packages that the template names, or installs those of the registries. */
export async function createApp(template: string, { downloads = false } = {}): Promise<NewApp> {
  const [[port = 0], first] = [await freePorts(1), await sixInARow()]
  const parent = newFolder()
  const argv = ['my-app', '--template', template, '--no-install', '--port', String(port), '--grantor-port', String(first)]
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'packages/create-grantor-app/src/index.ts'), ...argv], {
    cwd: parent,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  const folder = join(parent, 'my-app')
  if (downloads) download(folder)
  linkPackages(folder)
  const path = [join(folder, 'node_modules/.bin'), dirname(process.execPath), OWN_ENVIRONMENT.PATH].join(delimiter)
  // In a checkout, `@grantor/testing` is the source.
  return {
    folder,
    url: `http://localhost:${port}`,
    env: {
      ...OWN_ENVIRONMENT,
      PATH: path,
      NODE_OPTIONS: '--conditions=grantor-source',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    },
  }
}

/** The packages of the template from the registries of npm and Python, without those of this tree. */
function download(folder: string): void {
  const path = join(folder, 'package.json')
  const manifest = readFileSync(path, 'utf8')
  writeFileSync(path, manifest.replace(/^\s+"(@grantor\/\w+|grantor)": "[^"]+",?\n/gm, ''))
  const run = (program: string, ...argv: string[]) => {
    const { status, stderr } = spawnSync(program, argv, { cwd: folder, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.any(String)])
  }
  run('npm', 'install', '--no-audit', '--no-fund', '--loglevel', 'error')
  writeFileSync(path, manifest)
  if (!existsSync(join(folder, 'requirements.txt'))) return
  run('python3', '-m', 'venv', '.venv')
  run('.venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt')
}

function linkPackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  for (const name of ['@grantor', '.bin']) mkdirSync(join(modules, name), { recursive: true })
  const missing = (name: string) => !name.startsWith('.') && !existsSync(join(modules, name))
  if (readdirSync(modules).length <= 2)
    for (const name of readdirSync(join(ROOT, 'node_modules')).filter(missing))
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  rmSync(join(modules, 'grantor'), { force: true })
  symlinkSync(join(ROOT, 'packages/server'), join(modules, 'grantor'))
  writeFileSync(join(modules, '.bin/grantor'), `#!/bin/sh\nexec node "${ROOT}/packages/server/bin/grantor.js" "$@"\n`)
  chmodSync(join(modules, '.bin/grantor'), 0o755)
  for (const name of ['protocol', 'resource', 'testing']) {
    rmSync(join(modules, '@grantor', name), { force: true })
    symlinkSync(join(ROOT, 'packages', name), join(modules, '@grantor', name))
  }
  compilePackage('connect', join(modules, '@grantor/connect'))
}

export type RunningApp = { output: () => string; stop(): Promise<number | null> }

/** `npm run dev`, until the app answers. */
export async function runDev({ folder, url, env }: NewApp): Promise<RunningApp> {
  const child: ChildProcess = spawn('npm', ['run', 'dev'], { cwd: folder, env, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const closed = once(child, 'close') as Promise<[number | null]>
  const running: RunningApp = {
    output: () => output,
    async stop() {
      // As Ctrl-C in a terminal, which signals the whole group.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT')
      return (await closed)[0]
    },
  }
  try {
    await expect
      .poll(
        () =>
          fetch(url).then(
            ({ ok }) => ok,
            () => child.exitCode !== null,
          ),
        { timeout: 110_000 },
      )
      .toBe(true)
    expect([child.exitCode, existsSync(join(folder, '.grantor'))]).toEqual([null, true])
  } catch (error) {
    await running.stop()
    throw new Error(`the app did not start: ${output}`, { cause: error })
  }
  return running
}

/** The tests that the template brings. */
export function runTests({ folder, env }: NewApp) {
  const { status, stdout, stderr } = spawnSync('npm', ['test'], { cwd: folder, env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}
