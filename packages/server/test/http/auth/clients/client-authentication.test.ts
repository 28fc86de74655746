import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { type Answer, rawRequest, send } from '../../../support/send.ts'
import type { TestClient } from '../../../support/start.ts'
import { basic, encode } from '../../../support/walk.ts'

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

/** Sends a revocation request, which every authenticated client may do: 200 means that the credentials were accepted. */
function revokeAs(headers: Record<string, string | string[]>, body: Record<string, string> = {}, query = ''): Promise<Answer> {
  return send(app.grantor.authUrl, {
    method: 'POST',
    path: `/oauth/revoke${query}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: encode({ token: 'unknown', ...body }),
  })
}

/** Client id and secret as one text whose length modulo 3 is `rest`, which determines the padding of its base64. */
function pairOf(rest: 0 | 1 | 2): string {
  const pair = `${app.client.id}:${app.client.secret}`
  // a percent-encoded character makes the text two characters longer and has the same meaning (RFC 6749 §2.3.1)
  const spelled = [pair, pair.replace('-', '%2D'), pair.replaceAll('-', '%2D').replace('%2D', '-')].find(
    (text) => text.length % 3 === rest,
  )
  return spelled ?? pair.replace(/^(.)/, (digit) => `%${digit.charCodeAt(0).toString(16)}`).replace('-', '%2D')
}

describe('Client authentication with HTTP Basic (RFC 6749 §2.3.1, RFC 7617 §2)', () => {
  test.each(['Basic', 'basic', 'BASIC', 'bAsIc'])(
    'The authentication scheme may be spelled %s (RFC 9110 §11.1)',
    async (scheme) => {
      const answer = await revokeAs({ authorization: `${scheme} ${base64(`${app.client.id}:${app.client.secret}`)}` })
      expect(answer.status).toBe(200)
    },
  )

  test.each(['  ', '        '])(
    'The spaces %j are accepted between the authentication scheme and the credentials (RFC 9110 §11.4)',
    async (space) => {
      const answer = await revokeAs({ authorization: `Basic${space}${base64(`${app.client.id}:${app.client.secret}`)}` })
      expect(answer.status).toBe(200)
    },
  )

  test.each([0, 1, 2] as const)(
    'Basic credentials whose length modulo 3 is %i are accepted with and without base64 padding',
    async (rest) => {
      const padded = base64(pairOf(rest))
      for (const spelling of [padded, padded.replaceAll('=', '')]) {
        expect((await revokeAs({ authorization: `Basic ${spelling}` })).status).toBe(200)
      }
    },
  )

  test('Client id and secret may be form-urlencoded in the Basic credentials, completely or in part (RFC 6749 §2.3.1)', async () => {
    const everyByte = (text: string): string => [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join('')
    const { id, secret } = app.client
    for (const pair of [`${everyByte(id)}:${everyByte(secret)}`, `${id}:${everyByte(secret).toUpperCase()}`]) {
      expect((await revokeAs({ authorization: `Basic ${base64(pair)}` })).status).toBe(200)
    }
  })

  test('A client that authenticates with Basic may send the same client_id in the body', async () => {
    const answer = await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_id: app.client.id })
    expect(answer.status).toBe(200)
  })

  test('An empty client_secret in the body counts as absent, so it is no second authentication method (RFC 6749 §3.2)', async () => {
    const answer = await revokeAs(
      { authorization: basic(app.client.id, app.client.secret) },
      { client_secret: '', client_id: '' },
    )
    expect(answer.status).toBe(200)
  })

  test.each<[string, () => string]>([
    ['no credentials after the scheme', () => 'Basic'],
    ['only spaces after the scheme', () => 'Basic    '],
    ['another scheme', () => `Bearer ${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['a scheme that only begins like Basic', () => `Basically ${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['a tab in place of the space', () => `Basic\t${base64(`${app.client.id}:${app.client.secret}`)}`],
    ['credentials that are not base64', () => `Basic ${app.client.id}:${app.client.secret}`],
    ['two credentials in a list', () => `${basic(app.client.id, app.client.secret)}, ${basic(app.client.id, app.client.secret)}`],
    ['more text after the credentials', () => `${basic(app.client.id, app.client.secret)} x`],
    ['superfluous padding', () => `Basic ${base64(pairOf(0))}==`],
    ['half of the padding', () => `Basic ${base64(pairOf(1)).replace(/==$/, '=')}`],
    ['padding in the middle', () => `Basic ${base64(pairOf(1))}${base64('x')}`],
    ['bits of the last character that base64 does not use', () => `Basic ${withSpareBits(base64(pairOf(1)))}`],
    ['a character outside base64 that decoders skip', () => `Basic ${base64(pairOf(0)).replace(/^(.{8})/, '$1!')}`],
    ['a space inside the base64', () => `Basic ${base64(pairOf(0)).replace(/^(.{8})/, '$1 ')}`],
    ['no colon', () => `Basic ${base64(app.client.id)}`],
    ['an empty id', () => basic('', app.client.secret)],
    ['an empty secret', () => basic(app.client.id, '')],
    ['an empty id and an empty secret', () => basic('', '')],
    ['a secret of no client', () => basic(app.client.id, 'x'.repeat(43))],
    ['the secret twice, with a colon', () => basic(app.client.id, `${app.client.secret}:${app.client.secret}`)],
    ['a colon before the secret', () => basic(app.client.id, `:${app.client.secret}`)],
    ['the secret and a space', () => basic(app.client.id, `${app.client.secret} `)],
    ['the secret and a plus sign, which is a space', () => basic(app.client.id, `${app.client.secret}+`)],
    ['the secret and a NUL', () => basic(app.client.id, `${app.client.secret}\0`)],
    ['the secret and %00', () => basic(app.client.id, `${app.client.secret}%00`)],
    ['the id in capitals', () => basic(app.client.id.toUpperCase(), app.client.secret)],
    ['a percent sign that escapes nothing', () => basic(app.client.id, `${app.client.secret}%`)],
    ['a percent escape that is not UTF-8', () => basic(app.client.id, `${app.client.secret}%FF`)],
    ['bytes that are not UTF-8', () => `Basic ${base64(Buffer.from(`${app.client.id}:\xff\xfe${app.client.secret}`, 'latin1'))}`],
    ['an id of another client with this secret', () => basic(postClient.id, app.client.secret)],
    ['the id of a public client and an empty secret', () => basic(publicClient.id, '')],
    ['the id of a public client and a secret', () => basic(publicClient.id, 'secret')],
    ['the stored hash of the secret', () => basic(app.client.id, app.client.secrets[0]?.secretHash ?? '')],
  ])('An Authorization header with %s is 401 invalid_client (RFC 6749 §5.2)', async (_what, authorization) => {
    expectRefusal(await revokeAs({ authorization: authorization() }), 'invalid_client')
  })

  test.each(ENDPOINTS)(
    'A request to %s with two Authorization headers is 401 invalid_client, even if one or both are right (RFC 9110 §5.3)',
    async (path) => {
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
    },
  )
})

test('A client that sends the right secret by the wrong method is refused with the method that it is registered for; a wrong secret shows nothing', async () => {
  const inBody = { client_id: app.client.id, client_secret: app.client.secret }
  const described = async (headers: Record<string, string>, body: Record<string, string> = {}) =>
    (await revokeAs(headers, body)).json().error_description
  expect(await described({ authorization: basic(postClient.id, postClient.secret) })).toBe(
    'Client authentication failed. This client is registered for client_secret_post.',
  )
  expect(await described({}, inBody)).toBe('Client authentication failed. This client is registered for client_secret_basic.')
  expect(await described({}, { ...inBody, client_secret: 'x'.repeat(43) })).toBe('Client authentication failed.')
})

describe('Client authentication in the body (RFC 6749 §2.3.1)', () => {
  test('A client registered for client_secret_post authenticates with client_id and client_secret in the body (RFC 6749 §2.3.1)', async () => {
    expect((await revokeAs({}, { client_id: postClient.id, client_secret: postClient.secret })).status).toBe(200)
  })

  test.each<[string, () => Record<string, string>]>([
    ['a secret for a public client', () => ({ client_id: publicClient.id, client_secret: 'secret' })],
    ['a wrong secret', () => ({ client_id: postClient.id, client_secret: app.client.secret })],
    ['a secret without an id', () => ({ client_secret: postClient.secret })],
    ['an id without a secret', () => ({ client_id: postClient.id })],
    ['an id with an empty secret', () => ({ client_id: postClient.id, client_secret: '' })],
    ['no credentials', () => ({})],
  ])('A body with %s is 401 invalid_client (RFC 6749 §5.2)', async (_what, body) => {
    expectRefusal(await revokeAs({}, body()), 'invalid_client')
  })

  test('A client that uses two authentication methods at once gets invalid_request, even if both are right (RFC 6749 §2.3)', async () => {
    const { id, secret } = postClient
    expectRefusal(await revokeAs({ authorization: basic(id, secret) }, { client_id: id, client_secret: secret }), TWO_METHODS)
    expectRefusal(await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_secret: 'x' }), TWO_METHODS)
    expectRefusal(await revokeAs({ authorization: 'Basic !' }, { client_id: id, client_secret: secret }), TWO_METHODS)
  })

  test('A client_id in the body that differs from the one in the Basic credentials is invalid_request', async () => {
    expectRefusal(
      await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, { client_id: postClient.id }),
      invalidRequest('client_id in the body is not the one in the Authorization header.'),
    )
  })

  test('Client credentials in the query are ignored (RFC 6749 §2.3.1)', async () => {
    const query = `?${encode({ client_id: postClient.id, client_secret: postClient.secret, token: 'unknown' })}`
    expectRefusal(await revokeAs({}, {}, query), 'invalid_client')
    expect((await revokeAs({ authorization: basic(app.client.id, app.client.secret) }, {}, query)).status).toBe(200)
  })
})

describe('Public clients', () => {
  test('A public client may revoke a token with its client_id in the body and without a secret (RFC 6749 §3.2.1)', async () => {
    expect((await revokeAs({}, { client_id: publicClient.id })).status).toBe(200)
  })

  test('A public client is refused at the introspection endpoint with 401 invalid_client (RFC 7662 §2.1)', async () => {
    const body = { token: 'unknown', client_id: publicClient.id }
    expectRefusal(await app.walk.call('/oauth/introspect', { id: publicClient.id, secret: '' }, body.token), 'invalid_client')
    expectRefusal(await app.walk.introspect(publicClient, 'unknown'), 'invalid_client')
  })
})

/** Another base64 text for the same bytes: the lowest unused bit of the last character is set. */
function withSpareBits(padded: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return padded.replace(
    /([A-Za-z0-9+/])(=*)$/,
    (_, last: string, padding: string) => `${alphabet[alphabet.indexOf(last) + 1]}${padding}`,
  )
}
