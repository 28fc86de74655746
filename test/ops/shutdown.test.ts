import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

let child: ChildProcess
let lines: Interface
let agent: Agent
afterEach(() => {
  child.kill('SIGKILL')
  agent.destroy()
})

/** Starts the process and resolves to its port. Its one client keeps connections alive, as browsers and proxies do. */
async function started({ graceSeconds = 3600 } = {}): Promise<number> {
  child = spawn(process.execPath, [fileURLToPath(new URL('shutdown-server.ts', import.meta.url)), String(graceSeconds)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  lines = createInterface({ input: child.stdout! })
  agent = new Agent({ keepAlive: true })
  const [line] = (await once(lines, 'line')) as [string]
  return (JSON.parse(line) as { port: number }).port
}

function ask(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, path, host: '127.0.0.1', agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
    }).on('error', reject)
  })
}

/** A request that the server has begun; `answer` settles when it is over. */
async function underWay(port: number, path: string): Promise<{ answer: Promise<string> }> {
  const answer = ask(port, path)
  answer.catch(() => {})
  await once(lines, 'line')
  return { answer }
}

/** Lets `/slow` be answered. */
const release = () => child.stdin!.write('x')

const connecting = (port: number) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve('accepted')).on('error', () => resolve('refused'))
    socket.on('connect', () => socket.destroy())
  })
const untilItStops = (port: number) => expect.poll(() => connecting(port)).toBe('refused')

test('on SIGTERM a request under way is answered, then the process ends with 0, though its client keeps the connection', async () => {
  const port = await started()
  await Promise.all([ask(port, '/'), once(lines, 'line')])
  const { answer } = await underWay(port, '/slow')
  child.kill('SIGTERM')
  await untilItStops(port)
  const exit = once(child, 'exit')
  release()
  expect(await answer).toBe('answered')
  expect((await exit)[0]).toBe(0)
})

test('once stopping, new connections are refused', async () => {
  const port = await started()
  const { answer } = await underWay(port, '/slow')
  expect(await connecting(port)).toBe('accepted')
  child.kill('SIGINT')
  await untilItStops(port)
  release()
  expect(await answer).toBe('answered')
})

test('a request that is never answered holds the process up to the deadline, not beyond; the code is 0', async () => {
  const port = await started({ graceSeconds: 2 })
  await underWay(port, '/never')
  const before = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(performance.now() - before).toBeGreaterThan(1900)
})

test('told by its primary and signalled as well, a worker takes both for one wish: the request under way is answered', async () => {
  const port = await started()
  const { answer } = await underWay(port, '/slow')
  child.kill('SIGUSR2')
  await untilItStops(port)
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  release()
  expect(await answer).toBe('answered')
  expect((await exit)[0]).toBe(0)
})

test('a second Ctrl-C ends it at once', async () => {
  const port = await started()
  await underWay(port, '/never')
  const exit = once(child, 'exit')
  child.kill('SIGINT')
  await untilItStops(port)
  child.kill('SIGINT')
  expect((await exit)[0]).toBe(130)
})
