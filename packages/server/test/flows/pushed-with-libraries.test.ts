/** Signed and pushed authorization requests with two independent libraries, `openid-client` and `oauth4webapi`. */
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

const REDIRECT_URI = 'https://app.example.net/callback'

let grantor: Grantor
let registered: TestClient
let keys: CryptoKeyPair
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  keys = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one' }
  registered = await grantor.createClient({
    authMethod: 'private_key_jwt',
    jwks: { keys: [jwk] },
    scopes: ['openid', 'wallet'],
    requirePushedRequests: true,
    requestObjectSigned: true,
  })
  walk = new Walk(grantor)
})
afterAll(() => grantor.close())

test('openid-client signs its request, pushes it with private_key_jwt, and gets its tokens', async () => {
  const key = { key: keys.privateKey, kid: 'one' }
  const config = await client.discovery(new URL(grantor.authUrl), registered.id, undefined, client.PrivateKeyJwt(key), {
    // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  })
  const [pkceCodeVerifier, expectedState, expectedNonce] = [
    client.randomPKCECodeVerifier(),
    client.randomState(),
    client.randomNonce(),
  ]
  const parameters = {
    redirect_uri: REDIRECT_URI,
    scope: 'openid wallet',
    state: expectedState,
    nonce: expectedNonce,
    max_age: '300',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  }
  const signed = await client.buildAuthorizationUrlWithJAR(config, parameters, key)
  const url = await client.buildAuthorizationUrlWithPAR(config, signed.searchParams)
  expect([...url.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri'])
  const { to } = await walk.signIn(url.search.slice(1))
  const checks = { expectedState, expectedNonce, pkceCodeVerifier, maxAge: 300, idTokenExpected: true }
  const tokens = await client.authorizationCodeGrant(config, new URL(to), checks)
  expect(tokens.scope).toBe('openid wallet')
  expect(tokens.claims()?.sub).toBe(walk.wallet.address)
})

test('oauth4webapi does the same step by step with its own checks, and recognises a refusal', async () => {
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(grantor.authUrl)
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
  )
  const me = { client_id: registered.id }
  const authentication = oauth.PrivateKeyJwt({ key: keys.privateKey, kid: 'one' })
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
  const parameters = {
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'wallet',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const pushSigned = async (claims: Record<string, string>) => {
    const request = await oauth.issueRequestObject(as, me, new URLSearchParams(claims), { key: keys.privateKey, kid: 'one' })
    const body = new URLSearchParams({ client_id: registered.id, request })
    return oauth.pushedAuthorizationRequest(as, me, authentication, body, insecure)
  }
  const pushed = await oauth.processPushedAuthorizationResponse(as, me, await pushSigned(parameters))
  expect(pushed.expires_in).toBe(60)
  const { location } = await walk.authorize({ client_id: registered.id, request_uri: pushed.request_uri })
  const answer = oauth.validateAuthResponse(as, me, new URL(location), state)
  const response = await oauth.authorizationCodeGrantRequest(as, me, authentication, answer, REDIRECT_URI, verifier, insecure)
  const tokens = await oauth.processAuthorizationCodeResponse(as, me, response)
  expect(tokens.scope).toBe('wallet')

  const refused = pushSigned({ ...parameters, scope: 'admin' }).then((each) =>
    oauth.processPushedAuthorizationResponse(as, me, each),
  )
  await expect(refused).rejects.toMatchObject({ error: 'invalid_scope', status: 400 })
})
