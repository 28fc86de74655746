/** What the start says of the configured endpoints. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createChainReader } from '../../src/chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../../src/chain/check-chains.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import type { TestRpc } from '../support/chain-rpc.ts'

let chain: TestChain
let beside: TestRpc
beforeAll(async () => {
  chain = await startChain({ chainId: 8453 })
  beside = await chain.openRpc()
})
afterAll(() => chain.close())
beforeEach(() => beside.setFault(null))

const look = (chainId = 8453): Promise<ChainFault[]> =>
  checkChains([{ chainId, readers: [chain, beside].map(({ url }) => createChainReader({ url, timeoutMs: 4_000 })) }])
const hostOf = ({ url }: TestRpc): string => new URL(url).host

test('endpoints that are there and of their chain give nothing to say, at two questions each', async () => {
  const asked = [chain.asked.length, beside.asked.length] as const
  expect(await look()).toEqual([])
  const both = ['eth_chainId', 'eth_call']
  expect([chain.asked.slice(asked[0]), beside.asked.slice(asked[1])]).toEqual([both, both])
  expect(await checkChains([])).toEqual([])
})

test('an endpoint of another chain is wrong, and the message says which chain it is of (eth_chainId)', async () => {
  beside.setFault('other_chain')
  const host = hostOf(beside)
  const words = `the RPC of chain 8453 at ${host} is of chain 8454`
  expect(await look()).toEqual([{ kind: 'wrong', chainId: 8453, host, words }])
})

test('every endpoint at fault is told, not only the first', async () => {
  expect((await look(1)).map(({ kind, words }) => [kind, words])).toEqual([
    ['wrong', `the RPC of chain 1 at ${hostOf(chain)} is of chain 8453`],
    ['wrong', `the RPC of chain 1 at ${hostOf(beside)} is of chain 8453`],
  ])
})

test.each(['hang', '429', 'malformed', 'redirect'] as const)(
  'one that does not answer is unavailable, not wrong: %s',
  async (fault) => {
    beside.setFault(fault)
    expect(await look()).toMatchObject([
      { kind: 'unavailable', words: expect.stringContaining('does not respond to eth_chainId') },
    ])
  },
)

test('one that cannot run the check of a wallet is found before somebody signs in', async () => {
  beside.setFault({ body: '{"jsonrpc":"2.0","id":ID,"result":"0x2105"}' })
  const words = `the RPC of chain 8453 at ${hostOf(beside)} does not run a wallet check, an eth_call without "to" (no_answer_of_the_check)`
  expect(await look()).toMatchObject([{ kind: 'unavailable', words }])
})

test('one that accepts a signature of nobody is wrong', async () => {
  beside.setFault('lie')
  expect(await look()).toMatchObject([{ kind: 'wrong', words: expect.stringContaining('accepts a signature without a signer') }])
})

test('no message names the path of a URL, in which providers put keys', async () => {
  for (const fault of ['other_chain', '429', 'lie', 'malformed'] as const) {
    beside.setFault(fault)
    expect(JSON.stringify(await look())).not.toContain('secret')
  }
})
