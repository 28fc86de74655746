import { expect, test } from 'vitest'
import { DEVICE_CODE_GRANT, TOKEN_EXCHANGE } from '../../../src/protocol/oauth/grant-types.ts'
import { serverMetadata } from '../../../src/protocol/oauth/metadata.ts'

const FACTS = {
  issuer: 'https://auth.example.com',
  scopes: ['enhancement', 'profile'],
  clientMetadata: false,
  dynamicRegistration: false,
  signingAlgorithms: ['ES256'],
  acrValues: ['urn:grantor:acr:signature'],
}
const metadata = serverMetadata(FACTS)

test('The metadata has the members that RFC 8414 §2 requires', () => {
  expect(metadata).toMatchObject({
    issuer: 'https://auth.example.com',
    authorization_endpoint: expect.any(String),
    token_endpoint: expect.any(String),
    response_types_supported: ['code'],
  })
})

test('Every URL in the metadata is below the issuer (RFC 8414 §3.3)', () => {
  const urls = Object.entries(metadata).filter(([name]) => /_(endpoint|uri)$/.test(name))
  expect(urls).toHaveLength(10)
  for (const [name, url] of urls) expect(url, `the value of ${name}`).toMatch(/^https:\/\/auth\.example\.com\/oauth\/[a-z_]+$/)
})

test('The metadata names supported features only: S256, no implicit grant, no introspection without authentication', () => {
  expect(metadata).toMatchObject({
    code_challenge_methods_supported: ['S256'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', TOKEN_EXCHANGE, DEVICE_CODE_GRANT],
    response_modes_supported: ['query', 'form_post', 'query.jwt', 'form_post.jwt', 'jwt'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['enhancement', 'profile'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  })
})

test('The metadata is plain JSON', () => {
  expect(JSON.parse(JSON.stringify(metadata))).toEqual(metadata)
})

test('The metadata lists the algorithms of private_key_jwt, without none and without shared secrets (RFC 8414 §2)', () => {
  for (const endpoint of ['token', 'revocation', 'introspection']) {
    expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(['ES256', 'PS256', 'EdDSA'])
  }
  expect(metadata.introspection_signing_alg_values_supported).toEqual(['ES256'])
})

test.each(['clientMetadata', 'dynamicRegistration'])(
  'With %s, every list of the algorithms of clients has RS256 too (RFC 8414 §2)',
  (setting) => {
    const withRs256 = serverMetadata({ ...FACTS, [setting]: true })
    const lists = ['token_endpoint_auth', 'revocation_endpoint_auth', 'introspection_endpoint_auth', 'request_object']
    for (const each of lists)
      expect(withRs256[`${each}_signing_alg_values_supported`], `of ${each}`).toEqual(['ES256', 'PS256', 'EdDSA', 'RS256'])
  },
)
