import { expect, test } from 'vitest'
import { DEVICE_CODE_GRANT } from '../../src/oauth/grant-types.ts'
import { serverMetadata } from '../../src/oauth/metadata.ts'

const metadata = serverMetadata({
  issuer: 'https://auth.example.com',
  scopes: ['enhancement', 'profile'],
  clientMetadata: false,
  signingAlgorithms: ['ES256'],
})

test('what RFC 8414 §2 requires is there', () => {
  expect(metadata).toMatchObject({
    issuer: 'https://auth.example.com',
    authorization_endpoint: expect.any(String),
    token_endpoint: expect.any(String),
    response_types_supported: ['code'],
  })
})

test('every URL is under the issuer (RFC 8414 §3.3)', () => {
  const urls = Object.entries(metadata).filter(([name]) => /_(endpoint|uri)$/.test(name))
  expect(urls).toHaveLength(7)
  for (const [name, url] of urls) expect(url, `the value of ${name}`).toMatch(/^https:\/\/auth\.example\.com\/oauth\/[a-z_]+$/)
})

test('only what works is promised: S256 alone, no implicit grant, no credentials-free introspection', () => {
  expect(metadata).toMatchObject({
    code_challenge_methods_supported: ['S256'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_CODE_GRANT],
    response_modes_supported: ['query', 'form_post', 'query.jwt', 'form_post.jwt', 'jwt'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['enhancement', 'profile'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  })
})

test('it is JSON as it stands', () => {
  expect(JSON.parse(JSON.stringify(metadata))).toEqual(metadata)
})

test('where private_key_jwt is named its algorithms are, and none of them is “none” or a shared secret (RFC 8414 §2)', () => {
  for (const endpoint of ['token', 'revocation', 'introspection']) {
    expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(['ES256', 'PS256', 'EdDSA'])
  }
  expect(metadata.introspection_signing_alg_values_supported).toEqual(['ES256'])
})
