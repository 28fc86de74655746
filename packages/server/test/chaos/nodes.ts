/** Real `serve` processes on one database, each behind a proxy that can lose requests and responses. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Ran, run } from '../app/run.ts'
import { freePorts } from '../support/free-ports.ts'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'

const BIN = fileURLToPath(new URL('../../bin/grantor.js', import.meta.url))
const WITH_OFFSET = fileURLToPath(new URL('../support/serve.ts', import.meta.url))
/** It only ends what hangs: a busy machine must not end it. */
const START_MS = 180_000
/**
 * The beginning of what a start prints if the database did not respond in time, before it ends with 1. A supervisor starts the node again
 * (`Restart=on-failure` in the unit file), and so do the runs.
 */
export const DATABASE_AWAY = 'grantor: the database cannot be used'

/** Runs a command, and again as long as the database does not respond in time, as an operator does on a busy machine. */
export async function runCommand(argv: string[], env: Record<string, string>): Promise<Ran> {
  for (;;) {
    const ran = await run(argv, env, Math.floor(Date.now() / 1000))
    if (!ran.err.startsWith(DATABASE_AWAY)) return ran
  }
}

export type ServiceNode = {
  name: string
  /** the address of its proxy, which clients use */
  url: string
  proxy: CuttingProxy
  /** the error of its clock in seconds */
  offset: number
  /** how often the error changed */
  jumps: number
  setOffset(seconds: number): void
  start(): Promise<void>
  /** kills the node with kill -9, and resolves when the process has ended */
  kill(): Promise<void>
  /** everything that it logged in all its processes */
  log(): string
  close(): Promise<void>
}

export type NodeOptions = {
  /** the environment of the service, without GRANTOR_LISTEN */
  env: Record<string, string>
  folder: string
  /** whether its clock can jump: then the program is packages/server/test/support/serve.ts, else packages/server/bin/grantor.js */
  jumpingClock: boolean
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export async function createNodes(count: number, options: NodeOptions): Promise<ServiceNode[]> {
  const ports = await freePorts(count)
  return Promise.all(ports.map((port, index) => createNode(`node ${index + 1}`, port, options)))
}

async function createNode(name: string, port: number, { env, folder, jumpingClock }: NodeOptions): Promise<ServiceNode> {
  const proxy = await startCuttingProxy({ port })
  const logFile = join(folder, `${name.replace(' ', '-')}.log`)
  const offsetFile = join(folder, `${name.replace(' ', '-')}.offset`)
  writeFileSync(offsetFile, '0')
  let child: ChildProcess | null = null

  async function kill(): Promise<void> {
    const killed = child
    child = null
    if (!killed) return
    running.delete(killed)
    if (killed.exitCode !== null || killed.signalCode !== null) return
    const exit = once(killed, 'exit')
    killed.kill('SIGKILL')
    await exit
  }

  /** Resolves when the node is ready, or has ended. */
  async function startOnce(): Promise<void> {
    const log = openSync(logFile, 'a')
    child = spawn(process.execPath, jumpingClock ? [WITH_OFFSET] : [BIN, 'serve'], {
      env: { PATH: process.env.PATH, ...env, GRANTOR_LISTEN: `127.0.0.1:${port}`, TEST_CLOCK_OFFSET_FILE: offsetFile },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    running.add(child)
    await untilReady(child, port, node)
  }

  const node: ServiceNode = {
    name,
    url: `http://localhost:${proxy.port}`,
    proxy,
    offset: 0,
    jumps: 0,
    setOffset(seconds) {
      if (seconds !== node.offset) node.jumps++
      node.offset = seconds
      writeFileSync(offsetFile, String(seconds))
    },
    async start() {
      do await startOnce()
      while (child?.exitCode === 1 && lastLineOf(logFile).startsWith(DATABASE_AWAY))
      if (child && child.exitCode !== null)
        throw new Error(`${node.name} ended at its start with ${child.exitCode}: ${node.log().slice(-2000)}`)
    },
    kill,
    log: () => readFileSync(logFile, 'utf8'),
    async close() {
      await kill()
      await proxy.close()
    },
  }
  return node
}

async function untilReady(child: ChildProcess, port: number, node: ServiceNode): Promise<void> {
  const since = performance.now()
  while (performance.now() - since < START_MS) {
    // killed while it was starting, or ended by itself
    if (child.signalCode !== null || child.exitCode !== null) return
    const up = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(20_000) }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (up) return
    await pause(25)
  }
  throw new Error(`${node.name} was not ready in time: ${node.log().slice(-2000)}`)
}

const lastLineOf = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? ''
