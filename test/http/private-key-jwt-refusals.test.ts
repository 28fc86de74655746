/** What no assertion may be (RFC 7523 §3, RFC 7521 §4.2, RFC 8725): each refused in the same words, for a reason of its own. */
import { createHmac, createPublicKey, randomUUID, sign } from 'node:crypto'
import { CompactSign } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../support/app.ts'
import { ASSERTION_TYPE, newClientKey, oldRsaKeys, post } from '../support/client-key.ts'
import { type KeyedApp, key, registration, startKeyedApp } from '../support/keyed-app.ts'
import { expectRefusal, invalidRequest } from '../support/refusals.ts'
import { changeClient } from '../support/signed-app.ts'
import type { TestClient } from '../support/start.ts'

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

describe('an assertion is refused, with the one answer for every failed authentication', () => {
  test.each<[string, string, () => Record<string, unknown>]>([
    ['for another server', 'assertion_audience_wrong', () => ({ aud: 'https://elsewhere.example.com' })],
    [
      'for several servers, us among them',
      'assertion_audience_wrong',
      () => ({ aud: [app.grantor.authUrl, 'https://elsewhere.example.com'] }),
    ],
    ['for us, but as a list', 'assertion_audience_wrong', () => ({ aud: [app.grantor.authUrl] })],
    ['for us with a slash too many', 'assertion_audience_wrong', () => ({ aud: `${app.grantor.authUrl}/` })],
    ['for nobody', 'assertion_audience_wrong', () => ({ aud: undefined })],
    ['of an issuer that is not its subject', 'assertion_issuer_is_not_subject', () => ({ iss: 'https://issuer.example.com' })],
    ['of a subject that is not its issuer', 'assertion_issuer_is_not_subject', () => ({ sub: randomUUID() })],
    ['of no issuer and no subject', 'assertion_issuer_is_not_subject', () => ({ iss: undefined, sub: undefined })],
    ['of a client nobody registered', 'client_unknown_or_disabled', () => ({ iss: 'x', sub: 'x' })],
    ['without exp', 'assertion_exp_missing', () => ({ exp: undefined })],
    ['with an exp that is a text', 'assertion_exp_missing', () => ({ exp: '9999999999' })],
    ['expired this second', 'assertion_expired', () => ({ exp: app.grantor.clock.now() })],
    ['that lives for longer than an hour', 'assertion_lives_too_long', () => ({ exp: app.grantor.clock.now() + 3700 })],
    ['that never ends', 'assertion_lives_too_long', () => ({ exp: 1e300 })],
    ['of a minute ahead', 'assertion_of_the_future', () => ({ iat: app.grantor.clock.now() + 60 })],
    ['not to be used for a minute', 'assertion_of_the_future', () => ({ nbf: app.grantor.clock.now() + 60 })],
    ['with a nbf that is a text', 'assertion_of_the_future', () => ({ nbf: 'now' })],
    ['without jti', 'assertion_jti_missing', () => ({ jti: undefined })],
    ['with an empty jti', 'assertion_jti_missing', () => ({ jti: '' })],
    ['with an endless jti', 'assertion_jti_missing', () => ({ jti: 'j'.repeat(257) })],
    ['with a jti that is no text', 'assertion_jti_missing', () => ({ jti: 7 })],
  ])('%s', async (_, reason, changed) => {
    await expectRefused(await assertion(changed()), reason)
  })

  test.each([['dpop+jwt'], ['at+jwt'], ['oauth-authz-req+jwt'], ['']])(
    'made for another purpose: typ %j (RFC 8725 §3.11)',
    async (typ) => {
      await expectRefused(await assertion({}, { typ }), 'assertion_type_wrong')
    },
  )

  test('by a key that is not the client’s, whatever kid it names', async () => {
    const stranger = newClientKey('ES256', 'one')
    await expectRefused(await assertion({}, {}, stranger), 'assertion_signature_wrong')
    await expectRefused(await assertion({}, { kid: undefined }, stranger), 'assertion_signature_wrong')
    await expectRefused(await assertion({}, { kid: 'unheard-of' }), 'assertion_signature_wrong')
  })

  test('by one of its keys under the name of the other', async () => {
    await expectRefused(await assertion({}, { kid: 'two' }), 'assertion_signature_wrong')
  })

  test('with the sender’s own key in its header: jwk, jku, x5c and x5u are not looked at (RFC 7515 §4.1)', async () => {
    const stranger = newClientKey('ES256', 'one')
    const lures = {
      jwk: stranger.jwk,
      jku: 'https://stranger.example.com/jwks',
      x5u: 'https://stranger.example.com/x5u',
      x5c: ['MIIB'],
    }
    await expectRefused(await assertion({}, lures, stranger), 'assertion_signature_wrong')
  })

  test('not signed at all: alg none (RFC 7518 §3.6)', async () => {
    await expectRefused(`${part({ alg: 'none' })}.${part(claims())}.`, 'assertion_malformed')
    await expectRefused(`${part({ alg: 'none' })}.${part(claims())}.AA`, 'assertion_signature_wrong')
    await expectRefused(`${part({ alg: 'nOnE', kid: 'one' })}.${part(claims())}.AA`, 'assertion_signature_wrong')
  })

  test('by HMAC with the public key as the secret (algorithm confusion, RFC 8725 §2.1)', async () => {
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
    'by an RSA key %s that was registered before such keys were refused: the log says that the key is the reason',
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

  test.each(['RS256', 'PS384', 'PS512'])('by the right RSA key but with %s: a key has one algorithm', async (alg) => {
    const own = newClientKey('PS256')
    const of = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [own.jwk] } })
    await expectRefused(await assertion({}, { alg }, own, of), 'assertion_signature_wrong')
  })

  test.each(['RS256', 'ES384', 'none', 'HS256'])('signed as its key signs, but with a header that says %s', async (alg) => {
    const input = `${part({ alg, kid: 'one' })}.${part(claims())}`
    const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
    await expectRefused(`${input}.${signature.toString('base64url')}`, 'assertion_signature_wrong')
  })

  test('with an extension that must be understood (RFC 7515 §4.1.11)', async () => {
    const signed = await new CompactSign(Buffer.from(JSON.stringify(claims())))
      .setProtectedHeader({ alg: 'ES256', kid: 'one', crit: ['exp'], exp: 1 })
      .sign(key.privateKey, { crit: { exp: false } })
    await expectRefused(signed, 'assertion_malformed')
  })

  test('changed after it was signed, or spelled in another way', async () => {
    const [head = '', , tail = ''] = (await assertion()).split('.')
    await expectRefused(`${head}.${part(claims())}.${tail}`, 'assertion_signature_wrong')
    const whole = await assertion()
    const respelled = whole.slice(0, -1) + String.fromCharCode(whole.charCodeAt(whole.length - 1) + 1)
    expect(Buffer.from(respelled.split('.')[2] ?? '', 'base64url')).toEqual(Buffer.from(whole.split('.')[2] ?? '', 'base64url'))
    await expectRefused(respelled, 'assertion_malformed')
    expect((await revokeBy(whole)).status, 'and nothing of it was spent').toBe(200)
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
  ])('that is none: %#', async (text) => {
    if (text !== '') await expectRefused(text, 'assertion_malformed')
    else expectRefusal(await revokeBy(text), invalidRequest('client_assertion is required with client_assertion_type.'))
  })

  test('of a client that has been disabled', async () => {
    const own = await app.grantor.createClient(registration)
    const { secret: _, ...record } = own
    await app.grantor.store.clients.replaceClient({ ...record, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    await expectRefused(await assertion({}, {}, key, own), 'client_unknown_or_disabled')
  })

  test('beside the client_id of another client', async () => {
    await expectRefused(await assertion(), 'assertion_of_another_client', { client_id: app.client.id })
  })

  test('of the type of another assertion, or of none (RFC 7521 §4.2)', async () => {
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
