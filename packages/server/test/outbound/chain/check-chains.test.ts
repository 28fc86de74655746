/** The check of the configured RPC endpoints at startup. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import { type ChainFault, checkChains } from '../../../src/outbound/chain/check-chains.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import type { TestRpc } from '../../support/chain-rpc.ts'

let chain: TestChain
let beside: TestRpc
beforeAll(async () => {
  chain = await startChain({ chainId: 8453 })
  beside = await chain.openRpc()
})
afterAll(() => chain.close())
beforeEach(() => beside.setFault(null))

const checkBoth = (chainId = 8453): Promise<ChainFault[]> =>
  checkChains([{ chainId, readers: [chain, beside].map(({ url }) => createChainReader({ url, timeoutMs: 4_000 })) }])
const hostOf = ({ url }: TestRpc): string => new URL(url).host

test('RPC endpoints that respond for their chain cause no message, and get two requests each', async () => {
  const before = [chain.asked.length, beside.asked.length] as const
  expect(await checkBoth()).toEqual([])
  const both = ['eth_chainId', 'eth_call']
  expect([chain.asked.slice(before[0]), beside.asked.slice(before[1])]).toEqual([both, both])
  expect(await checkChains([])).toEqual([])
})

test('An RPC endpoint of another chain is wrong, and the message names the chain that it serves (eth_chainId)', async () => {
  beside.setFault('other_chain')
  const host = hostOf(beside)
  const words = `the RPC of chain 8453 at ${host} is of chain 8454`
  expect(await checkBoth()).toEqual([{ kind: 'wrong', chainId: 8453, host, words }])
})

test('Every faulty RPC endpoint is reported, not only the first', async () => {
  expect((await checkBoth(1)).map(({ kind, words }) => [kind, words])).toEqual([
    ['wrong', `the RPC of chain 1 at ${hostOf(chain)} is of chain 8453`],
    ['wrong', `the RPC of chain 1 at ${hostOf(beside)} is of chain 8453`],
  ])
})

test.each(['hang', '429', 'malformed', 'redirect'] as const)(
  'An RPC endpoint that does not respond properly is unavailable, not wrong: %s',
  async (fault) => {
    beside.setFault(fault)
    expect(await checkBoth()).toMatchObject([
      { kind: 'unavailable', words: expect.stringContaining('does not respond to eth_chainId') },
    ])
  },
)

test('An RPC endpoint that cannot run the wallet check is reported as unavailable at startup', async () => {
  beside.setFault({ body: '{"jsonrpc":"2.0","id":ID,"result":"0x2105"}' })
  const words = `the RPC of chain 8453 at ${hostOf(beside)} does not run a wallet check, an eth_call without "to" (no_answer_of_the_check)`
  expect(await checkBoth()).toMatchObject([{ kind: 'unavailable', words }])
})

test('An RPC endpoint that accepts a signature without a signer is reported as wrong', async () => {
  beside.setFault('lie')
  expect(await checkBoth()).toMatchObject([
    { kind: 'wrong', words: expect.stringContaining('accepts a signature without a signer') },
  ])
})

test('No message about an RPC endpoint contains the path of its URL, which may contain an API key', async () => {
  for (const fault of ['other_chain', '429', 'lie', 'malformed'] as const) {
    beside.setFault(fault)
    expect(JSON.stringify(await checkBoth())).not.toContain('secret')
  }
})
