/** The members of the server metadata for pushed and signed requests (RFC 9126 §5, RFC 9101 §10.5). The others are in metadata.test.ts. */
import { expect } from 'vitest'
import { newClientKey, type TestKey } from '../../../support/client-key.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { pushed, requestObjectOf } from '../../../support/pushed.ts'
import { send } from '../../../support/send.ts'
import { parameterOf, requestOf } from '../../../support/walk.ts'

const test = base.extend('metadata', FILE, async ({ app }) =>
  (await send(app.grantor.authUrl, { path: '/.well-known/oauth-authorization-server' })).json(),
)

test('The pushed_authorization_request_endpoint returns a usable request_uri and is optional; any other request_uri is refused (RFC 9126 §5)', async ({
  app,
  metadata,
}) => {
  expect([metadata.require_pushed_authorization_requests, metadata.request_uri_parameter_supported]).toEqual([false, false])
  expect(metadata.pushed_authorization_request_endpoint).toBe(`${app.grantor.authUrl}/oauth/par`)
  const { location } = await app.walk.authorize(await pushed(app.walk, app.client))
  expect(parameterOf(location, 'code')).not.toBe('')
  const address = await app.walk.authorize(requestOf(app.client, { request_uri: 'https://app.example.net/request' }))
  expect(parameterOf(address.location, 'error')).toBe('request_uri_not_supported')
})

test('Each algorithm in request_object_signing_alg_values_supported is accepted, and signing is optional (RFC 9101 §10.5)', async ({
  app,
  metadata,
}) => {
  expect([metadata.request_parameter_supported, metadata.require_signed_request_object]).toEqual([true, false])
  const algorithms = metadata.request_object_signing_alg_values_supported as TestKey['alg'][]
  expect(algorithms).toEqual(['ES256', 'PS256', 'EdDSA'])
  for (const alg of algorithms) {
    const own = newClientKey(alg)
    const signing = await app.grantor.createClient({ jwks: { keys: [own.jwk] } })
    const request = await requestObjectOf(app.grantor, signing, own)
    const { location } = await app.walk.authorize({ client_id: signing.id, request })
    expect({ alg, hasCode: parameterOf(location, 'code') !== '' }).toEqual({ alg, hasCode: true })
  }
})
