import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

let child: ChildProcess
let agent: Agent
afterEach(() => {
  child.kill('SIGKILL')
  agent.destroy()
})

/** Starts the process and resolves to its port. Its one client keeps connections alive, as browsers and proxies do. */
async function started(): Promise<number> {
  child = spawn(process.execPath, [fileURLToPath(new URL('shutdown-server.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  agent = new Agent({ keepAlive: true })
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return (JSON.parse(line.toString()) as { port: number }).port
}

function ask(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, path, host: '127.0.0.1', agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
    }).on('error', reject)
  })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('on SIGTERM a request under way is answered, then the process ends with 0, though its client keeps the connection', async () => {
  const port = await started()
  await ask(port, '/')
  const answer = ask(port, '/slow')
  await pause(200)
  const before = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(await answer).toBe('answered')
  expect(code).toBe(0)
  expect(performance.now() - before).toBeLessThan(1900)
})

test('once stopping, new connections are refused', async () => {
  const port = await started()
  const answer = ask(port, '/slow')
  await pause(200)
  child.kill('SIGINT')
  await pause(200)
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  expect(await answer).toBe('answered')
})

test('a request that is never answered holds the process up to the deadline, not beyond; the code is 0', async () => {
  const port = await started()
  ask(port, '/never').catch(() => {})
  await pause(200)
  const before = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(performance.now() - before).toBeLessThan(3000)
})

test('told by its primary and signalled as well, a worker takes both for one wish: the request under way is answered', async () => {
  const port = await started()
  const answer = ask(port, '/slow')
  await pause(200)
  child.kill('SIGUSR2')
  await pause(200)
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(await answer).toBe('answered')
  expect(code).toBe(0)
})

test('a second Ctrl-C ends it at once', async () => {
  const port = await started()
  ask(port, '/never').catch(() => {})
  await pause(200)
  child.kill('SIGINT')
  await pause(100)
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  expect(code).toBe(130)
})
