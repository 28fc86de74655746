/** Signed authorization responses and form posts, with openid-client and oauth4webapi. */
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { expect } from 'vitest'
import { newClientKey } from '../support/client-key.ts'
import { test } from '../support/fixtures.ts'
import { fieldOf, movingTo, requestOf, Walk } from '../support/walk.ts'

const REDIRECT_URI = 'https://app.example.net/callback'
// oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
const insecure = client.allowInsecureRequests

/** PKCE and state for a request, and the values that the library checks in the response. */
async function newChecks() {
  const [pkceCodeVerifier, expectedState] = [client.randomPKCECodeVerifier(), client.randomState()]
  const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier)
  const request = { redirect_uri: REDIRECT_URI, state: expectedState, code_challenge, code_challenge_method: 'S256' }
  return { request, checks: { pkceCodeVerifier, expectedState } }
}

test('Under FAPI 2.0 Message Signing, openid-client sends a signed request, and reads a signed response and a signed error', async ({
  grantor,
}) => {
  const key = newClientKey('ES256', '2026-01')
  const registered = await grantor.createClient({
    profile: 'fapi2',
    jwks: { keys: [key.jwk] },
    requestObjectSigned: true,
    responseModes: ['query.jwt'],
    authorizationAlgorithm: 'EdDSA',
  })
  const privateKey = {
    key: key.privateKey.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']) as CryptoKey,
    kid: key.kid,
  }
  const metadata = { authorization_signed_response_alg: 'EdDSA' }
  const config = await client.discovery(new URL(grantor.authUrl), registered.id, metadata, client.PrivateKeyJwt(privateKey), {
    execute: [insecure],
  })
  client.useJwtResponseMode(config)
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
  const { request, checks } = await newChecks()
  const begin = async () => {
    const signed = await client.buildAuthorizationUrlWithJAR(config, { response_type: 'code', ...request }, privateKey)
    return client.buildAuthorizationUrlWithPAR(config, signed.searchParams)
  }
  const walk = new Walk(grantor)
  const { to } = await walk.signIn((await begin()).search.slice(1))
  const tokens = await client.authorizationCodeGrant(config, new URL(to), checks, undefined, { DPoP })
  expect(tokens.token_type).toBe('dpop')

  const browser = new Walk(grantor)
  const challenge = await browser.challenge((await begin()).search.slice(1))
  const no = movingTo(await browser.complete(await browser.reject(challenge)))
  await expect(client.authorizationCodeGrant(config, new URL(no), checks, undefined, { DPoP })).rejects.toMatchObject({
    error: 'access_denied',
  })
})

test('A signed response is valid for its client in oauth4webapi, and refused for another client', async ({ grantor }) => {
  const registered = await grantor.createClient({ authorizationAlgorithm: 'RS256' })
  const issuer = new URL(grantor.authUrl)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const options = { [oauth.allowInsecureRequests]: true }
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
  const walk = new Walk(grantor)
  const { to } = await walk.signIn(requestOf(registered, { response_type: 'code', response_mode: 'jwt', state: 'a state' }))
  const own = { client_id: registered.id, authorization_signed_response_alg: 'RS256' }
  const parameters = await oauth.validateJwtAuthResponse(server, own, new URL(to), 'a state', options)
  expect(parameters.get('code')).toMatch(/^grc\./)
  const other = { ...own, client_id: (await grantor.createClient()).id }
  await expect(oauth.validateJwtAuthResponse(server, other, new URL(to), 'a state', options)).rejects.toThrow(/audience|aud/)
})

test('A form post response is accepted by openid-client, and its code can be redeemed', async ({ grantor }) => {
  const registered = await grantor.createClient()
  const secret = client.ClientSecretBasic(registered.secret)
  const config = await client.discovery(new URL(grantor.authUrl), registered.id, {}, secret, { execute: [insecure] })
  const { request, checks } = await newChecks()
  const to = client.buildAuthorizationUrl(config, { ...request, response_mode: 'form_post' })
  const walk = new Walk(grantor)
  const page = await walk.complete(await walk.prove(await walk.challenge(to.search.slice(1))))
  const body = new URLSearchParams(['code', 'state', 'iss'].map((name) => [name, fieldOf(page, name)]))
  const tokens = await client.authorizationCodeGrant(config, new Request(REDIRECT_URI, { method: 'POST', body }), checks)
  expect(tokens.access_token).toMatch(/^ey/)
})
