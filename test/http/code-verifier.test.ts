import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, tokensOf } from '../support/app.ts'
import { expectRefusal, invalidRequest } from '../support/refusals.ts'
import type { TestClient } from '../support/start.ts'

let app: App
let publicClient: TestClient

beforeAll(async () => {
  app = await startApp()
  publicClient = await app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] })
})
afterAll(() => app.close())

const VERIFIER = randomBytes(32).toString('base64url')
const MALFORMED = invalidRequest('code_verifier must be 43 to 128 unreserved characters.')
const UNASKED = invalidRequest('code_verifier was sent, but the authorization request had no code_challenge.')

const challenged = (verifier = VERIFIER): Record<string, string> => ({
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
})

async function livingGrants(): Promise<number> {
  return (await app.grantor.store.grants.listGrants({ living: true, at: app.grantor.clock.now(), limit: 1000 })).length
}

describe('a code asked for with a challenge needs its verifier (RFC 7636 §4.6)', () => {
  test.each([43, 44, 127, 128])('the right one of %i characters is taken', async (length) => {
    const verifier = 'aZ0-._~'.repeat(20).slice(0, length)
    const code = await app.freshCode(challenged(verifier))
    expect((await app.walk.exchange(app.client, code, { code_verifier: verifier })).status).toBe(200)
  })

  test('a public client proves itself by it alone, without a secret', async () => {
    const code = await app.freshCode(challenged(), publicClient)
    const tokens = tokensOf(await app.walk.exchange(publicClient, code, { code_verifier: VERIFIER }))
    expect(await app.isActive(tokens.access_token)).toBe(false) // another client's eyes
    expect((await app.walk.refresh(publicClient, tokens.refresh_token)).status).toBe(200)
  })

  const wrong: [string, Record<string, string>][] = [
    ['a wrong one', { code_verifier: 'x'.repeat(43) }],
    ['one that differs in its last character', { code_verifier: VERIFIER.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) }],
    ['one that is one character longer', { code_verifier: `${VERIFIER}A` }],
    ['the challenge itself, as `plain` would want it', { code_verifier: challenged().code_challenge ?? '' }],
    ['none', {}],
    ['an empty one, which counts as none', { code_verifier: '' }],
  ]
  test.each(wrong)('%s is invalid_grant and spends the code: guessing ends here', async (_what, fields) => {
    const code = await app.freshCode(challenged())
    const before = await livingGrants()
    expectRefusal(await app.walk.exchange(app.client, code, fields), 'invalid_grant')
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), 'invalid_grant')
    expect(await livingGrants()).toBe(before)
  })

  test.each(wrong)('%s never touches a grant that lives', async (_what, fields) => {
    const code = await app.freshCode(challenged())
    const tokens = tokensOf(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }))
    expectRefusal(await app.walk.exchange(app.client, code, fields), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('a wrong one beside the right one, 20 times at once: tokens once or never, and never two grants', async () => {
    const code = await app.freshCode(challenged())
    const before = await livingGrants()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        app.walk.exchange(app.client, code, { code_verifier: index === 10 ? VERIFIER : 'x'.repeat(43) }),
      ),
    )
    const succeeded = answers.filter(({ status }) => status === 200).length
    expect(succeeded).toBeLessThanOrEqual(1)
    expect(await livingGrants()).toBe(before + succeeded)
  })

  test('a wrong one from another client, or for another redirect URI, does not spend the code', async () => {
    const code = await app.freshCode(challenged())
    const stranger = { ...publicClient, redirectUris: app.client.redirectUris }
    expectRefusal(await app.walk.exchange(stranger, code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    const astray = { ...app.client, redirectUris: publicClient.redirectUris }
    expectRefusal(await app.walk.exchange(astray, code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    expect((await app.walk.exchange(app.client, code, { code_verifier: VERIFIER })).status).toBe(200)
  })
})

describe('a mistake is told apart from a guess, and spends nothing (RFC 7636 §4.1)', () => {
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
  ])('a malformed verifier: %j', async (code_verifier) => {
    const code = await app.freshCode(challenged())
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier }), MALFORMED)
    expect((await app.walk.exchange(app.client, code, { code_verifier: VERIFIER })).status).toBe(200)
  })

  test('a verifier where no challenge was sent: the mark of a downgrade (RFC 9700 §2.1.1)', async () => {
    const code = await app.freshCode()
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), UNASKED)
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: 'short' }), MALFORMED)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test('the same mistakes with a used code end nothing', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: VERIFIER }), UNASKED)
    expectRefusal(await app.walk.exchange(app.client, code, { code_verifier: 'short' }), MALFORMED)
    expect(await app.isActive(tokens.access_token)).toBe(true)
  })
})
