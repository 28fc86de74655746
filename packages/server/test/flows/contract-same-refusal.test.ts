/**
 * A failed proof shows nothing about an address: response, Retry-After and RPC requests are the same whether or not its owner has ever
 * signed in.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type HomeChain, startOnChain } from '../support/contract-login.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import { owner } from '../support/wallet-contracts.ts'

const WALLET_CHECKS = 3
const seen = testWallet(0)
const never = testWallet(1)
const mallory = owner('mallory')

let home: HomeChain
beforeAll(async () => {
  home = await startOnChain({ limits: { wallet_checks: WALLET_CHECKS } })
  await new Walk(home.grantor, seen).signIn(requestOf(home.client))
})
beforeEach(() => {
  home.setFaults(null)
  home.grantor.clock.advance(60)
})
afterAll(() => home.close())

/** The response to one failed proof, and the RPC requests that the proof caused. */
async function observe({ address }: TestWallet, signature?: string, clientIp = '198.51.100.1') {
  const walk = Object.assign(new Walk(home.grantor), { clientIp })
  const proof = signature === undefined ? {} : { signature }
  let answer: Awaited<ReturnType<typeof home.prove>>['answer'] | undefined
  const calls = await home.questions(async () => {
    answer = (await home.prove({ address, sign: mallory.sign }, { walk, proof })).answer
  })
  return { status: answer?.status, body: answer?.json(), retryAfter: answer?.headers['retry-after'], calls: calls.toSorted() }
}

const SIGNATURES: Record<string, string | undefined> = {
  'by another key': undefined,
  'of 64 bytes': `0x${'11'.repeat(64)}`,
  'of no bytes': '0x',
  'that is an empty wrapper (ERC-6492)': `0x${'6492'.repeat(16)}`,
  'that is not hexadecimal': 'yes',
}

describe.each(Object.entries(SIGNATURES))(
  'A signature %s gets the same response for an address that signed in before',
  (_, signature) => {
    test('An invalid signature gets the same response for an address that signed in before, while the chain responds', async () => {
      const before = await observe(never, signature)
      expect(before.status).toBeOneOf([400, 401])
      expect(await observe(seen, signature)).toEqual(before)
    })

    test.each(['429', 'cut', 'deny', 'other_chain'] as const)(
      'An invalid signature gets the same response for an address that signed in before, while the RPCs fail: %s',
      async (fault) => {
        home.setFaults(fault)
        expect(await observe(seen, signature)).toEqual(await observe(never, signature))
      },
    )

    test('An invalid signature gets the same response for an address that signed in before, beyond the limit of checks', async () => {
      for (let time = 0; time < WALLET_CHECKS; time++) {
        await observe(seen, signature, '198.51.100.2')
        await observe(never, signature, '198.51.100.2')
      }
      const over = await observe(never, signature, '198.51.100.2')
      expect(over).toMatchObject({ status: 429, calls: [] })
      expect(await observe(seen, signature, '198.51.100.2')).toEqual(over)
    })
  },
)

test('While the RPCs do not respond, a failed proof is 503 for an address that signed in before, as for one that did not', async () => {
  home.setFaults('hang')
  const [ofSeen, ofNever] = [await observe(seen), await observe(never)]
  expect(ofSeen.status).toBe(503)
  expect(ofSeen).toEqual(ofNever)
})

test('Even if every RPC accepts everything, an address that once proved itself by its own key is refused as unproven', async () => {
  home.setFaults('lie')
  expect(await observe(seen)).toMatchObject({ status: 401, body: { error: 'not_proven' } })
})
