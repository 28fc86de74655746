/** Assertions that are refused (RFC 7523 §3, RFC 7521 §4.2, RFC 8725): with the same response, and a reason of its own in the log. */
import { createHmac, createPublicKey, randomUUID, sign } from 'node:crypto'
import { CompactSign } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../support/app.ts'
import { ASSERTION_TYPE, newClientKey, oldRsaKeys, post } from '../../../support/client-key.ts'
import { expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { changeClient } from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { type KeyedApp, key, registration, startKeyedApp } from './keyed-app.ts'

let app: App
let client: TestClient
let assertion: KeyedApp['assertion']
let revokeBy: KeyedApp['revokeBy']
let expectRefused: KeyedApp['expectRefused']
beforeAll(async () => {
  ;({ app, client, assertion, revokeBy, expectRefused } = await startKeyedApp())
})
afterAll(() => app.close())

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = () => {
  const at = app.grantor.clock.now()
  return { iss: client.id, sub: client.id, aud: app.grantor.authUrl, exp: at + 60, iat: at, jti: randomUUID() }
}

describe('Client assertions that are refused', () => {
  test.each<[string, string, () => Record<string, unknown>]>([
    ['its audience is another server', 'assertion_audience_wrong', () => ({ aud: 'https://elsewhere.example.com' })],
    [
      'its audience is a list of this server and others',
      'assertion_audience_wrong',
      () => ({ aud: [app.grantor.authUrl, 'https://elsewhere.example.com'] }),
    ],
    ['its audience is a list of this server alone', 'assertion_audience_wrong', () => ({ aud: [app.grantor.authUrl] })],
    ['its audience has an extra slash', 'assertion_audience_wrong', () => ({ aud: `${app.grantor.authUrl}/` })],
    ['it has no audience', 'assertion_audience_wrong', () => ({ aud: undefined })],
    ['its issuer is not its subject', 'assertion_issuer_is_not_subject', () => ({ iss: 'https://issuer.example.com' })],
    ['its subject is not its issuer', 'assertion_issuer_is_not_subject', () => ({ sub: randomUUID() })],
    ['it has no issuer and no subject', 'assertion_issuer_is_not_subject', () => ({ iss: undefined, sub: undefined })],
    ['its client is not registered', 'client_unknown_or_disabled', () => ({ iss: 'x', sub: 'x' })],
    ['it has no exp', 'assertion_exp_missing', () => ({ exp: undefined })],
    ['its exp is a string', 'assertion_exp_missing', () => ({ exp: '9999999999' })],
    ['it expires this second', 'assertion_expired', () => ({ exp: app.grantor.clock.now() })],
    ['it is valid for longer than an hour', 'assertion_lives_too_long', () => ({ exp: app.grantor.clock.now() + 3700 })],
    ['it never expires', 'assertion_lives_too_long', () => ({ exp: 1e300 })],
    ['its iat is a minute in the future', 'assertion_of_the_future', () => ({ iat: app.grantor.clock.now() + 60 })],
    ['its nbf is a minute in the future', 'assertion_of_the_future', () => ({ nbf: app.grantor.clock.now() + 60 })],
    ['its nbf is a string', 'assertion_of_the_future', () => ({ nbf: 'now' })],
    ['it has no jti', 'assertion_jti_missing', () => ({ jti: undefined })],
    ['its jti is empty', 'assertion_jti_missing', () => ({ jti: '' })],
    ['its jti is too long', 'assertion_jti_missing', () => ({ jti: 'j'.repeat(257) })],
    ['its jti is not a string', 'assertion_jti_missing', () => ({ jti: 7 })],
  ])('An assertion is refused if %s', async (_, reason, changed) => {
    await expectRefused(await assertion(changed()), reason)
  })

  test.each([['dpop+jwt'], ['at+jwt'], ['oauth-authz-req+jwt'], ['']])(
    'An assertion with the type of another purpose is refused: typ %j (RFC 8725 §3.11)',
    async (typ) => {
      await expectRefused(await assertion({}, { typ }), 'assertion_type_wrong')
    },
  )

  test('An assertion by a key that is not the client’s, or with an unknown kid, is refused', async () => {
    const stranger = newClientKey('ES256', 'one')
    await expectRefused(await assertion({}, {}, stranger), 'assertion_signature_wrong')
    await expectRefused(await assertion({}, { kid: undefined }, stranger), 'assertion_signature_wrong')
    await expectRefused(await assertion({}, { kid: 'unheard-of' }), 'assertion_signature_wrong')
  })

  test('An assertion by one key of the client with the kid of another is refused', async () => {
    await expectRefused(await assertion({}, { kid: 'two' }), 'assertion_signature_wrong')
  })

  test('An assertion by a key from its own header is refused: jwk, jku, x5c and x5u are ignored (RFC 7515 §4.1)', async () => {
    const stranger = newClientKey('ES256', 'one')
    const lures = {
      jwk: stranger.jwk,
      jku: 'https://stranger.example.com/jwks',
      x5u: 'https://stranger.example.com/x5u',
      x5c: ['MIIB'],
    }
    await expectRefused(await assertion({}, lures, stranger), 'assertion_signature_wrong')
  })

  test('An assertion with alg none is refused (RFC 7518 §3.6)', async () => {
    await expectRefused(`${part({ alg: 'none' })}.${part(claims())}.`, 'assertion_malformed')
    await expectRefused(`${part({ alg: 'none' })}.${part(claims())}.AA`, 'assertion_signature_wrong')
    await expectRefused(`${part({ alg: 'nOnE', kid: 'one' })}.${part(claims())}.AA`, 'assertion_signature_wrong')
  })

  test('An assertion by HMAC with the public key as the secret is refused (algorithm confusion, RFC 8725 §2.1)', async () => {
    const own = newClientKey('PS256')
    const of = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [own.jwk] } })
    const pem = createPublicKey(own.privateKey).export({ format: 'pem', type: 'spki' })
    const input = `${part({ alg: 'HS256', kid: own.kid })}.${part({ ...claims(), iss: of.id, sub: of.id })}`
    for (const secret of [pem, JSON.stringify(own.jwk)]) {
      await expectRefused(
        `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`,
        'assertion_signature_wrong',
      )
    }
  })

  test.each(Object.entries(oldRsaKeys()))(
    'An assertion by an RSA key %s, registered before such keys were refused, is refused, and the log gives the key as reason',
    async (_, own) => {
      const of = await app.grantor.createClient(registration)
      await changeClient(app.grantor, of, { jwks: { keys: [key.jwk, own.jwk] } })
      await expectRefused(await assertion({}, {}, own, of), 'client_key_unusable')
      await expectRefused(await assertion({}, {}, newClientKey('ES256', 'two'), of), 'assertion_signature_wrong')
      expect((await revokeBy(await assertion({}, {}, key, of))).status, 'its other key is as good as before').toBe(200)
      await changeClient(app.grantor, of, { jwks: { keys: [own.jwk] } })
      await expectRefused(await assertion({}, { kid: undefined }, own, of), 'client_key_unusable')
    },
  )

  test.each(['RS256', 'PS384', 'PS512'])(
    'An assertion by an RSA key of the client with %s is refused: each key has one algorithm',
    async (alg) => {
      const own = newClientKey('PS256')
      const of = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [own.jwk] } })
      await expectRefused(await assertion({}, { alg }, own, of), 'assertion_signature_wrong')
    },
  )

  test.each(['RS256', 'ES384', 'none', 'HS256'])(
    'An assertion whose header names %s, but whose signature is the key’s ES256, is refused',
    async (alg) => {
      const input = `${part({ alg, kid: 'one' })}.${part(claims())}`
      const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
      await expectRefused(`${input}.${signature.toString('base64url')}`, 'assertion_signature_wrong')
    },
  )

  test('An assertion with a critical extension is refused (RFC 7515 §4.1.11)', async () => {
    const signed = await new CompactSign(Buffer.from(JSON.stringify(claims())))
      .setProtectedHeader({ alg: 'ES256', kid: 'one', crit: ['exp'], exp: 1 })
      .sign(key.privateKey, { crit: { exp: false } })
    await expectRefused(signed, 'assertion_malformed')
  })

  test('An assertion with changed claims, or with a second spelling of its signature, is refused, and its jti stays unused', async () => {
    const [head = '', , tail = ''] = (await assertion()).split('.')
    await expectRefused(`${head}.${part(claims())}.${tail}`, 'assertion_signature_wrong')
    const whole = await assertion()
    const respelled = whole.slice(0, -1) + String.fromCharCode(whole.charCodeAt(whole.length - 1) + 1)
    expect(Buffer.from(respelled.split('.')[2] ?? '', 'base64url')).toEqual(Buffer.from(whole.split('.')[2] ?? '', 'base64url'))
    await expectRefused(respelled, 'assertion_malformed')
    expect((await revokeBy(whole)).status, 'the jti is unused').toBe(200)
  })

  test.each([
    '',
    'x',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    `${part([])}.${part({})}.AA`,
    `${part({ alg: 'ES256' })}.${part(null)}.AA`,
    `${part({ alg: 7 })}.${part({})}.AA`,
    `${part({ alg: 'ES256', kid: {} })}.${part({})}.AA`,
    'x'.repeat(15_000),
  ])('A text that is not an assertion is refused: case %#', async (text) => {
    if (text !== '') await expectRefused(text, 'assertion_malformed')
    else expectRefusal(await revokeBy(text), invalidRequest('client_assertion is required with client_assertion_type.'))
  })

  test('An assertion of a disabled client is refused', async () => {
    const own = await app.grantor.createClient(registration)
    const { secret: _, ...record } = own
    await app.grantor.store.clients.replaceClient({ ...record, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    await expectRefused(await assertion({}, {}, key, own), 'client_unknown_or_disabled')
  })

  test('An assertion beside the client_id of another client is refused', async () => {
    await expectRefused(await assertion(), 'assertion_of_another_client', { client_id: app.client.id })
  })

  test('An assertion with another client_assertion_type, or without one, is refused (RFC 7521 §4.2)', async () => {
    const text = await assertion()
    expectRefusal(
      await post(app.grantor, '/oauth/revoke', {
        token: 't',
        client_assertion: text,
        client_assertion_type: `${ASSERTION_TYPE}2`,
      }),
      'invalid_client',
    )
    expectRefusal(
      await post(app.grantor, '/oauth/revoke', { token: 't', client_assertion: text }),
      invalidRequest('client_assertion_type is required with client_assertion.'),
    )
  })
})
