import { createTokenCheck } from '@grantor/resource'
import * as fc from 'fast-check'
import { exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LittleIssuer } from './little-issuer.ts'
import { audience, clientId, ok, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

let issuer: LittleIssuer
let check: ReturnType<typeof createTokenCheck>
beforeAll(async () => {
  issuer = await startLittleIssuer()
  check = createTokenCheck({ issuer: issuer.url, audience, now: () => issuer.clock.now })
})
afterAll(() => issuer.close())

async function expectInvalid(token: string, reason: string): Promise<void> {
  const error = await refusal(check(bearer(token)))
  expect([error.status, error.error, error.reason]).toEqual([401, 'invalid_token', reason])
  expect(error.wwwAuthenticate).toMatch(/^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+"$/)
}

describe('Tokens of another type (RFC 9068 §4)', () => {
  test.each(['JWT', 'logout+jwt', 'at+jwt2', ''])('A token with typ %j is refused (RFC 9068 §4)', async (typ) => {
    await expectInvalid(await issuer.sign({}, { typ }), 'claim_typ')
  })
  test('A token without typ is refused (RFC 9068 §4)', async () =>
    await expectInvalid(await issuer.sign({}, { typ: undefined }), 'claim_typ'))
})

describe('Tokens for another audience (RFC 9068 §4)', () => {
  test.each(['https://api.example.com', 'https://other.example.com/', '', []])(
    'A token with aud %j is refused (RFC 9068 §4)',
    async (aud) => {
      await expectInvalid(await issuer.sign({ aud }), 'claim_aud')
    },
  )
})

test('A token of another issuer is refused, even if its signature is by a known key', async () => {
  await expectInvalid(await issuer.sign({ iss: `${issuer.url}/` }), 'claim_iss')
})

test('A token expires at the second of its exp, or later by the clock tolerance', async () => {
  const token = await issuer.sign()
  const expiresAt = issuer.clock.now + 600
  const at = (now: number, clockTolerance = 0) =>
    createTokenCheck({ issuer: issuer.url, audience, now: () => now, clockTolerance })(bearer(token))
  await expect(at(expiresAt - 1)).resolves.toMatchObject({ expiresAt })
  expect((await refusal(at(expiresAt))).reason).toBe('expired')
  await expect(at(expiresAt, 5)).resolves.toMatchObject({ expiresAt })
  expect((await refusal(at(expiresAt + 5, 5))).reason).toBe('expired')
})

test('An unsigned token is refused (alg none)', async () => {
  const token = new UnsecuredJWT({ sub: wallet, client_id: clientId, jti: 'x' })
    .setIssuer(issuer.url)
    .setAudience(audience)
    .encode()
  await expectInvalid(token, 'algorithm')
})

test('A token that is signed by HMAC with a public key as the secret is refused', async () => {
  const { publicKey } = await generateKeyPair('RS256', { extractable: true })
  const secret = new TextEncoder().encode(await exportSPKI(publicKey))
  const token = await new SignJWT({ sub: wallet }).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'RS256' }).sign(secret)
  await expectInvalid(token, 'algorithm')
})

test('A token that has the kid of a known key, but a signature by another key, is refused', async () => {
  const stranger = await generateKeyPair('ES256')
  const [, claims] = (await issuer.sign()).split('.')
  const header = { alg: 'ES256', typ: 'at+jwt', kid: 'ES256' }
  const signed = await new SignJWT(JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()))
    .setProtectedHeader(header)
    .sign(stranger.privateKey)
  await expectInvalid(signed, 'signature')
})

test('A token that is signed with a key from its own header is refused (RFC 7515 §4.1.3)', async () => {
  const stranger = await generateKeyPair('ES256', { extractable: true })
  const jwk = await crypto.subtle.exportKey('jwk', stranger.publicKey)
  const token = await new SignJWT({ iss: issuer.url, aud: audience, sub: wallet })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', jwk, jku: 'https://keys.example.net/jwks' })
    .sign(stranger.privateKey)
  await expectInvalid(token, 'signature')
})

test('A token in which one character was changed is refused', async () => {
  const token = await issuer.sign()
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '0', '-', '_', '.'), async (at, character) => {
      fc.pre(token[at] !== character)
      const changed = token.slice(0, at) + character + token.slice(at + 1)
      expect((await refusal(check(bearer(changed)))).status).toBe(401)
    }),
    { numRuns: 200 },
  )
})

test('A token with a second spelling of its signature, by stray bits at the end, is refused', async () => {
  const token = await issuer.sign()
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(token.at(-1) ?? '')
  for (const stray of [1, 2, 3]) await expectInvalid(token.slice(0, -1) + alphabet[last + stray], 'malformed')
})

test('An arbitrary Authorization header gets 400 or 401', async () => {
  const part = fc.oneof(
    fc.string(),
    fc.json().map((json) => Buffer.from(json).toString('base64url')),
  )
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(part, { maxLength: 5 }).map((parts) => `Bearer ${parts.join('.')}`),
  )
  await fc.assert(
    fc.asyncProperty(value, async (authorization) => {
      expect([400, 401]).toContain((await refusal(check({ headers: { authorization } }))).status)
    }),
    { numRuns: 300 },
  )
})

test('The keys are fetched once, and tokens with unknown key ids do not cause another fetch', async () => {
  const other = await startLittleIssuer()
  const fresh = createTokenCheck({ issuer: other.url, audience, now: () => other.clock.now })
  await Promise.all(Array.from({ length: 20 }, async () => await fresh(bearer(await other.sign()))))
  for (let count = 0; count < 20; count += 1) await refusal(fresh(bearer(await other.sign({}, { kid: `made-up-${count}` }))))
  expect(other.requests.map(({ path }) => path).sort()).toEqual(['/.well-known/oauth-authorization-server', '/oauth/jwks'])
  await other.close()
})

test('The metadata URL of an issuer with a path has the well-known path between host and path (RFC 8414 §3.1)', async () => {
  const tenant = await startLittleIssuer('/tenant/one')
  const tenantCheck = createTokenCheck({ issuer: tenant.url, audience, now: () => tenant.clock.now })
  await expect(tenantCheck(bearer(await tenant.sign()))).resolves.toMatchObject({ wallet })
  expect(tenant.requests[0]?.path).toBe('/.well-known/oauth-authorization-server/tenant/one')
  await tenant.close()
})

test('An issuer with a final slash is refused when the check is created: every later call would get 503 (RFC 8414 §3.3)', () => {
  for (const slashed of [`${issuer.url}/`, `${issuer.url}/tenant/`])
    expect(() => createTokenCheck({ issuer: slashed, audience })).toThrow('issuer must have no final slash')
})

test('A token whose key is not in the key set is refused as unknown_key', async () => {
  const other = await startLittleIssuer()
  other.answers.jwks = () => ok({ keys: [] })
  const fresh = createTokenCheck({ issuer: other.url, audience, now: () => other.clock.now })
  expect((await refusal(fresh(bearer(await other.sign())))).reason).toBe('unknown_key')
  await other.close()
})

test('With the option clientTokens, the token of a user is accepted too', async () => {
  const forClients = createTokenCheck({ issuer: issuer.url, audience, clientTokens: true, now: () => issuer.clock.now })
  await expect(forClients(bearer(await issuer.sign()))).resolves.toMatchObject({ wallet })
})
