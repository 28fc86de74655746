import { createTokenCheck } from 'grantor/resource'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { LittleIssuer } from './little-issuer.ts'
import { audience, clientId, ok, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

let issuer: LittleIssuer
let usual: LittleIssuer['answers']['introspect']
let check: ReturnType<typeof createTokenCheck>
beforeAll(async () => {
  issuer = await startLittleIssuer()
  usual = issuer.answers.introspect
})
afterAll(() => issuer.close())
beforeEach(() => {
  const introspection = { clientId: 'api:1', clientSecret: 'a secret+with/é' }
  check = createTokenCheck({ issuer: issuer.url, audience, introspection, now: () => issuer.clock.now })
})
afterEach(() => {
  issuer.answers.introspect = usual
  issuer.asked.length = 0
})

const introspections = () => issuer.asked.filter(({ path }) => path === '/oauth/introspect')

test('every call asks the authorization server, with credentials form-urlencoded in Basic (RFC 7662 §2.1, RFC 6749 §2.3.1)', async () => {
  const token = await issuer.sign()
  await check(bearer(token))
  await check(bearer(token))
  expect(introspections()).toHaveLength(2)
  const [{ authorization, contentType, body } = { authorization: '', contentType: '', body: '' }] = introspections()
  expect(Buffer.from(authorization?.slice(6) ?? '', 'base64').toString()).toBe('api%3A1:a+secret%2Bwith%2F%C3%A9')
  expect(contentType).toMatch(/^application\/x-www-form-urlencoded/)
  expect(body).toBe(`token=${token}&token_type_hint=access_token`)
})

test('a token the server calls inactive stops at once, though its signature and time are fine', async () => {
  const token = await issuer.sign()
  await expect(check(bearer(token))).resolves.toMatchObject({ wallet })
  issuer.answers.introspect = () => ok({ active: false })
  const error = await refusal(check(bearer(token)))
  expect([error.status, error.error, error.reason]).toEqual([401, 'invalid_token', 'inactive'])
})

test('a token for another audience is refused without a question: the answer of introspection has no audience', async () => {
  expect((await refusal(check(bearer(await issuer.sign({ aud: 'https://other.example.com/' }))))).reason).toBe('claim_aud')
  expect(introspections()).toHaveLength(0)
})

describe('an answer about another token is refused', () => {
  test.each(['sub', 'client_id', 'jti'])('%s', async (field) => {
    for (const other of ['another', undefined]) {
      issuer.answers.introspect = (token) => ok({ ...issuer.active(token), [field]: other })
      const error = await refusal(check(bearer(await issuer.sign())))
      expect([error.status, error.reason]).toEqual([401, `introspection_${field}`])
    }
  })
})

test('a token the server calls bound to a key is not taken as a bearer token (RFC 9449 §6.2)', async () => {
  issuer.answers.introspect = (token) => ok({ ...issuer.active(token), cnf: { jkt: 'a-thumbprint' } })
  expect((await refusal(check(bearer(await issuer.sign())))).reason).toBe('sender_constrained')
})

test('the server can narrow a scope since it signed, but not widen it', async () => {
  issuer.answers.introspect = (token) => ok({ ...issuer.active(token), scope: 'enhancement more' })
  const token = await check(bearer(await issuer.sign({ scope: 'enhancement profile' })))
  expect(token.scopes).toEqual(['enhancement'])
})

describe('a missing scope is 403 and names what is needed (RFC 6750 §3.1)', () => {
  test('needed by this call', async () => {
    const error = await refusal(check(bearer(await issuer.sign()), { scopes: ['enhancement', 'trade'] }))
    expect([error.status, error.error]).toEqual([403, 'insufficient_scope'])
    expect(error.wwwAuthenticate).toMatch(
      /^Bearer realm="[^"]+", error="insufficient_scope", error_description="[^"]+", scope="enhancement trade"$/,
    )
  })
  test('needed by every call', async () => {
    const strict = createTokenCheck({ issuer: issuer.url, audience, scopes: ['trade'], now: () => issuer.clock.now })
    expect((await refusal(strict(bearer(await issuer.sign())))).status).toBe(403)
    await expect(strict(bearer(await issuer.sign({ scope: 'trade' })))).resolves.toMatchObject({ scopes: ['trade'] })
  })
})

test('a token that an app got for itself is asked about as every other, and must be the one that was verified', async () => {
  const introspection = { clientId: 'api:1', clientSecret: 'secret' }
  const forClients = createTokenCheck({
    issuer: issuer.url,
    audience,
    introspection,
    clientTokens: true,
    now: () => issuer.clock.now,
  })
  const token = await issuer.sign({ sub: clientId })
  await expect(forClients(bearer(token))).resolves.toMatchObject({ wallet: '', clientId })
  issuer.answers.introspect = (asked) => ok({ ...issuer.active(asked), sub: wallet })
  expect((await refusal(forClients(bearer(token)))).reason).toBe('introspection_sub')
})
