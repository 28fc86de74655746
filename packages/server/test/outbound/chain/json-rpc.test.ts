/** Faults of an RPC endpoint. None of them may cost more than two seconds, cause a request elsewhere, or be taken for a result. */
import { describe, expect } from 'vitest'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import { isDoneWithin } from '../../support/attempts.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { freePorts } from '../../support/free-ports.ts'

/** Init code that returns one byte: 0x2a. */
const question = { data: '0x602a60005360016000f3', gas: 100_000 }

const test = base
  .extend(
    'chain',
    FILE,
    started(startChain, (chain) => chain.close()),
  )
  .extend('host', FILE, ({ chain }) => new URL(chain.url).host)

test.beforeEach(({ chain }) => chain.setFault(null))

/** A reader with a long timeout, for tests that are not about time. */
const reader = (chain: TestChain, options = {}) => createChainReader({ url: chain.url, timeoutMs: 10_000, ...options })

test('A working RPC endpoint returns the result of the code and its chain id', async ({ chain }) => {
  expect(await reader(chain).call(question)).toEqual({ kind: 'returned', data: '0x2a' })
  expect(await reader(chain).chainId()).toEqual({ kind: 'chain', chainId: chain.chainId })
})

test.for(['hang', 'trickle'] as const)(
  'An RPC endpoint that does not complete its response is abandoned after 2 seconds: %s',
  async (fault, { chain, host }) => {
    chain.setFault(fault)
    const start = performance.now()
    const outcome = createChainReader({ url: chain.url }).call(question)
    expect(await isDoneWithin(4000, outcome)).toBe(true)
    expect(await outcome).toEqual({ kind: 'unavailable', why: `${host}: timed_out` })
    expect(performance.now() - start).toBeGreaterThan(1900)
  },
)

test.for([
  ['429', 'http_429'],
  ['500', 'http_500'],
  ['huge', 'too_long'],
  ['cut', 'unreachable'],
  ['malformed', 'malformed'],
] as const)('A faulty RPC response is unavailable, with a reason for the log: %s', async ([fault, why], { chain, host }) => {
  chain.setFault(fault)
  expect(await reader(chain).call(question)).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
  expect(await reader(chain).chainId()).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
})

test('An RPC endpoint that is not running is unavailable', async () => {
  const [port = 0] = await freePorts(1)
  const nowhere = createChainReader({ url: `http://127.0.0.1:${port}/` })
  expect(await nowhere.call(question)).toEqual({ kind: 'unavailable', why: `127.0.0.1:${port}: unreachable` })
})

test('A redirect of an RPC endpoint is not followed, even if it leads to a correct response', async ({ chain, host }) => {
  chain.setFault('redirect')
  expect(await reader(chain).call(question)).toEqual({ kind: 'unavailable', why: `${host}: http_307` })
  expect(chain.asked).not.toContain('elsewhere')
})

test('A long RPC response is read up to the limit only', async ({ chain, host }) => {
  chain.setFault('huge')
  const outcome = reader(chain, { responseLimit: 1_000 }).call(question)
  expect(await isDoneWithin(1_500, outcome)).toBe(true)
  expect(await outcome).toMatchObject({ why: `${host}: too_long` })
})

