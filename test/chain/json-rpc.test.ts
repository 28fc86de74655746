/** What an RPC endpoint may do to us: everything but cost more than two seconds, lead us elsewhere, or be believed. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createChainReader } from '../../src/chain/chain-reader.ts'
import { isDoneWithin } from '../support/attempts.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import { freePorts } from '../support/free-ports.ts'

/** Init code that answers one byte: 0x2a. */
const question = { data: '0x602a60005360016000f3', gas: 100_000 }

let chain: TestChain
let host: string
beforeAll(async () => {
  chain = await startChain()
  host = new URL(chain.url).host
})
afterAll(() => chain.close())
beforeEach(() => chain.setFault(null))

/** Patient, unless the test is about time. */
const reader = (options = {}) => createChainReader({ url: chain.url, timeoutMs: 10_000, ...options })

test('an endpoint that does as asked gives what the code returned, and its chain', async () => {
  expect(await reader().call(question)).toEqual({ kind: 'returned', data: '0x2a' })
  expect(await reader().chainId()).toEqual({ kind: 'chain', chainId: chain.chainId })
})

test.each(['hang', 'trickle'] as const)(
  'an endpoint that does not come to an end is given up after 2 seconds: %s',
  async (fault) => {
    chain.setFault(fault)
    const start = performance.now()
    const outcome = createChainReader({ url: chain.url }).call(question)
    expect(await isDoneWithin(4000, outcome)).toBe(true)
    expect(await outcome).toEqual({ kind: 'unavailable', why: `${host}: timed_out` })
    expect(performance.now() - start).toBeGreaterThan(1900)
  },
)

test.each([
  ['429', 'http_429'],
  ['500', 'http_500'],
  ['huge', 'too_long'],
  ['cut', 'unreachable'],
  ['malformed', 'malformed'],
] as const)('an endpoint at fault is unavailable, and why is told for the log: %s', async (fault, why) => {
  chain.setFault(fault)
  expect(await reader().call(question)).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
  expect(await reader().chainId()).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
})

test('an endpoint that is not there is unavailable', async () => {
  const [port = 0] = await freePorts(1)
  const nowhere = createChainReader({ url: `http://127.0.0.1:${port}/` })
  expect(await nowhere.call(question)).toEqual({ kind: 'unavailable', why: `127.0.0.1:${port}: unreachable` })
})

test('a redirect is not followed, though the answer would be honest where it leads', async () => {
  chain.setFault('redirect')
  expect(await reader().call(question)).toEqual({ kind: 'unavailable', why: `${host}: http_307` })
  expect(chain.asked).not.toContain('elsewhere')
})

test('no more of a long answer is read than the limit, however fast it comes', async () => {
  chain.setFault('huge')
  const outcome = reader({ responseLimit: 1_000 }).call(question)
  expect(await isDoneWithin(1_500, outcome)).toBe(true)
  expect(await outcome).toMatchObject({ why: `${host}: too_long` })
})

describe('an answer that is no answer to the question is unavailable', () => {
  test.each([
    ['nothing', ''],
    ['no JSON', '0x2a'],
    ['null', 'null'],
    ['a list, as to a batch', '[{"jsonrpc":"2.0","id":ID,"result":"0x2a"}]'],
    ['the answer to another question', '{"jsonrpc":"2.0","id":4711,"result":"0x2a"}'],
    ['the id as text', '{"jsonrpc":"2.0","id":"ID","result":"0x2a"}'],
    ['no id', '{"jsonrpc":"2.0","result":"0x2a"}'],
    ['no result', '{"jsonrpc":"2.0","id":ID}'],
    ['a result of null', '{"jsonrpc":"2.0","id":ID,"result":null}'],
    ['a number', '{"jsonrpc":"2.0","id":ID,"result":42}'],
    ['half a byte', '{"jsonrpc":"2.0","id":ID,"result":"0x2"}'],
    ['no 0x', '{"jsonrpc":"2.0","id":ID,"result":"2a"}'],
    ['an object', '{"jsonrpc":"2.0","id":ID,"result":{"data":"0x2a"}}'],
    ['an answer and more', '{"jsonrpc":"2.0","id":ID,"result":"0x2a"}{}'],
  ])('%s', async (_, body) => {
    chain.setFault({ body })
    expect(await reader().call(question)).toEqual({ kind: 'unavailable', why: `${host}: malformed` })
  })

  test.each(['0x0', '0x', '1', '0x01', '0xffffffffffffffffffff', '-0x1'])('a chain id that is none: %s', async (id) => {
    chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"${id}"}` })
    expect(await reader().chainId()).toEqual({ kind: 'unavailable', why: `${host}: malformed` })
  })
})

describe('an error is no answer, in whatever words a client reports it; of it only the number is told', () => {
  test.each([
    [
      'Geth, Erigon, Reth: a revert with its reason',
      '{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}',
      'error_3',
    ],
    ['Geth before: a revert without one', '{"code":-32000,"message":"execution reverted"}', 'error_-32000'],
    ['Nethermind: a revert', '{"code":-32015,"message":"VM execution error.","data":"Reverted 0x"}', 'error_-32015'],
    ['Besu: a revert', '{"code":-32000,"message":"Execution reverted","data":"0x"}', 'error_-32000'],
    ['Nethermind: out of gas', '{"code":-32003,"message":"out of gas"}', 'error_-32003'],
    ['Hardhat: a revert', '{"code":-32603,"message":"Error: VM Exception","data":{"message":"…","data":"0x"}}', 'error_-32603'],
    ['Hedera: a revert', '{"code":-32008,"message":"[Request ID: 1] execution reverted"}', 'error_-32008'],
    ['a provider: too many requests, with status 200', '{"code":-32005,"message":"limit exceeded"}', 'error_-32005'],
    ['no such method', '{"code":-32601,"message":"the method eth_call does not exist"}', 'error_-32601'],
    ['no code', '{"message":"see https://rpc.example.com/v3/secret-key"}', 'error'],
    ['a text', '"execution reverted"', 'error'],
    ['a code that is none', '{"code":"secret-key"}', 'error'],
  ])('%s', async (_, error, why) => {
    chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"0x2a","error":${error}}` })
    expect(await reader().call(question)).toEqual({ kind: 'unavailable', why: `${host}: ${why}` })
  })

  test('an error of null beside a result is none', async () => {
    chain.setFault({ body: '{"jsonrpc":"2.0","id":ID,"error":null,"result":"0x2A"}' })
    expect(await reader().call(question)).toEqual({ kind: 'returned', data: '0x2a' })
  })

  test('code that reverts or runs out of gas itself is an error, too', async () => {
    expect(await reader().call({ data: '0x60006000fd', gas: 100_000 })).toMatchObject({ kind: 'unavailable' })
    expect(await reader().call({ data: '0x5b600056', gas: 100_000 })).toMatchObject({ kind: 'unavailable' })
  })
})

test('no reason names the path of the URL, in which providers put keys', async () => {
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
    expect(JSON.stringify(await reader().call(question))).not.toContain('secret')
  }
})

test('no more questions are under way at once than agreed; one more is refused at once, and later ones are asked again', async () => {
  chain.setFault('hang')
  const impatient = reader({ timeoutMs: 300, concurrency: 2 })
  const first = [impatient.call(question), impatient.call(question)]
  expect(await impatient.call(question)).toEqual({ kind: 'unavailable', why: `${host}: busy` })
  expect((await Promise.all(first)).map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable'])
  chain.setFault(null)
  expect(await impatient.call(question)).toMatchObject({ kind: 'returned' })
})
