import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../support/app.ts'
import { rawRequest } from '../support/raw-http.ts'
import { expectRefusal, invalidRequest } from '../support/refusals.ts'
import { type Answer, send } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'
import { basic, encode } from '../support/walk.ts'

let app: App
let postClient: TestClient
let publicClient: TestClient

beforeAll(async () => {
  app = await startApp()
  postClient = await app.grantor.createClient({ authMethod: 'client_secret_post' })
  publicClient = await app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] })
})
afterAll(() => app.close())

const ENDPOINTS = ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par']
const TWO_METHODS = invalidRequest('Send client credentials in one way only.')
const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64')

/** Asks for a revocation, which a client that proved itself may always do: 200 means the credentials were believed. */
function revokeAs(headers: Record<string, string | string[]>, body: Record<string, string> = {}, query = ''): Promise<Answer> {
  return send(app.grantor.authUrl, {
    method: 'POST',
    path: `/oauth/revoke${query}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: encode({ token: 'unknown', ...body }),
  })
}

/** Client id and secret as one text of `length mod 3 = rest`, so that its base64 has the padding a test is about. */
function pairOf(rest: 0 | 1 | 2): string {
  const pair = `${app.client.id}:${app.client.secret}`
  // %XX for one character makes the text two longer and means the same (RFC 6749 §2.3.1)
  const spelled = [pair, pair.replace('-', '%2D'), pair.replaceAll('-', '%2D').replace('%2D', '-')].find(
    (text) => text.length % 3 === rest,
  )
  return spelled ?? pair.replace(/^(.)/, (digit) => `%${digit.charCodeAt(0).toString(16)}`).replace('-', '%2D')
}

describe('a client with a secret proves itself by HTTP Basic (RFC 6749 §2.3.1, RFC 7617 §2)', () => {
  test.each(['Basic', 'basic', 'BASIC', 'bAsIc'])('the scheme may be spelled %s (RFC 9110 §11.1)', async (scheme) => {
    const answer = await revokeAs({ authorization: `${scheme} ${base64(`${app.client.id}:${app.client.secret}`)}` })
    expect(answer.status).toBe(200)
  })

  test.each(['  ', '        '])('more than one space after the scheme is fine: %j (RFC 9110 §11.4)', async (space) => {
    const answer = await revokeAs({ authorization: `Basic${space}${base64(`${app.client.id}:${app.client.secret}`)}` })
    expect(answer.status).toBe(200)
  })

  test.each([0, 1, 2] as const)('base64 whose last group holds %i bytes is read, with its padding and without', async (rest) => {
    const padded = base64(pairOf(rest))
    for (const spelling of [padded, padded.replaceAll('=', '')]) {
      expect((await revokeAs({ authorization: `Basic ${spelling}` })).status).toBe(200)
    }
  })

  test('id and secret may be form-urlencoded, whole or in part', async () => {
    const everyByte = (text: string): string => [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join('')
    const { id, secret } = app.client
    for (const pair of [`${everyByte(id)}:${everyByte(secret)}`, `${id}:${everyByte(secret).toUpperCase()}`]) {
      expect((await revokeAs({ authorization: `Basic ${base64(pair)}` })).status).toBe(200)
    }
  })

  test('the same client id in the body does no harm', async () => {
    const answer = await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_id: app.client.id })
    expect(answer.status).toBe(200)
  })

  test('an empty client_secret in the body counts as absent, so Basic stands alone (RFC 6749 §3.2)', async () => {
    const answer = await revokeAs(
      { authorization: basic(app.client.id, app.client.secret) },
      { client_secret: '', client_id: '' },
    )
    expect(answer.status).toBe(200)
  })

  test.each<[string, () => string]>([
    ['no credentials behind the scheme', () => 'Basic'],
    ['only spaces behind the scheme', () => 'Basic    '],
    ['another scheme', () => `Bearer ${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['a scheme that only begins like Basic', () => `Basically ${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['a tab in place of the space', () => `Basic\t${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['the pair in plain', () => `Basic ${app.client.id}:${app.client.secret}`],
    ['two credentials in a list', () => `${basic(app.client.id, app.client.secret)}, ${basic(app.client.id, app.client.secret)}`],
    ['something after the credentials', () => `${basic(app.client.id, app.client.secret)} x`],
    ['padding that is not called for', () => `Basic ${base64(pairOf(0))}==`],
    ['half of the padding', () => `Basic ${base64(pairOf(1)).replace(/==$/, '=')}`],
    ['padding in the middle', () => `Basic ${base64(pairOf(1))}${base64('x')}`],
    ['bits of the last character that base64 does not use', () => `Basic ${withSpareBits(base64(pairOf(1)))}`],
    ['a character outside base64 that decoders skip', () => `Basic ${base64(pairOf(0)).replace(/^(.{8})/, '$1!')}`],
    ['a space inside the base64', () => `Basic ${base64(pairOf(0)).replace(/^(.{8})/, '$1 ')}`],
    ['no colon', () => `Basic ${base64(app.client.id)}`],
    ['an empty id', () => basic('', app.client.secret)],
    ['an empty secret', () => basic(app.client.id, '')],
    ['an empty id and an empty secret', () => basic('', '')],
    ['the secret of nobody', () => basic(app.client.id, 'x'.repeat(43))],
    ['the secret twice, with a colon', () => basic(app.client.id, `${app.client.secret}:${app.client.secret}`)],
    ['a colon before the secret', () => basic(app.client.id, `:${app.client.secret}`)],
    ['the secret and a space', () => basic(app.client.id, `${app.client.secret} `)],
    ['the secret and a plus sign, which is a space', () => basic(app.client.id, `${app.client.secret}+`)],
    ['the secret and a NUL', () => basic(app.client.id, `${app.client.secret}\0`)],
    ['the secret and %00', () => basic(app.client.id, `${app.client.secret}%00`)],
    ['the id in capitals', () => basic(app.client.id.toUpperCase(), app.client.secret)],
    ['a percent sign that escapes nothing', () => basic(app.client.id, `${app.client.secret}%`)],
    ['a percent escape of no UTF-8', () => basic(app.client.id, `${app.client.secret}%FF`)],
    ['bytes that are not UTF-8', () => `Basic ${base64(Buffer.from(`${app.client.id}:\xff\xfe${app.client.secret}`, 'latin1'))}`],
    ['an id of another client with this secret', () => basic(postClient.id, app.client.secret)],
    ['a client registered for credentials in the body', () => basic(postClient.id, postClient.secret)],
    ['a public client with an empty secret', () => basic(publicClient.id, '')],
    ['a public client with a secret of its own making', () => basic(publicClient.id, 'secret')],
    ['the hash of the secret, as it is stored', () => basic(app.client.id, app.client.secrets[0]?.secretHash ?? '')],
  ])('%s: 401 invalid_client', async (_what, authorization) => {
    expectRefusal(await revokeAs({ authorization: authorization() }), 'invalid_client')
  })

  test.each(ENDPOINTS)('two Authorization headers are no credentials, whichever is right: %s (RFC 9110 §5.3)', async (path) => {
    const right = `Authorization: ${basic(app.client.id, app.client.secret)}`
    const wrong = `Authorization: ${basic(app.client.id, 'wrong')}`
    const body = 'token=unknown&grant_type=refresh_token&refresh_token=unknown'
    for (const headers of [
      [right, wrong],
      [wrong, right],
      [right, right],
    ]) {
      const answer = await rawRequest(
        app.grantor.authUrl,
        'POST',
        path,
        ['Content-Type: application/x-www-form-urlencoded', ...headers],
        body,
      )
      expectRefusal(answer, 'invalid_client')
    }
  })
})

describe('credentials in the body are for clients registered for it (RFC 6749 §2.3.1)', () => {
  test('such a client proves itself by client_id and client_secret', async () => {
    expect((await revokeAs({}, { client_id: postClient.id, client_secret: postClient.secret })).status).toBe(200)
  })

  test.each<[string, () => Record<string, string>]>([
    ['a client registered for Basic', () => ({ client_id: app.client.id, client_secret: app.client.secret })],
    ['a public client, which has no secret', () => ({ client_id: publicClient.id, client_secret: 'secret' })],
    ['a wrong secret', () => ({ client_id: postClient.id, client_secret: app.client.secret })],
    ['a secret without an id', () => ({ client_secret: postClient.secret })],
    ['an id without a secret', () => ({ client_id: postClient.id })],
    ['an id with an empty secret', () => ({ client_id: postClient.id, client_secret: '' })],
    ['nothing at all', () => ({})],
  ])('%s: 401 invalid_client', async (_what, body) => {
    expectRefusal(await revokeAs({}, body()), 'invalid_client')
  })

  test('two methods at once are invalid_request, even where both are right (RFC 6749 §2.3)', async () => {
    const { id, secret } = postClient
    expectRefusal(await revokeAs({ authorization: basic(id, secret) }, { client_id: id, client_secret: secret }), TWO_METHODS)
    expectRefusal(await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_secret: 'x' }), TWO_METHODS)
    expectRefusal(await revokeAs({ authorization: 'Basic !' }, { client_id: id, client_secret: secret }), TWO_METHODS)
  })

  test('another client_id in the body than in Basic is invalid_request', async () => {
    expectRefusal(
      await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_id: postClient.id }),
      invalidRequest('client_id in the body is not the one in the Authorization header.'),
    )
  })

  test('credentials in the query are not seen, neither as proof nor as a second method', async () => {
    const query = `?${encode({ client_id: postClient.id, client_secret: postClient.secret, token: 'unknown' })}`
    expectRefusal(await revokeAs({}, {}, query), 'invalid_client')
    expect((await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, {}, query)).status).toBe(200)
  })
})

describe('who may ask without a secret', () => {
  test('a public client names itself in the body, at the token and the revocation endpoint (RFC 6749 §3.2.1)', async () => {
    expect((await revokeAs({}, { client_id: publicClient.id })).status).toBe(200)
  })

  test('never at the introspection endpoint (RFC 7662 §2.1)', async () => {
    const body = { token: 'unknown', client_id: publicClient.id }
    expectRefusal(await app.walk.call('/oauth/introspect', { id: publicClient.id, secret: '' }, body.token), 'invalid_client')
    expectRefusal(await app.walk.introspect(publicClient, 'unknown'), 'invalid_client')
  })
})

/** The same bytes in other letters: the unused low bits of the last base64 character set to one. */
function withSpareBits(padded: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return padded.replace(
    /([A-Za-z0-9+/])(=*)$/,
    (_, last: string, padding: string) => `${alphabet[alphabet.indexOf(last) + 1]}${padding}`,
  )
}