describe('Malformed RPC responses', () => {
  test.for<[string, string]>([
    ['nothing', ''],
    ['not JSON', '0x2a'],
    ['null', 'null'],
    ['a list, as for a batch', '[{"jsonrpc":"2.0","id":ID,"result":"0x2a"}]'],
    ['the response to another request', '{"jsonrpc":"2.0","id":4711,"result":"0x2a"}'],
    ['one with its id as text', '{"jsonrpc":"2.0","id":"ID","result":"0x2a"}'],
    ['one without an id', '{"jsonrpc":"2.0","result":"0x2a"}'],
    ['one without a result', '{"jsonrpc":"2.0","id":ID}'],
    ['one with the result null', '{"jsonrpc":"2.0","id":ID,"result":null}'],
    ['one with a number as its result', '{"jsonrpc":"2.0","id":ID,"result":42}'],
    ['one with half a byte as its result', '{"jsonrpc":"2.0","id":ID,"result":"0x2"}'],
    ['one whose result lacks 0x', '{"jsonrpc":"2.0","id":ID,"result":"2a"}'],
    ['one with an object as its result', '{"jsonrpc":"2.0","id":ID,"result":{"data":"0x2a"}}'],
    ['one with text after it', '{"jsonrpc":"2.0","id":ID,"result":"0x2a"}{}'],
  ])('An RPC response is unavailable as malformed if it is %s', async ([, body], { chain, host }) => {
    chain.setFault({ body })
    expect(await reader(chain).call(question)).toEqual({ kind: 'unavailable', why: `${host}: malformed` })
  })

  test.for(['0x0', '0x', '1', '0x01', '0xffffffffffffffffffff', '-0x1'])(
    'An RPC response with an invalid chain id is malformed: %s',
    async (id, { chain, host }) => {
      chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"${id}"}` })
      expect(await reader(chain).chainId()).toEqual({ kind: 'unavailable', why: `${host}: malformed` })
    },
  )
})

describe('RPC errors of different clients', () => {
  test.for<[string, string, string]>([
    [
      'Geth, Erigon, Reth: a revert with its reason',
      '{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}',
      'error_3',
    ],
    ['earlier Geth: a revert without a reason', '{"code":-32000,"message":"execution reverted"}', 'error_-32000'],
    ['Nethermind: a revert', '{"code":-32015,"message":"VM execution error.","data":"Reverted 0x"}', 'error_-32015'],
    ['Besu: a revert', '{"code":-32000,"message":"Execution reverted","data":"0x"}', 'error_-32000'],
    ['Nethermind: out of gas', '{"code":-32003,"message":"out of gas"}', 'error_-32003'],
    ['Hardhat: a revert', '{"code":-32603,"message":"Error: VM Exception","data":{"message":"…","data":"0x"}}', 'error_-32603'],
    ['Hedera: a revert', '{"code":-32008,"message":"[Request ID: 1] execution reverted"}', 'error_-32008'],
    ['a provider: too many requests, with status 200', '{"code":-32005,"message":"limit exceeded"}', 'error_-32005'],
    ['no such method', '{"code":-32601,"message":"the method eth_call does not exist"}', 'error_-32601'],
    ['an error without a code', '{"message":"see https://rpc.example.com/v3/secret-key"}', 'error'],
    ['an error that is a text', '"execution reverted"', 'error'],
    ['a code that is not a number', '{"code":"secret-key"}', 'error'],
  ])('An RPC error is not a result, and only its code is logged: %s', async ([, error, why], { chain, host }) => {
    chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"0x2a","error":${error}}` })
    expect(await reader(chain).call(question)).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
  })

  test('An RPC response with a result and an error of null is a result', async ({ chain }) => {
    chain.setFault({ body: '{"jsonrpc":"2.0","id":ID,"error":null,"result":"0x2A"}' })
    expect(await reader(chain).call(question)).toEqual({ kind: 'returned', data: '0x2a' })
  })

  test('Code that reverts or runs out of gas is unavailable', async ({ chain }) => {
    expect(await reader(chain).call({ data: '0x60006000fd', gas: 100_000 })).toMatchObject({ kind: 'unavailable' })
    expect(await reader(chain).call({ data: '0x5b600056', gas: 100_000 })).toMatchObject({ kind: 'unavailable' })
  })
})

test('No reason contains the path of an RPC URL, which may contain an API key', async ({ chain }) => {
  for (const fault of [
    '429',
    '500',
    'huge',
    'cut',
    'malformed',
    'redirect',
    { body: '{"id":ID,"error":{"message":"x"}}' },
  ] as const) {
    chain.setFault(fault)
    expect(JSON.stringify(await reader(chain).call(question))).not.toContain('secret')
  }
})

test('Calls beyond the concurrency limit of an RPC endpoint are refused at once, and later calls are sent again', async ({
  chain,
  host,
}) => {
  chain.setFault('hang')
  const impatient = reader(chain, { timeoutMs: 300, concurrency: 2 })
  const first = [impatient.call(question), impatient.call(question)]
  expect(await impatient.call(question)).toEqual({ kind: 'unavailable', why: `${host}: busy` })
  expect((await Promise.all(first)).map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable'])
  chain.setFault(null)
  expect(await impatient.call(question)).toMatchObject({ kind: 'returned' })
})
