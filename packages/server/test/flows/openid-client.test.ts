/** `openid-client`, a certified independent relying party, against the service, from discovery to logout. */
import * as client from 'openid-client'
import { expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { changeClient } from '../support/signed-app.ts'
import { Walk } from '../support/walk.ts'

const REDIRECT_URI = 'https://app.example.net/callback'
const AFTERWARDS = 'https://app.example.net/bye'

test.for(['ES256', 'RS256', 'EdDSA'] as const)(
  'openid-client signs in, reads userinfo, refreshes, renews silently and signs out, with %s ID tokens',
  async (algorithm, { grantor }) => {
    const registered = await grantor.createClient({ scopes: ['openid', 'wallet'] })
    await changeClient(grantor, registered, { idTokenAlgorithm: algorithm, postLogoutRedirectUris: [AFTERWARDS] })
    const metadata = { id_token_signed_response_alg: algorithm }
    const secret = client.ClientSecretBasic(registered.secret)
    // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
    const insecure = client.allowInsecureRequests
    const config = await client.discovery(new URL(grantor.authUrl), registered.id, metadata, secret, {
      execute: [insecure, client.enableNonRepudiationChecks],
    })
    const [codeVerifier, state, nonce] = [client.randomPKCECodeVerifier(), client.randomState(), client.randomNonce()]
    const parameters = {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email wallet offline_access',
      state,
      nonce,
      max_age: '300',
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    }
    const walk = new Walk(grantor)
    const { to } = await walk.signIn(client.buildAuthorizationUrl(config, parameters).search.slice(1))
    const checks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      maxAge: 300,
      idTokenExpected: true,
    }
    const tokens = await client.authorizationCodeGrant(config, new URL(to), checks)
    expect(tokens.scope).toBe('openid wallet')
    const claims = tokens.claims()
    expect(claims).toMatchObject({ sub: walk.wallet.address, chain_id: 1 })

    const userinfo = await client.fetchUserInfo(config, tokens.access_token, walk.wallet.address)
    expect(userinfo).toEqual({
      sub: walk.wallet.address,
      wallet_address: walk.wallet.address,
      chain_id: 1,
      account_id: `eip155:1:${walk.wallet.address}`,
    })

    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(refreshed.claims()).toMatchObject({ sub: walk.wallet.address, sid: claims?.sid })

    const silent = { ...parameters, prompt: 'none', id_token_hint: tokens.id_token ?? '' }
    const again = await walk.authorize(client.buildAuthorizationUrl(config, silent).search.slice(1))
    await client.authorizationCodeGrant(config, new URL(again.location), checks)

    const bye = client.buildEndSessionUrl(config, { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: AFTERWARDS })
    expect((await walk.browse({ path: `${bye.pathname}${bye.search}` })).location).toBe(AFTERWARDS)
    const after = await walk.authorize(client.buildAuthorizationUrl(config, silent).search.slice(1))
    await expect(client.authorizationCodeGrant(config, new URL(after.location), checks)).rejects.toMatchObject({
      error: 'login_required',
    })
  },
)
