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

/** Starts the process and resolves to its port. The client keeps connections alive, as browsers and proxies do. */
async function startServer({ graceSeconds = 3600, startingFor = 0 } = {}): Promise<number> {
  child = spawn(
    process.execPath,
    [fileURLToPath(new URL('shutdown-server.ts', import.meta.url)), String(graceSeconds), String(startingFor)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  lines = createInterface({ input: child.stdout! })
  agent = new Agent({ keepAlive: true })
  const [line] = (await once(lines, 'line')) as [string]
  return (JSON.parse(line) as { port: number }).port
}

function send(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, path, host: '127.0.0.1', agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
    }).on('error', reject)
  })
}

/** Sends a request and resolves when the server has received it. `answer` settles when the request is over. */
async function begin(port: number, path: string): Promise<{ answer: Promise<string> }> {
  const answer = send(port, path)
  answer.catch(() => {})
  await once(lines, 'line')
  return { answer }
}

/** Makes the server respond to `/slow`. */
const release = () => child.stdin!.write('x')

const tryToConnect = (port: number) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve('accepted')).on('error', () => resolve('refused'))
    socket.on('connect', () => socket.destroy())
  })
const waitUntilRefused = (port: number) => expect.poll(() => tryToConnect(port)).toBe('refused')

test('A SIGTERM that arrives while the process is still starting ends no request, and the process exits with 0 after its start', async () => {
  const port = await startServer({ startingFor: 300 })
  const { answer } = await begin(port, '/slow')
  child.kill('SIGTERM')
  release()
  expect(await answer).toBe('answered')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('On SIGTERM, a request in progress is answered and the process exits with 0, although the client keeps its connections alive', async () => {
  const port = await startServer()
  await Promise.all([send(port, '/'), once(lines, 'line')])
  const { answer } = await begin(port, '/slow')
  child.kill('SIGTERM')
  await waitUntilRefused(port)
  const exit = once(child, 'exit')
  release()
  expect(await answer).toBe('answered')
  expect((await exit)[0]).toBe(0)
})

test('A process that stops refuses new connections, and answers the request in progress', async () => {
  const port = await startServer()
  const { answer } = await begin(port, '/slow')
  expect(await tryToConnect(port)).toBe('accepted')
  child.kill('SIGINT')
  await waitUntilRefused(port)
  release()
  expect(await answer).toBe('answered')
})

test('A request that is never answered delays the exit until the deadline, and the exit code is 0', async () => {
  const port = await startServer({ graceSeconds: 2 })
  await begin(port, '/never')
  const before = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(performance.now() - before).toBeGreaterThan(1900)
})

test('A worker that is stopped by its primary and then gets SIGTERM still answers the request in progress', async () => {
  const port = await startServer()
  const { answer } = await begin(port, '/slow')
  child.kill('SIGUSR2')
  await waitUntilRefused(port)
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  release()
  expect(await answer).toBe('answered')
  expect((await exit)[0]).toBe(0)
})

test('A second SIGINT ends the process at once, with exit code 130', async () => {
  const port = await startServer()
  await begin(port, '/never')
  const exit = once(child, 'exit')
  child.kill('SIGINT')
  await waitUntilRefused(port)
  child.kill('SIGINT')
  expect((await exit)[0]).toBe(130)
})
