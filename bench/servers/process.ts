/** A measured server: a process of its own, on its own cores. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { atExit } from '../at-exit.ts'
import { pinned } from '../machine.ts'

export type Running = { pid: number; child: ChildProcess; stop(): Promise<void> }

export type Start = {
  /** the program and its arguments */
  args: string[]
  cwd?: string
  env: Record<string, string>
  cores: string | null
  /** the file for standard output and errors */
  log: string
}

/** Starts a Node program with the same Node as the bench, and with a channel for `child.send`. */
export function startNode(start: Start): Running {
  return startProgram(withNode(start), ['ipc'])
}

/** Starts `packages/server/bin/grantor.js` without a channel, as an operator does. If the server ends before `stop`, the bench prints the end of its log. */
export function startCommand(start: Start): Running {
  const running = startProgram(withNode(start))
  const onExit = (code: number | null, signal: string | null) => {
    console.error(`${start.args.join(' ')} ended (${signal ?? code}): ${tailOf(start.log)}`)
  }
  running.child.once('exit', onExit)
  return {
    ...running,
    stop() {
      running.child.off('exit', onExit)
      return running.stop()
    },
  }
}

function withNode(start: Start): Start {
  return { ...start, args: [process.execPath, ...start.args], env: { NODE_ENV: 'production', ...start.env } }
}

export function startProgram({ args, cwd, env, cores, log }: Start, channels: 'ipc'[] = []): Running {
  const [command = '', ...rest] = pinned(cores, args)
  const out = openSync(log, 'a')
  const environment = { PATH: process.env.PATH ?? '', ...env }
  const child = spawn(command, rest, { ...(cwd ? { cwd } : {}), env: environment, stdio: ['ignore', out, out, ...channels] })
  closeSync(out)
  const stopped = atExit(() => void child.kill('SIGKILL'))
  return {
    pid: child.pid ?? 0,
    child,
    async stop() {
      stopped()
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

let runs = 0

/** Runs a Node program to its end and returns what it printed. `isIdle`: with the lowest priority, as if it ran on another machine. */
export async function runNode({ isIdle = false, ...start }: Start & { isIdle?: boolean }): Promise<string> {
  return untilEnd({ ...start, log: `${start.log}.${++runs}.${start.args.at(1) ?? 'run'}` }, (each) => {
    const running = startNode(each)
    if (isIdle) setPriority(running.pid, constants.priority.PRIORITY_LOW)
    return running
  })
}

/** Runs a program to its end and returns what it printed, which is also in `log`. */
export async function untilEnd(start: Start, startIt: (start: Start) => Running = startProgram): Promise<string> {
  const { child } = startIt(start)
  await once(child, 'exit')
  if (child.exitCode !== 0) throw new Error(`${start.args.join(' ')} failed: ${tailOf(start.log)}`)
  return readFileSync(start.log, 'utf8')
}

/** Resolves with the milliseconds until `question` resolved to true. Rejects if the process ends before, or after `atMost` seconds. */
export async function untilReady(
  { child }: Running,
  log: string,
  question: () => Promise<boolean>,
  atMost = 60,
): Promise<number> {
  const from = performance.now()
  while (!(await question())) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended: ${tailOf(log)}`)
    if (performance.now() - from > atMost * 1000) throw new Error(`the server was not ready after ${atMost} s`)
    await pause(2)
  }
  return performance.now() - from
}

const tailOf = (file: string): string => readFileSync(file, 'utf8').slice(-2000)

/** A free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
