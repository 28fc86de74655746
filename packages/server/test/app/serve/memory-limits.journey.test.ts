/** The limits of memory that a server gets at its start, however it is started. Linux shows the command line and the environment of a process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { freePorts, sixInARow } from '../../support/free-ports.ts'
import { recordLoadedFiles } from '../../support/loaded-files.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { send } from '../../support/send.ts'
import { BIN, launchForTest, newFolder, type Running, run } from '../run.ts'

let env: Record<string, string>
beforeEach(async () => {
  const [auth = 0, login = 0] = await freePorts(2)
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
})

async function started(argv: string[], printed: string, more: Record<string, string> = {}): Promise<Running> {
  const one = launchForTest(argv, { ...env, ...more })
  await one.printed(printed)
  return one
}

function untilReady({ stdout }: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    let printed = ''
    stdout?.on('data', (text: Buffer) => {
      printed += text.toString()
      if (printed.includes('auth service is ready')) resolve()
    })
  })
}

/** The limits of a process: its options of Node, and its environment. */
function limitsOf(pid = 0) {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
  const [, ...args] = read('cmdline')
  return {
    options: args.slice(0, args.indexOf(BIN)),
    malloc: read('environ').filter((variable) => variable.startsWith('MALLOC_')),
  }
}

const LIMITS = { options: ['--max-semi-space-size=8'], malloc: ['MALLOC_ARENA_MAX=1'] }

const servers = async (): Promise<Record<string, [argv: string[], printed: string]>> => ({
  serve: [['serve'], 'auth service is ready'],
  'login-server': [['login-server'], 'login server is ready'],
  start: [['start', '--ports', String(await sixInARow()), '--data', join(newFolder(), 'data')], 'Ctrl-C stops everything'],
})

describe.runIf(process.platform === 'linux')('Memory limits', () => {
  test.for(['serve', 'login-server', 'start'])(
    'The command %s, started without any option, limits its memory, keeps its process id, and exits with 0 on SIGTERM',
    async (name) => {
      const [argv, printed] = (await servers())[name]!
      const one = await started(argv, printed)
      expect(limitsOf(one.child.pid)).toEqual(LIMITS)
      const ended = one.ended()
      one.child.kill('SIGTERM')
      expect((await ended).code).toBe(0)
      expect(one.err()).toBe('')
    },
  )

  test('Each worker of serve --workers has the limits, also a worker that replaces another', async () => {
    const one = await started(['serve', '--workers', '2'], 'auth service is ready')
    const [, listed = ''] = /"workers":\[([\d,]+)\]/.exec(one.out()) ?? []
    const pids = listed.split(',').map(Number)
    expect([one.child.pid, ...pids].map(limitsOf)).toEqual([LIMITS, LIMITS, LIMITS])
    process.kill(pids[0]!, 'SIGKILL')
    await one.printed('a replacement worker is ready')
    const [, replacement] = /"pid":(\d+)[^\n]*a replacement worker is ready/.exec(one.out()) ?? []
    expect(limitsOf(Number(replacement))).toEqual(LIMITS)
  })

  test('A limit that an operator has set stays as it is', async () => {
    const own = { NODE_OPTIONS: '--max_semi_space_size=32', MALLOC_ARENA_MAX: '7' }
    const both = await started(['serve'], 'auth service is ready', own)
    expect(limitsOf(both.child.pid)).toEqual({ options: [], malloc: ['MALLOC_ARENA_MAX=7'] })
    both.child.kill('SIGKILL')
    const one = await started(['serve'], 'auth service is ready', { NODE_OPTIONS: own.NODE_OPTIONS })
    expect(limitsOf(one.child.pid)).toEqual({ options: [], malloc: LIMITS.malloc })
  })

  test('Options of Node on the command line stay in force', async () => {
    const node = spawn(process.execPath, ['--stack-trace-limit=7', BIN, 'serve'], { env: { ...OWN_ENVIRONMENT, ...env } })
    onTestFinished(() => void node.kill('SIGKILL'))
    await untilReady(node)
    expect(limitsOf(node.pid).options).toEqual([...LIMITS.options, '--stack-trace-limit=7'])
  })

  test('A server whose parent has a channel to it keeps the channel, and runs without the limits', async () => {
    const node = spawn(process.execPath, [BIN, 'serve'], {
      env: { ...OWN_ENVIRONMENT, ...env },
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    })
    onTestFinished(() => void node.kill('SIGKILL'))
    await untilReady(node)
    expect(limitsOf(node.pid)).toEqual({ options: [], malloc: [] })
    expect(node.connected).toBe(true)
    expect((await send(env.GRANTOR_AUTH_URL ?? '', { path: '/health/live' })).status).toBe(200)
  })

  test('A command that is no server is not started twice', async () => {
    const loadedBy = async (...argv: string[]) => {
      const loaded = recordLoadedFiles(newFolder(), ['/bin/grantor.js'])
      await launchForTest(argv, { ...env, ...loaded.env }).ended()
      return loaded.read().trim().split('\n').length
    }
    expect(await loadedBy('clients', 'list')).toBe(1)
    expect(await loadedBy('serve', '--help')).toBe(2)
  })
})
