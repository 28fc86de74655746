/** Runs the command line in this process with captured output, or in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { main } from '../../src/app/main.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'

export type Ran = { exit: number; out: string; err: string }
type Environment = Record<string, string | undefined>

/** Runs a command in this process. `at` is the time of the command's clock. With `ask`, the command has a terminal. */
export async function run(
  argv: string[],
  env: Environment = {},
  at = 1_800_000_000,
  ask?: (question: string) => Promise<string>,
): Promise<Ran> {
  let [out, err] = ['', '']
  const exit = await main(argv, {
    env,
    print: (line) => void (out += `${line}\n`),
    printError: (line) => void (err += `${line}\n`),
    ask,
    now: () => at,
  })
  return { exit, out, err }
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'grantor-cli-'))
}

/** A SQLite database with every step of the schema, and the settings that name it. */
export async function newDatabase(): Promise<{ path: string; env: Record<string, string> }> {
  const path = join(newFolder(), 'grantor.sqlite')
  const env = { GRANTOR_DATABASE_URL: `sqlite:${path}` }
  await run(['migrate'], env)
  return { path, env }
}

export const BIN = fileURLToPath(new URL('../../bin/grantor.js', import.meta.url))

export type Running = {
  child: ChildProcess
  out: () => string
  err: () => string
  /** Resolves when the text was printed to standard output. Rejects if the process ends first. */
  printed(text: string): Promise<void>
  /** Resolves when the process has ended, with the exit code and the milliseconds since this call. */
  ended(): Promise<{ code: number | null; ms: number }>
}

/** Starts `node packages/server/bin/grantor.js …`, or another program, with `env`, and of this process's environment only `OWN_ENVIRONMENT`. */
export function launch(argv: string[], env: Environment = {}, program = BIN): Running {
  const child = spawn(process.execPath, [program, ...argv], {
    env: { ...OWN_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const closed = once(child, 'close') as Promise<[number | null]>
  return {
    child,
    out: () => out,
    err: () => err,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => out.includes(text) && resolve()
        child.stdout.on('data', look)
        look()
        closed.then(() => reject(new Error(`ended before it printed "${text}": ${out}${err}`)), reject)
      }),
    async ended() {
      const before = performance.now()
      const [code] = await closed
      return { code, ms: performance.now() - before }
    },
  }
}

/** Sends the head of a request, without its body `token=x`. Resolves when the server has read the head (RFC 9110 §10.1.1). */
export async function beginRequest(socket: Socket): Promise<void> {
  const head = [
    'POST /oauth/introspect HTTP/1.1',
    'host: localhost',
    'content-type: application/x-www-form-urlencoded',
    'content-length: 7',
    'expect: 100-continue',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.toString().startsWith('HTTP/1.1 100 ')) throw new Error(answer.toString())
}

/** Starts the process for one test. The process is killed when the test ends. */
export function launchForTest(argv: string[], env: Environment = {}, program = BIN): Running {
  const started = launch(argv, env, program)
  onTestFinished(() => void started.child.kill('SIGKILL'))
  return started
}
