/** docs/reference/feed-vectors.json, which readers in every language are tested against. `npx vitest run packages/resource/test/feed/vectors -u` writes it. */
import { join } from 'node:path'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { blockWith } from '../../../server/test/support/page-blocks.ts'
import { readAccessToken } from '../../src/access-token.ts'
import { readFeedMessage } from '../../src/feed/message.ts'
import { FeedFault } from '../../src/feed/problem.ts'
import { type FeedConnection, FeedState } from '../../src/feed/state.ts'
import { readTokenIds } from '../../src/feed/token-ids.ts'
import { SIGNING_ALGORITHMS } from '../../src/signature-check.ts'
import { vectors } from './vectors.ts'

const MAX_AGE = 3000
const getKey = createLocalJWKSet(vectors.jwks as JSONWebKeySet)
const expected = { issuer: vectors.issuer, audience: vectors.resource, algorithms: SIGNING_ALGORITHMS, getKey }

test('The test vectors are those of docs/reference', async () => {
  await expect(`${JSON.stringify(vectors, null, 2)}\n`).toMatchFileSnapshot(
    join(import.meta.dirname, '../../../../docs/reference/feed-vectors.json'),
  )
})

test('The example of `ended` in feed.md is the one of the test vectors', () => {
  const [, claims = ''] = vectors.messages.snapshot_with_endings.split('.')
  const { ended } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { ended: object }
  expect(JSON.parse(blockWith('reference/feed.md', '"ended"'))).toEqual({ ended })
})

test.each(vectors.cases)('The reader decides as in the test vector: $name', async ({ steps }) => {
  const state = new FeedState()
  let connection: FeedConnection = { sentAt: 0 }
  for (const step of steps) {
    if ('connect' in step) connection = state.connect(step.connect, step.nonce)
    else if ('message' in step) expect({ ...step, expect: await take(step) }).toEqual(step)
    else expect({ ...step, expect: await decide(step) }).toEqual(step)
  }

  async function take({ message, at }: { message: keyof typeof vectors.messages; at: number }): Promise<string> {
    try {
      const read = await readFeedMessage(vectors.messages[message], expected)
      return state.accept(read, connection, at)
    } catch (error) {
      if (!(error instanceof FeedFault)) throw error
      const { kind } = error.problem
      return kind === 'message_refused' ? 'refuse' : kind === 'message_missing' ? 'snapshot' : 'stale'
    }
  }

  async function decide({ token, at }: { token: keyof typeof vectors.tokens; at: number }): Promise<string> {
    const { payload, protectedHeader } = await jwtVerify(vectors.tokens[token], getKey, {
      currentDate: new Date(1_800_000_000_000),
    })
    const outcome = readAccessToken(payload)
    if (outcome.kind !== 'token') throw new Error(outcome.claim)
    const ids = readTokenIds(outcome.token, protectedHeader.kid ?? '')
    return ids ? state.decide(ids, state.ageAt(at), MAX_AGE) : 'ask'
  }
})
