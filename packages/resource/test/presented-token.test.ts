import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createTokenCheck, ResourceError } from '@grantor/resource'
import { describe, expect } from 'vitest'
import { test as base, FILE, started } from '../../server/test/support/fixtures.ts'
import type { LittleIssuer } from './little-issuer.ts'
import { audience, clientId, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

const test = base.extend(
  'issuer',
  FILE,
  started(startLittleIssuer, (issuer) => issuer.close()),
)

const usualCheck = (issuer: LittleIssuer, options: { header?: string } = {}) =>
  createTokenCheck({ issuer: issuer.url, audience, now: () => issuer.clock.now, ...options })

test('The result for a valid token has the wallet, the client, the scopes, the token id and the lifetime', async ({ issuer }) => {
  const token = await usualCheck(issuer)(bearer(await issuer.sign({ scope: 'enhancement profile' })))
  expect(token).toMatchObject({ wallet, clientId, scopes: ['enhancement', 'profile'], tokenId: 'jti-1' })
  expect(token.expiresAt - token.issuedAt).toBe(600)
  expect(token.claims.aud).toBe(audience)
})

test('A call without credentials gets 401 with a challenge and no error (RFC 6750 §3.1)', async ({ issuer }) => {
  const error = await refusal(usualCheck(issuer)({ headers: {} }))
  expect(error.status).toBe(401)
  expect(error.error).toBeUndefined()
  expect(error.headers).toEqual({ 'Cache-Control': 'no-store', 'WWW-Authenticate': `Bearer realm="${audience}"` })
})

test('Credentials of another scheme count as no token: 401 without an error', async ({ issuer }) => {
  const error = await refusal(usualCheck(issuer)({ headers: { authorization: 'Basic aWQ6c2VjcmV0' } }))
  expect([error.status, error.error]).toEqual([401, undefined])
})

test('The scheme Bearer is accepted in any letter case (RFC 9110 §11.1)', async ({ issuer }) => {
  const token = await issuer.sign()
  await expect(usualCheck(issuer)({ headers: { authorization: `bEARER ${token}` } })).resolves.toMatchObject({ wallet })
  await expect(usualCheck(issuer)(new Request('https://api.example.com/me', bearer(token)))).resolves.toMatchObject({ wallet })
  await expect(usualCheck(issuer)({ headers: { Authorization: `Bearer ${token}` } })).resolves.toMatchObject({ wallet })
})

describe('Malformed Authorization headers (RFC 6750 §3.1)', () => {
  test.for(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a,b', 'Bearer "a"', 'Bearer a=b', 'Bearer ä', 'Bearer a, Bearer b'])(
    'A malformed Authorization header is invalid_request: %s (RFC 6750 §3.1)',
    async (authorization, { issuer }) => {
      const error = await refusal(usualCheck(issuer)({ headers: { authorization } }))
      expect([error.status, error.error]).toEqual([400, 'invalid_request'])
      expect(error.wwwAuthenticate).toContain('error="invalid_request"')
    },
  )
})

test('A token in the header and one in the query are invalid_request (RFC 6750 §2)', async ({ issuer }) => {
  const token = await issuer.sign()
  const error = await refusal(usualCheck(issuer)({ ...bearer(token), url: `/me?page=1&access_token=${token}#top` }))
  expect([error.status, error.error, error.reason]).toEqual([400, 'invalid_request', 'two_methods'])
})

test('A token in the query alone counts as no token (RFC 6750 §5.3)', async ({ issuer }) => {
  const error = await refusal(usualCheck(issuer)({ headers: {}, url: `/me?access_token=${await issuer.sign()}` }))
  expect([error.status, error.error]).toEqual([401, undefined])
})

test('A request of node:http with two Authorization headers is refused, although its parsed headers keep only the first', async ({
  issuer,
}) => {
  const check = usualCheck(issuer)
  const api = createServer((incoming, response) => {
    check(incoming).then(
      () => response.end('let in'),
      (error: ResourceError) => response.writeHead(error.status, error.headers).end(error.reason),
    )
  })
  api.listen(0, '127.0.0.1')
  await once(api, 'listening')
  const { port } = api.address() as AddressInfo
  const authorization = `Bearer ${await issuer.sign()}`
  const callApi = (headers: string[]) =>
    new Promise<string>((resolve, reject) => {
      request({ port, headers: ['Host', 'api', 'Connection', 'close', ...headers] }, (answer) => resolve(text(answer)))
        .on('error', reject)
        .end()
    })
  expect(await callApi(['Authorization', authorization])).toBe('let in')
  expect(await callApi(['Authorization', authorization, 'authorization', authorization])).toBe('header_repeated')
  api.close()
})

describe('A custom header for the token', () => {
  test('A custom header may have the token alone, or after the word Bearer', async ({ issuer }) => {
    const check = usualCheck(issuer, { header: 'X-Access-Token' })
    const token = await issuer.sign()
    await expect(check({ headers: { 'x-access-token': token } })).resolves.toMatchObject({ wallet })
    await expect(check({ headers: { 'x-access-token': `Bearer ${token}` } })).resolves.toMatchObject({ wallet })
    await expect(check({ headers: new Headers({ 'X-Access-Token': token }) })).resolves.toMatchObject({ wallet })
  })

  test('With a custom header for the token, the Authorization header is ignored', async ({ issuer }) => {
    const check = usualCheck(issuer, { header: 'x-access-token' })
    const headers = { authorization: 'Bearer of-the-gateway', 'x-access-token': await issuer.sign() }
    await expect(check({ headers })).resolves.toMatchObject({ wallet })
    const error = await refusal(check({ headers: { authorization: headers.authorization } }))
    expect([error.status, error.error]).toEqual([401, undefined])
  })

  test('An empty or repeated custom header is refused', async ({ issuer }) => {
    const check = usualCheck(issuer, { header: 'x-access-token' })
    expect((await refusal(check({ headers: { 'x-access-token': '' } }))).status).toBe(400)
    expect((await refusal(check({ headers: { 'x-access-token': ['a', 'b'] } }))).reason).toBe('header_repeated')
  })
})

test('An error contains no part of the token', async ({ issuer }) => {
  const token = (await issuer.sign({ exp: 1 })) + 'x'
  const error = await refusal(usualCheck(issuer)(bearer(token)))
  expect(error).toBeInstanceOf(ResourceError)
  const everything = `${error.message}${error.description}${error.reason}${JSON.stringify(error)}${JSON.stringify(error.headers)}${error.stack}`
  for (const part of token.split('.')) expect(everything).not.toContain(part)
})
