import { expect, test } from 'vitest'
import { serverMetadata } from '../../src/oauth/metadata.ts'

const metadata = serverMetadata({ issuer: 'https://auth.example.com', scopes: ['enhancement', 'profile'] })

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
  expect(urls).toHaveLength(5)
  for (const [name, url] of urls) expect(url, `the value of ${name}`).toMatch(/^https:\/\/auth\.example\.com\/oauth\/[a-z]+$/)
})

test('only what works is promised: S256 alone, no implicit grant, no credentials-free introspection', () => {
  expect(metadata).toMatchObject({
    code_challenge_methods_supported: ['S256'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    response_modes_supported: ['query'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['enhancement', 'profile'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  })
})

test('it is JSON as it stands', () => {
  expect(JSON.parse(JSON.stringify(metadata))).toEqual(metadata)
})
