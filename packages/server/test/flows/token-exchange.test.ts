/** Token exchange with unchanged client libraries: an app calls an MCP server, which calls an API behind it for the user (RFC 8693). */

import { createTokenCheck } from '@grantor/resource'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOKEN_EXCHANGE } from '../../src/protocol/oauth/grant-types.ts'
import { ACCESS_TOKEN_TYPE, API, type ExchangeApp, startExchangeApp } from '../support/exchange-app.ts'

let app: ExchangeApp

beforeAll(async () => {
  app = await startExchangeApp()
})
afterAll(() => app.close())

type Exchanged = {
  access_token: string
  issued_token_type?: unknown
  refresh_token?: string | undefined
  scope?: string | undefined
}
type Parameters = { subject_token: string; subject_token_type: string; resource: string; scope: string }

async function exchangeWithOpenidClient(parameters: Parameters): Promise<Exchanged> {
  const authentication = openid.ClientSecretBasic(app.mcp.secret)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const execute = [openid.allowInsecureRequests]
  const issuer = new URL(app.grantor.authUrl)
  const config = await openid.discovery(issuer, app.mcp.id, {}, authentication, { execute, algorithm: 'oauth2' })
  return openid.genericGrantRequest(config, TOKEN_EXCHANGE, parameters)
}

async function exchangeWithOauth4webapi(parameters: Parameters): Promise<Exchanged> {
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(app.grantor.authUrl)
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  const client = { client_id: app.mcp.id }
  const authentication = oauth.ClientSecretBasic(app.mcp.secret)
  const answer = await oauth.genericTokenEndpointRequest(
    server,
    client,
    authentication,
    TOKEN_EXCHANGE,
    new URLSearchParams(parameters),
    insecure,
  )
  return oauth.processGenericTokenEndpointResponse(server, client, answer)
}

test.each([
  ['openid-client', exchangeWithOpenidClient],
  ['oauth4webapi', exchangeWithOauth4webapi],
])(
  "An MCP server with %s exchanges the token of a call, and the API behind it accepts the new token until the user's grant ends",
  async (_, exchange) => {
    const tokens = await app.freshTokens({ resource: app.mcp.resourceServer ?? '', scope: 'enhancement profile' })
    const exchanged = await exchange({
      subject_token: tokens.access_token,
      subject_token_type: ACCESS_TOKEN_TYPE,
      resource: API,
      scope: 'enhancement',
    })
    expect(exchanged).toMatchObject({ issued_token_type: ACCESS_TOKEN_TYPE, scope: 'enhancement' })
    expect(exchanged.refresh_token).toBeUndefined()
    expect(decodeJwt(exchanged.access_token).act).toEqual({ sub: app.mcp.id })

    const check = createTokenCheck({
      issuer: app.grantor.authUrl,
      audience: API,
      introspection: { clientId: app.api.id, clientSecret: app.api.secret },
      now: app.grantor.clock.now,
    })
    const call = (token: string) => check({ headers: { authorization: `Bearer ${token}` } }, { scopes: ['enhancement'] })
    expect(await call(exchanged.access_token)).toMatchObject({ wallet: app.walk.wallet.address, clientId: app.mcp.id })
    await expect(call(tokens.access_token), 'the token of the call itself is refused').rejects.toMatchObject({ status: 401 })

    await app.walk.revoke(app.client, tokens.refresh_token)
    await expect(call(exchanged.access_token)).rejects.toMatchObject({ status: 401 })
    await expect(
      exchange({
        subject_token: tokens.access_token,
        subject_token_type: ACCESS_TOKEN_TYPE,
        resource: API,
        scope: 'enhancement',
      }),
    ).rejects.toMatchObject({ error: 'invalid_request', status: 400 })
  },
)
