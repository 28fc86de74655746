/** `openid-client`, a certified independent relying party, with DPoP (RFC 9449): push, sign-in, refresh, userinfo, API. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTokenCheck, type ResourceError } from '@grantor/resource'
import * as client from 'openid-client'
import { afterEach, expect, test } from 'vitest'
import { claimsOf } from '../support/app.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

const REDIRECT_URI = 'https://spa.example.org/cb'
let grantor: Grantor
afterEach(() => grantor.close())

/** A resource API that responds with 204, or with the refusal of the token check. */
async function startApi() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://localhost:${(server.address() as AddressInfo).port}`
  const { authUrl: issuer, clock } = grantor
  const check = createTokenCheck({ issuer, audience: issuer, dpop: { origin: url, required: true }, now: clock.now })
  server.on('request', (request, response) => {
    check(request).then(
      () => response.writeHead(204).end(),
      (error: ResourceError) => response.writeHead(error.status, error.headers).end(),
    )
  })
  return { url: new URL('/things?page=1', url), close: () => server.close() }
}

test.each([
  ['ES256', 'public', false],
  ['Ed25519', 'confidential', true],
  ['PS256', 'public', true],
] as const)(
  '%s, a %s client, nonces %s: every step and a refresh work with bound tokens (RFC 9449)',
  async (alg, type, dpopNonce) => {
    grantor = await startGrantor({ settings: { dpopNonce } })
    const registered = await grantor.createClient({ type, redirectUris: [REDIRECT_URI], scopes: ['openid'], dpopBound: true })
    const authentication = type === 'public' ? client.None() : client.ClientSecretBasic(registered.secret)
    // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
    const insecure = client.allowInsecureRequests
    const options = { execute: [insecure] }
    const config = await client.discovery(new URL(grantor.authUrl), registered.id, undefined, authentication, options)
    expect(config.serverMetadata().dpop_signing_alg_values_supported).toEqual(['ES256', 'PS256', 'EdDSA'])
    const keys = await client.randomDPoPKeyPair(alg)
    const DPoP = client.getDPoPHandle(config, keys)

    const codeVerifier = client.randomPKCECodeVerifier()
    const parameters = {
      redirect_uri: REDIRECT_URI,
      scope: 'openid',
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    }
    const walk = new Walk(grantor)
    const to = await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP })
    const signedIn = await walk.signIn(to.search.slice(1))
    const checks = { pkceCodeVerifier: codeVerifier, idTokenExpected: true }
    const tokens = await client.authorizationCodeGrant(config, new URL(signedIn.to), checks, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
    const { jkt } = claimsOf(tokens.access_token).cnf as { jkt: string }

    expect(await client.fetchUserInfo(config, tokens.access_token, walk.wallet.address, { DPoP })).toEqual({
      sub: walk.wallet.address,
    })
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP })
    expect(claimsOf(refreshed.access_token).cnf).toEqual({ jkt })

    const api = await startApi()
    const call = () => client.fetchProtectedResource(config, refreshed.access_token, api.url, 'GET', null, undefined, { DPoP })
    expect((await call()).status).toBe(204)
    await expect(client.fetchProtectedResource(config, refreshed.access_token, api.url, 'GET')).rejects.toMatchObject({
      status: 401,
    })
    api.close()
  },
)
