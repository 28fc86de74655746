/** `grantor serve` checks the RPCs of GRANTOR_CHAINS before it listens. A wrong RPC stops the start. An outage is a warning. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startChain, type TestChain } from '../../support/chain.ts'
import type { TestRpc } from '../../support/chain-rpc.ts'
import { freePorts } from '../../support/free-ports.ts'
import { launch, newFolder, type Running, run } from '../run.ts'

let chain: TestChain
let beside: TestRpc
let env: Record<string, string>
let running: Running[] = []
beforeAll(async () => {
  chain = await startChain({ chainId: 1 })
  beside = await chain.openRpc()
  const [auth, login] = (await freePorts(2)) as [number, number]
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_CHAINS: chainsOf(chain.url, beside.url),
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
})
beforeEach(() => {
  chain.setFault(null)
  beside.setFault(null)
  chain.asked.length = 0
})
afterEach(() => {
  for (const { child } of running) child.kill('SIGKILL')
  // Providers put keys into the path of their URLs, so no output may contain the path.
  for (const { out, err } of running) expect(out() + err()).not.toContain('secret-key-of-the-operator')
  running = []
})
afterAll(() => chain.close())

function chainsOf(...rpc: string[]): string {
  return JSON.stringify({ 1: { name: 'Home', rpc, home: true } })
}

function serve(more: Record<string, string> = {}): Running {
  const started = launch(['serve'], { ...env, ...more })
  running.push(started)
  return started
}

const warningsOf = (one: Running) =>
  one
    .out()
    .split('\n')
    .filter((line) => line.includes('"chain unavailable"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('If both RPCs respond and are of the configured chain, serve calls eth_chainId and eth_call, and starts without a warning', async () => {
  const one = serve()
  await one.printed('auth service is ready')
  expect(warningsOf(one)).toEqual([])
  expect(one.err()).toBe('')
  expect(chain.asked).toEqual(['eth_chainId', 'eth_call'])
})

test('If an RPC is of another chain, serve exits with 1 and one error line, and opens no port', async () => {
  beside.setFault('other_chain')
  const one = serve()
  expect((await one.ended()).code).toBe(1)
  const { host } = new URL(beside.url)
  expect(one.err()).toBe(`grantor: the RPC of chain 1 at ${host} is of chain 2; correct GRANTOR_CHAINS\n`)
  expect(one.out()).not.toContain('auth service is ready')
  await expect(fetch(`${env.GRANTOR_AUTH_URL}/health/live`)).rejects.toThrow()
})

test('If an RPC accepts a signature that has no signer, serve exits with 1 and one error line', async () => {
  beside.setFault('lie')
  const one = serve()
  expect((await one.ended()).code).toBe(1)
  expect(one.err()).toMatch(
    /^grantor: the RPC of chain 1 at [\d.:]+ accepts a signature without a signer; correct GRANTOR_CHAINS\n$/,
  )
})

test.each(['429', 'hang'] as const)('If an RPC is not available, serve logs a warning and starts: %s', async (fault) => {
  beside.setFault(fault)
  const one = serve()
  await one.printed('auth service is ready')
  const { host } = new URL(beside.url)
  expect(warningsOf(one)).toMatchObject([{ problem: expect.stringContaining(`the RPC of chain 1 at ${host} does not respond`) }])
  expect((await fetch(`${env.GRANTOR_AUTH_URL}/health/ready`)).status).toBe(200)
})

test('If neither of two RPCs can be reached, serve logs two warnings and starts, because ordinary wallets need no RPC', async () => {
  const [first, second] = await freePorts(2)
  const one = serve({ GRANTOR_CHAINS: chainsOf(`http://127.0.0.1:${first}/`, `http://127.0.0.1:${second}/`) })
  await one.printed('auth service is ready')
  expect(warningsOf(one)).toHaveLength(2)
})
