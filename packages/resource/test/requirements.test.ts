/** Step-up authentication (RFC 9470): what an API needs to know about the user's sign-in. */
import { createProtectedResource, type ProtectedResourceOptions, type Requirements } from '@grantor/resource'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LittleIssuer, startLittleIssuer } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

const RESOURCE = 'https://api.example.com/bank'
const SIGNATURE = 'urn:grantor:acr:signature'
const VOUCHED = 'urn:grantor:acr:vouched'

let issuer: LittleIssuer
beforeAll(async () => {
  issuer = await startLittleIssuer()
})
afterAll(() => issuer.close())

const resourceWith = (options: Partial<ProtectedResourceOptions> = {}) =>
  createProtectedResource({ issuer: issuer.url, resource: RESOURCE, now: () => issuer.clock.now, ...options })

async function call(claims: Record<string, unknown>, needs: Requirements, options: Partial<ProtectedResourceOptions> = {}) {
  return resourceWith(options).check(bearer(await issuer.sign({ aud: RESOURCE, ...claims })), needs)
}

test('A checked token has the time and the kind of the sign-in, if the token has these claims (RFC 9068 §2.2.1)', async () => {
  const at = issuer.clock.now - 5
  await expect(call({ auth_time: at, acr: SIGNATURE }, {})).resolves.toMatchObject({ authTime: at, acr: SIGNATURE })
  const token = await call({}, {})
  expect([token.authTime, token.acr]).toEqual([undefined, undefined])
})

test.each([
  [60, 60],
  [0, 0],
  [59, 60],
])('A sign-in %d seconds ago is recent enough for max_age %d (RFC 9470 §3)', async (age, maxAge) => {
  await expect(call({ auth_time: issuer.clock.now - age }, { maxAge })).resolves.toBeDefined()
})

test('An older sign-in is refused with 401 insufficient_user_authentication and max_age (RFC 9470 §3)', async () => {
  const error = await refusal(call({ auth_time: issuer.clock.now - 61 }, { maxAge: 60 }))
  expect([error.status, error.error, error.reason]).toEqual([401, 'insufficient_user_authentication', 'authentication_too_old'])
  expect(error.wwwAuthenticate).toBe(
    `Bearer realm="${RESOURCE}", error="insufficient_user_authentication", error_description="${error.description}", ` +
      'max_age="60", resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/bank"',
  )
})

test('The clock tolerance of the API counts for the age of the sign-in too', async () => {
  const claims = { auth_time: issuer.clock.now - 65 }
  await expect(call(claims, { maxAge: 60 }, { clockTolerance: 5 })).resolves.toBeDefined()
  expect((await refusal(call(claims, { maxAge: 60 }, { clockTolerance: 4 }))).reason).toBe('authentication_too_old')
})

test('A token without auth_time is refused if max_age is needed (RFC 9470 §6.1)', async () => {
  expect((await refusal(call({}, { maxAge: 60 }))).reason).toBe('authentication_time_unknown')
})

test('A token with one of the accepted values of acr is accepted (RFC 9470 §3)', async () => {
  await expect(call({ acr: VOUCHED }, { acrValues: [SIGNATURE, VOUCHED] })).resolves.toMatchObject({ acr: VOUCHED })
})

test.each([VOUCHED, undefined, 'urn:grantor:acr:signature2'])(
  'A token with the acr %s is refused with the accepted values in their order (RFC 9470 §3)',
  async (acr) => {
    const error = await refusal(call({ acr }, { acrValues: [SIGNATURE, 'urn:example:other'] }))
    expect([error.status, error.error, error.reason]).toEqual([401, 'insufficient_user_authentication', 'acr_unmet'])
    expect(error.wwwAuthenticate).toContain(`acr_values="${SIGNATURE} urn:example:other"`)
    expect([error.acrValues, error.maxAge]).toEqual([`${SIGNATURE} urn:example:other`, undefined])
  },
)

test('A challenge for another sign-in has the scopes too, so one authorization request is enough (RFC 9470 §3)', async () => {
  const error = await refusal(call({ scope: 'read' }, { scopes: ['transfer'], maxAge: 60, acrValues: [SIGNATURE] }))
  expect(error.error).toBe('insufficient_user_authentication')
  expect(error.wwwAuthenticate).toContain(`scope="transfer", max_age="60", acr_values="${SIGNATURE}"`)
})

test.each([
  ['auth_time', '1'],
  ['auth_time', null],
  ['acr', 1],
])('A token whose %s is %j is malformed (RFC 9068 §2.2.1)', async (claim, value) => {
  const error = await refusal(call({ [claim]: value }, {}))
  expect([error.error, error.reason]).toEqual(['invalid_token', `claim_${claim}`])
})

test('An operation that the body names can need more of a checked token (RFC 6750 §3.1, RFC 9470 §3)', async () => {
  const resource = resourceWith({ scopes: ['read'] })
  const token = await resource.check(
    bearer(await issuer.sign({ aud: RESOURCE, scope: 'read', auth_time: issuer.clock.now - 10 })),
  )
  expect(() => resource.require(token, { scopes: ['read'], maxAge: 10 })).not.toThrow()
  expect(() => resource.require(token, { scopes: ['write'] })).toThrow(
    expect.objectContaining({ status: 403, error: 'insufficient_scope', scope: 'read write' }),
  )
  expect(() => resource.require(token, { maxAge: 9 })).toThrow(
    expect.objectContaining({ status: 401, error: 'insufficient_user_authentication', maxAge: 9 }),
  )
})
