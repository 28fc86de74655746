import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import type { TestClient } from '../../../support/start.ts'

let app: App
let publicClient: TestClient

beforeAll(async () => {
  app = await startApp()
  publicClient = await app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] })
})
afterAll(() => app.close())

const VERIFIER = randomBytes(32).toString('base64url')
const MALFORMED = invalidRequest('code_verifier must be 43 to 128 unreserved characters.')
const UNEXPECTED = invalidRequest('code_verifier was sent, but the authorization request had no code_challenge.')

const challengeParameters = (verifier = VERIFIER): Record<string, string> => ({
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
})

async function countValidGrants(): Promise<number> {
  return (await app.grantor.store.grants.listGrants({ limit: 1000 })).filter(({ endedAt }) => endedAt === null).length
}

describe('Codes of requests with a code_challenge (RFC 7636 §4.6)', () => {
  test.each([43, 44, 127, 128])('The right code_verifier of %i characters is accepted (RFC 7636 §4.1, §4.6)', async (length) => {
    const verifier = 'aZ0-._~'.repeat(20).slice(0, length)
    const code = await app.freshCode(challengeParameters(verifier))
    expect((await app.walk.exchange(app.client, code, { code_verifier: verifier })).status).toBe(200)
  })

  test('A public client redeems a code and refreshes with a code_verifier and without a secret', async () => {
    const code = await app.freshCode(challengeParameters(), publicClient)
    const tokens = tokensOf(await app.walk.exchange(publicClient, code, { code_verifier: VERIFIER }))
    expect(await app.isActive(tokens.access_token)).toBe(false) // another client introspects it
    expect((await app.walk.refresh(publicClient, tokens.refresh_token)).status).toBe(200)
  })

  const wrong: [string, Record<string, string>][] = [
    ['a wrong code_verifier', { code_verifier: 'x'.repeat(43) }],
    [
      'a code_verifier that differs in its last character',
      { code_verifier: VERIFIER.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) },
    ],
    ['a code_verifier that is one character longer', { code_verifier: `${VERIFIER}A` }],
    ['the code_challenge as code_verifier', { code_verifier: challengeParameters().code_challenge ?? '' }],
    ['no code_verifier', {}],
    ['an empty code_verifier', { code_verifier: '' }],
  ]
  test.each(wrong)(
    'A code exchange with %s gets invalid_grant and uses up the code, so a verifier can be guessed only once (RFC 7636 §4.6)',
    async (_what, fields) => {
      const code = await app.freshCode(challengeParameters())
      const before = await countValidGrants()
      expectRefusal(await app.walk.exchange(app.client, code, fields), 'invalid_grant')
      expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), 'invalid_grant')
      expect(await countValidGrants()).toBe(before)
    },
  )

  test.each(wrong)('An exchange of a used code with %s is refused and leaves its grant valid', async (_what, fields) => {
    const code = await app.freshCode(challengeParameters())
    const tokens = tokensOf(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }))
    expectRefusal(await app.walk.exchange(app.client, code, fields), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('Of 20 simultaneous exchanges of one code with one right code_verifier, at most one gets tokens and a grant', async () => {
    const code = await app.freshCode(challengeParameters())
    const before = await countValidGrants()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        app.walk.exchange(app.client, code, { code_verifier: index === 10 ? VERIFIER : 'x'.repeat(43) }),
      ),
    )
    const succeeded = answers.filter(({ status }) => status === 200).length
    expect(succeeded).toBeLessThanOrEqual(1)
    expect(await countValidGrants()).toBe(before + succeeded)
  })

  test('A wrong code_verifier from another client or with another redirect_uri does not use up the code', async () => {
    const code = await app.freshCode(challengeParameters())
    const stranger = { ...publicClient, redirectUris: app.client.redirectUris }
    expectRefusal(await app.walk.exchange(stranger, code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    const astray = { ...app.client, redirectUris: publicClient.redirectUris }
    expectRefusal(await app.walk.exchange(astray, code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    expect((await app.walk.exchange(app.client, code, { code_verifier: VERIFIER })).status).toBe(200)
  })
})

describe('Malformed and unexpected code verifiers (RFC 7636 §4.1)', () => {
  test.each([
    'x',
    'x'.repeat(42),
    'x'.repeat(129),
    'x'.repeat(5000),
    `${VERIFIER} `,
    ` ${VERIFIER}`,
    `${VERIFIER}=`,
    `${VERIFIER}+/`,
    `${VERIFIER}é`,
    `${VERIFIER}\0`,
    `${VERIFIER}\n`,
  ])(
    'The malformed code_verifier %j gets invalid_request and does not use up the code (RFC 7636 §4.1)',
    async (code_verifier) => {
      const code = await app.freshCode(challengeParameters())
      expectRefusal(await app.walk.exchange(app.client, code, { code_verifier }), MALFORMED)
      expect((await app.walk.exchange(app.client, code, { code_verifier: VERIFIER })).status).toBe(200)
    },
  )

  test('A code_verifier for a code without code_challenge gets invalid_request, as in a PKCE downgrade attack (RFC 9700 §2.1.1)', async () => {
    const code = await app.freshCode()
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), UNEXPECTED)
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: 'short' }), MALFORMED)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test('A malformed or unexpected code_verifier for a used code leaves the grant of the code valid', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), UNEXPECTED)
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: 'short' }), MALFORMED)
    expect(await app.isActive(tokens.access_token)).toBe(true)
  })
})
