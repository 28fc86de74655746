/** An app that calls an MCP server, which exchanges the tokens of the calls for tokens for an API behind it (RFC 8693). */
import { TOKEN_EXCHANGE } from '../../src/protocol/oauth/grant-types.ts'
import { type App, appOf } from './app.ts'
import type { Answer } from './send.ts'
import { type StartOptions, startGrantor, type TestClient } from './start.ts'
import { requestOf, Walk } from './walk.ts'

export const MCP = 'https://mcp.example.com/mcp'
export const API = 'https://api.example.com/'
export const FILES = 'https://files.example.com/'

export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'
export const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt'

type Form = Record<string, string | string[]>

export type ExchangeApp = App & {
  /** the server of MCP, which may exchange tokens for API */
  mcp: TestClient
  /** the server of API, which may exchange tokens for FILES */
  api: TestClient
  /** an access token of the app for MCP, with the scopes enhancement and profile */
  subjectToken(more?: Form): Promise<string>
  /** exchanges a token for API; `more` adds or replaces parameters, and `undefined` removes one */
  exchange(subjectToken: string, more?: Record<string, string | string[] | undefined>, by?: Exchanging): Promise<Answer>
}

type Exchanging = { client?: TestClient; headers?: Record<string, string> }

export async function startExchangeApp(options: StartOptions = {}): Promise<ExchangeApp> {
  const grantor = await startGrantor(options)
  const scopes = ['enhancement', 'profile', 'openid']
  const client = await grantor.createClient({ scopes, resources: [MCP, API, FILES] })
  const mcp = await grantor.createClient({ redirectUris: [], scopes, resourceServer: MCP, exchangeResources: [API] })
  const api = await grantor.createClient({ redirectUris: [], scopes, resourceServer: API, exchangeResources: [FILES] })
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  const app = appOf(grantor, client, walk)
  return {
    ...app,
    mcp,
    api,
    async subjectToken(more = {}) {
      return (await app.freshTokens({ resource: MCP, scope: 'enhancement profile', ...more })).access_token
    },
    exchange(subjectToken, more = {}, { client: by = mcp, headers } = {}) {
      const form = {
        grant_type: TOKEN_EXCHANGE,
        subject_token: subjectToken,
        subject_token_type: ACCESS_TOKEN_TYPE,
        resource: API,
        ...more,
      }
      const sent = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined)) as Form
      return walk.token(by, sent, headers)
    },
  }
}
