import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createTokenCheck, ResourceError } from 'grantor/resource'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LittleIssuer } from './little-issuer.ts'
import { audience, clientId, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

let issuer: LittleIssuer
beforeAll(async () => {
  issuer = await startLittleIssuer()
})
afterAll(() => issuer.close())

const usualCheck = (options: { header?: string } = {}) =>
  createTokenCheck({ issuer: issuer.url, audience, now: () => issuer.clock.now, ...options })

test('a good token tells whose wallet calls, through which app, with which scopes', async () => {
  const token = await usualCheck()(bearer(await issuer.sign({ scope: 'enhancement profile' })))
  expect(token).toMatchObject({ wallet, clientId, scopes: ['enhancement', 'profile'], tokenId: 'jti-1' })
  expect(token.expiresAt - token.issuedAt).toBe(600)
  expect(token.claims.aud).toBe(audience)
})

test('a call without credentials is told to bring a token, and nothing else (RFC 6750 §3.1)', async () => {
  const error = await refusal(usualCheck()({ headers: {} }))
  expect(error.status).toBe(401)
  expect(error.error).toBeUndefined()
  expect(error.headers).toEqual({ 'Cache-Control': 'no-store', 'WWW-Authenticate': `Bearer realm="${audience}"` })
})

test('credentials of another scheme are no token, so the call is told to bring one', async () => {
  const error = await refusal(usualCheck()({ headers: { authorization: 'Basic aWQ6c2VjcmV0' } }))
  expect([error.status, error.error]).toEqual([401, undefined])
})

test('the scheme is read in any case (RFC 9110 §11.1)', async () => {
  const token = await issuer.sign()
  await expect(usualCheck()({ headers: { authorization: `bEARER ${token}` } })).resolves.toMatchObject({ wallet })
  await expect(usualCheck()(new Request('https://api.example.com/me', bearer(token)))).resolves.toMatchObject({ wallet })
  await expect(usualCheck()({ headers: { Authorization: `Bearer ${token}` } })).resolves.toMatchObject({ wallet })
})

describe('a malformed header is invalid_request (RFC 6750 §3.1)', () => {
  test.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a,b', 'Bearer "a"', 'Bearer a=b', 'Bearer ä', 'Bearer a, Bearer b'])(
    '%s',
    async (authorization) => {
      const error = await refusal(usualCheck()({ headers: { authorization } }))
      expect([error.status, error.error]).toEqual([400, 'invalid_request'])
      expect(error.wwwAuthenticate).toContain('error="invalid_request"')
    },
  )
})

test('a token in the header and one in the query are two methods: invalid_request (RFC 6750 §2)', async () => {
  const token = await issuer.sign()
  const error = await refusal(usualCheck()({ ...bearer(token), url: `/me?page=1&access_token=${token}#top` }))
  expect([error.status, error.error, error.reason]).toEqual([400, 'invalid_request', 'two_methods'])
})

test('a token in the query alone is not taken (RFC 6750 §5.3)', async () => {
  const error = await refusal(usualCheck()({ headers: {}, url: `/me?access_token=${await issuer.sign()}` }))
  expect([error.status, error.error]).toEqual([401, undefined])
})

test('two Authorization headers are seen in a request of node:http, which itself keeps only the first', async () => {
  const check = usualCheck()
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
  const ask = (headers: string[]) =>
    new Promise<string>((resolve, reject) => {
      request({ port, headers: ['Host', 'api', 'Connection', 'close', ...headers] }, (answer) => resolve(text(answer)))
        .on('error', reject)
        .end()
    })
  expect(await ask(['Authorization', authorization])).toBe('let in')
  expect(await ask(['Authorization', authorization, 'authorization', authorization])).toBe('header_repeated')
  api.close()
})

describe('a platform that uses a header of its own', () => {
  test('sends the token bare, or with Bearer before it', async () => {
    const check = usualCheck({ header: 'X-Access-Token' })
    const token = await issuer.sign()
    await expect(check({ headers: { 'x-access-token': token } })).resolves.toMatchObject({ wallet })
    await expect(check({ headers: { 'x-access-token': `Bearer ${token}` } })).resolves.toMatchObject({ wallet })
    await expect(check({ headers: new Headers({ 'X-Access-Token': token }) })).resolves.toMatchObject({ wallet })
  })

  test('may use Authorization for something else: it is not looked at', async () => {
    const check = usualCheck({ header: 'x-access-token' })
    const headers = { authorization: 'Bearer of-the-gateway', 'x-access-token': await issuer.sign() }
    await expect(check({ headers })).resolves.toMatchObject({ wallet })
    const error = await refusal(check({ headers: { authorization: headers.authorization } }))
    expect([error.status, error.error]).toEqual([401, undefined])
  })

  test('is told of an empty or repeated one', async () => {
    const check = usualCheck({ header: 'x-access-token' })
    expect((await refusal(check({ headers: { 'x-access-token': '' } }))).status).toBe(400)
    expect((await refusal(check({ headers: { 'x-access-token': ['a', 'b'] } }))).reason).toBe('header_repeated')
  })
})

test('no refusal repeats the token', async () => {
  const token = (await issuer.sign({ exp: 1 })) + 'x'
  const error = await refusal(usualCheck()(bearer(token)))
  expect(error).toBeInstanceOf(ResourceError)
  const everything = `${error.message}${error.description}${error.reason}${JSON.stringify(error)}${JSON.stringify(error.headers)}${error.stack}`
  for (const part of token.split('.')) expect(everything).not.toContain(part)
})
