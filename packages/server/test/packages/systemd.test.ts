/** The systemd units. `npm run test:packages` runs these tests; they need systemd 252 or newer, and Debian's package `strace`. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect, onTestFinished } from 'vitest'
import { FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { blockWith } from '../support/page-blocks.ts'
import { ASKED, missing } from './missing.ts'

const CHECKOUT = join(import.meta.dirname, '../../../..')
const UNITS = join(CHECKOUT, 'ops/systemd')
const files = readdirSync(UNITS)
const units = files.filter((name) => name.endsWith('.service'))
const lacking = ASKED ? missing('systemd-analyze', 'strace') : 'nothing'
if (ASKED && lacking) console.log(`skipped: the systemd units need ${lacking}; apt-get install systemd strace`)

const test = base.extend(
  'folder',
  FILE,
  started(
    async () => mkdtempSync(join(tmpdir(), 'grantor-units-')),
    (folder) => rmSync(folder, { recursive: true }),
  ),
)
const unitTest = test.runIf(ASKED && !lacking)

function analyze(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stdout + stderr)
  return stdout + stderr
}

/** The names of the system calls in a set of systemd. */
function callsOf(set: string): string[] {
  const lines = analyze('syscall-filter', set).split('\n').slice(1)
  const names = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  return names.flatMap((name) => (name.startsWith('@') ? callsOf(name) : [name]))
}

/** What the `SystemCallFilter` lines of a unit allow: the first line allows, the lines with `~` take away. */
function allowedBy(unit: string): Set<string> {
  const allowed = new Set<string>()
  for (const [, not, sets = ''] of readFileSync(join(UNITS, unit), 'utf8').matchAll(/^SystemCallFilter=(~?)(.+)$/gm)) {
    for (const call of sets.split(' ').flatMap(callsOf)) {
      if (not) allowed.delete(call)
      else allowed.add(call)
    }
  }
  return allowed
}

unitTest(
  'systemd finds no unknown or misplaced setting in the unit of docs/operating/recover.md for Litestream',
  ({ folder }) => {
    const path = join(folder, 'litestream.service')
    writeFileSync(
      path,
      blockWith('operating/recover.md', 'Description=Litestream').replace(/^ExecStart=.*/m, 'ExecStart=/bin/true'),
    )
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })
    expect((stdout + stderr).split('\n').filter((line) => line.includes('litestream.service'))).toEqual([])
  },
)

for (const socket of files.filter((name) => name.endsWith('.socket'))) {
  unitTest(`systemd finds no unknown or misplaced setting in ${socket}`, ({ folder }) => {
    const service = socket.replace('.socket', '.service')
    writeFileSync(join(folder, socket), readFileSync(join(UNITS, socket)))
    writeFileSync(join(folder, service), '[Service]\nExecStart=/bin/true\n')
    expect(analyze('verify', '--man=no', join(folder, socket))).toBe('')
  })
}

for (const unit of units) {
  unitTest(`systemd-analyze rates the exposure of ${unit} with 2.0 or less`, () => {
    const report = analyze('security', '--offline=true', '--threshold=20', '--no-pager', join(UNITS, unit))
    expect(Number(/exposure level for \S+ ([\d.]+)/.exec(report)?.[1])).toBeLessThanOrEqual(2)
  })

  unitTest(`systemd finds no unknown or misplaced setting in ${unit}`, ({ folder }) => {
    // the program is not installed on this machine
    const path = join(folder, unit)
    writeFileSync(path, readFileSync(join(UNITS, unit), 'utf8').replace('ExecStart=grantor', 'ExecStart=/bin/true'))
    expect(analyze('verify', '--man=no', path)).toBe('')
  })
}

unitTest(
  'The auth service with two workers and the login server make only system calls that their units allow',
  async ({ folder }) => {
    const [auth = 0, login = 0] = await freePorts(2)
    const env = {
      ...OWN_ENVIRONMENT,
      GRANTOR_AUTH_URL: `http://127.0.0.1:${auth}`,
      GRANTOR_LOGIN_URL: `http://localhost:${login}`,
      GRANTOR_DATABASE_URL: `sqlite:${join(folder, 'grantor.sqlite')}`,
      GRANTOR_SECRET: 'a-secret-of-a-test-0123456789-abcdefgh',
      GRANTOR_LOGIN_SECRET: 'a-login-secret-of-a-test-0123456789-ab',
      GRANTOR_DRAIN_SECONDS: '0',
    }
    const bin = join(CHECKOUT, 'packages/server/bin/grantor.js')
    expect(spawnSync('node', [bin, 'migrate'], { env }).status).toBe(0)
    for (const [unit, args, port] of [
      ['grantor.service', ['serve', '--workers', '2'], auth],
      ['grantor-login.service', ['login-server'], login],
    ] as const) {
      const counts = join(folder, unit)
      const traced = spawn('strace', ['-f', '-c', '-o', counts, 'node', bin, ...args], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void traced.kill('SIGTERM'))
      let log = ''
      traced.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()))
      const exited = once(traced, 'exit')
      // this line is written when the program answers and has its signal handler
      await expect.poll(() => log, { timeout: 60_000 }).toContain(' is ready')
      await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`)
      const [program = ''] = readFileSync(`/proc/${traced.pid}/task/${traced.pid}/children`, 'utf8').split(' ')
      process.kill(Number(program), 'SIGTERM')
      expect(await exited).toEqual([0, null])
      // the last word of a row of the table
      const rows = readFileSync(counts, 'utf8').split('\n').slice(2)
      const made = rows.flatMap((row) => /^ *[\d.]+ .* (\w+)$/.exec(row)?.[1] ?? []).filter((name) => name !== 'total')
      expect(made).toContain('epoll_pwait')
      const allowed = allowedBy(unit)
      // SQLite changes the owner of its files only if it runs as root, as this test may
      expect(made.filter((call) => !allowed.has(call) && call !== 'fchown')).toEqual([])
    }
  },
)
