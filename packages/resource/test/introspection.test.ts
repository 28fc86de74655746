import { createTokenCheck } from '@grantor/resource'
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
  issuer.requests.length = 0
})

const introspections = () => issuer.requests.filter(({ path }) => path === '/oauth/introspect')

test('Every call introspects the token, with form-urlencoded credentials in Basic (RFC 7662 §2.1, RFC 6749 §2.3.1)', async () => {
  const token = await issuer.sign()
  await check(bearer(token))
  await check(bearer(token))
  expect(introspections()).toHaveLength(2)
  const [{ authorization, contentType, body } = { authorization: '', contentType: '', body: '' }] = introspections()
  expect(Buffer.from(authorization?.slice(6) ?? '', 'base64').toString()).toBe('api%3A1:a+secret%2Bwith%2F%C3%A9')
  expect(contentType).toMatch(/^application\/x-www-form-urlencoded/)
  expect(body).toBe(`token=${token}&token_type_hint=access_token`)
})

test('A token that introspection reports as inactive is refused at once, even if its signature and its time are valid', async () => {
  const token = await issuer.sign()
  await expect(check(bearer(token))).resolves.toMatchObject({ wallet })
  issuer.answers.introspect = () => ok({ active: false })
  const error = await refusal(check(bearer(token)))
  expect([error.status, error.error, error.reason]).toEqual([401, 'invalid_token', 'inactive'])
})

test('A token for another audience is refused without introspection, whose response has no audience', async () => {
  expect((await refusal(check(bearer(await issuer.sign({ aud: 'https://other.example.com/' }))))).reason).toBe('claim_aud')
  expect(introspections()).toHaveLength(0)
})

describe('Introspection responses about another token', () => {
  test.each(['sub', 'client_id', 'jti'])(
    'An introspection response with another %s, or without one, is refused',
    async (field) => {
      for (const other of ['another', undefined]) {
        issuer.answers.introspect = (token) => ok({ ...issuer.active(token), [field]: other })
        const error = await refusal(check(bearer(await issuer.sign())))
        expect([error.status, error.reason]).toEqual([401, `introspection_${field}`])
      }
    },
  )
})

test('A token that introspection reports as bound to a key is refused as a bearer token (RFC 9449 §6.2)', async () => {
  issuer.answers.introspect = (token) => ok({ ...issuer.active(token), cnf: { jkt: 'a-thumbprint' } })
  expect((await refusal(check(bearer(await issuer.sign())))).reason).toBe('sender_constrained')
})

test('Introspection can narrow the scope of a token, but not widen it', async () => {
  issuer.answers.introspect = (token) => ok({ ...issuer.active(token), scope: 'enhancement more' })
  const token = await check(bearer(await issuer.sign({ scope: 'enhancement profile' })))
  expect(token.scopes).toEqual(['enhancement'])
})

describe('Missing scopes (RFC 6750 §3.1)', () => {
  test('A token without a scope that the call needs gets 403, and the challenge names the needed scopes (RFC 6750 §3.1)', async () => {
    const error = await refusal(check(bearer(await issuer.sign()), { scopes: ['enhancement', 'trade'] }))
    expect([error.status, error.error]).toEqual([403, 'insufficient_scope'])
    expect(error.wwwAuthenticate).toMatch(
      /^Bearer realm="[^"]+", error="insufficient_scope", error_description="[^"]+", scope="enhancement trade"$/,
    )
  })
  test('A token without a scope that every call needs gets 403 (RFC 6750 §3.1)', async () => {
    const strict = createTokenCheck({ issuer: issuer.url, audience, scopes: ['trade'], now: () => issuer.clock.now })
    expect((await refusal(strict(bearer(await issuer.sign())))).status).toBe(403)
    await expect(strict(bearer(await issuer.sign({ scope: 'trade' })))).resolves.toMatchObject({ scopes: ['trade'] })
  })
})

test('A token that a client got for itself is introspected too, and the response must match the token', async () => {
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
  issuer.answers.introspect = (presented) => ok({ ...issuer.active(presented), sub: wallet })
  expect((await refusal(forClients(bearer(token)))).reason).toBe('introspection_sub')
})
