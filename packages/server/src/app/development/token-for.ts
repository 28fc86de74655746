/**
 * A token without a browser: the real flow over HTTP, as an app and a user's browser perform it. A development account of the login server
 * signs, so the flow works only with a login server that has these accounts. No step is left out: the token is the one that the app would
 * receive.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FileClient } from './file-records.ts'
import { type Answer, createBrowser } from './token-browser.ts'

/** The response of the token endpoint (RFC 6749 §5.1). */
export type TokenResponse = {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
  refresh_token?: string
  id_token?: string
}

type Wanted = {
  /** the IP address of the servers */
  address: string
  issuer: string
  loginUrl: string
  /** for every request */
  headers?: OutgoingHttpHeaders
  /** the address of a development account */
  wallet: string
  client: FileClient
  /** names with a space between them; the client's default scopes unless given */
  scope?: string | undefined
  /** the client's first resource unless given */
  resource?: string | undefined
}

type Flow = Wanted & { browse: ReturnType<typeof createBrowser>; redirectUri: string; codeVerifier: string }

export async function requestToken(wanted: Wanted): Promise<TokenResponse> {
  const [redirectUri] = wanted.client.redirectUris
  if (redirectUri === undefined) throw noToken(wanted, 'the client has no redirect_uris, so no user can sign in to it')
  const browse = createBrowser(wanted.address, wanted.headers ?? {})
  const flow = { ...wanted, browse, redirectUri, codeVerifier: randomBytes(32).toString('base64url') }
  const loginPage = await authorize(flow)
  const returnTo = await prove(flow, loginPage)
  const code = await complete(flow, returnTo)
  return exchange(flow, code)
}

/** The authorization request (RFC 6749 §4.1.1), with PKCE. Resolves with the URL of the login page. */
async function authorize(flow: Flow): Promise<URL> {
  const { issuer, client, scope, resource = client.resources[0], redirectUri, codeVerifier } = flow
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope === undefined ? {} : { scope }),
    ...(resource === undefined ? {} : { resource }),
  })
  const answer = await flow.browse(`${issuer}/oauth/authorize?${parameters.toString()}`)
  const to = URL.canParse(answer.location) ? new URL(answer.location) : null
  if (to?.origin === flow.loginUrl) return to
  throw noToken(flow, `the authorization request was refused: ${to ? refusalIn(to) : reasonIn(answer)}`)
}

/** The development account signs the text of the login page (ERC-4361). Resolves with the URL at which the browser continues. */
async function prove(flow: Flow, { searchParams }: URL): Promise<string> {
  const { loginUrl, wallet: address, browse } = flow
  const answer = await browse(`${loginUrl}/login/development-wallet`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', origin: loginUrl },
    body: JSON.stringify({ login_challenge: searchParams.get('login_challenge') ?? '', address }),
  })
  if (answer.status === 404) throw noToken(flow, 'the login server has no development accounts')
  if (answer.status !== 200) throw noToken(flow, `the login was refused: ${reasonIn(answer)}`)
  const { redirect_to = '' } = JSON.parse(answer.body) as Record<string, string>
  return redirect_to
}

/** The browser returns to the auth service, whose page leads to the redirect URI. Resolves with the code. */
async function complete(flow: Flow, returnTo: string): Promise<string> {
  const answer = await flow.browse(returnTo)
  const target = targetOf(answer.body)
  const to = URL.canParse(target) ? new URL(target) : null
  const code = to?.searchParams.get('code')
  if (!code) throw noToken(flow, `the authorization was refused: ${to ? refusalIn(to) : reasonIn(answer)}`)
  return code
}

/** The URL to which a page leads, or an empty text. */
function targetOf(page: string): string {
  const [, rest = ''] = page.split('<meta http-equiv="refresh" content="0;url=')
  return rest.slice(0, rest.indexOf('"')).replaceAll('&amp;', '&')
}

/** The token request (RFC 6749 §4.1.3). */
async function exchange(flow: Flow, code: string): Promise<TokenResponse> {
  const { issuer, client, redirectUri: redirect_uri, codeVerifier: code_verifier } = flow
  const { headers, fields } = authenticationOf(flow, client)
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, code_verifier, ...fields })
  const answer = await flow.browse(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: body.toString(),
  })
  if (answer.status !== 200) throw noToken(flow, `the token request was refused: ${reasonIn(answer)}`)
  const response = JSON.parse(answer.body) as TokenResponse
  const { access_token: accessToken, refresh_token: refreshToken } = response
  if (!isToken(accessToken) || (refreshToken !== undefined && !isToken(refreshToken)))
    throw noToken(flow, 'the token response is malformed')
  return response
}

/** RFC 6750 §2.1. A shell evaluates what `test-token` prints, and another program can listen at the port of a service that does not run. */
function isToken(text: unknown): boolean {
  return typeof text === 'string' && /^[\w.~+/-]+=*$/.test(text)
}

type Authentication = { headers: Record<string, string>; fields: Record<string, string> }

function authenticationOf(wanted: Wanted, { clientId, clientSecret, authMethod }: FileClient): Authentication {
  const secret = clientSecret ?? ''
  switch (authMethod) {
    case 'client_secret_basic': {
      const credentials = Buffer.from(`${clientId}:${secret}`).toString('base64')
      return { headers: { authorization: `Basic ${credentials}` }, fields: {} }
    }
    case 'client_secret_post':
      return { headers: {}, fields: { client_id: clientId, client_secret: secret } }
    case 'none':
      return { headers: {}, fields: { client_id: clientId } }
    default:
      throw noToken(wanted, `the client authenticates with ${authMethod}, and only the app has its key`)
  }
}

/** The error of an authorization response (RFC 6749 §4.1.2.1). */
function refusalIn({ searchParams }: URL): string {
  return [searchParams.get('error'), searchParams.get('error_description')].filter(Boolean).join(': ')
}

/** The error of a JSON response or of a page. */
function reasonIn({ status, body }: Answer): string {
  const [, notice] = /data-notice="([a-z_]+)"/.exec(body) ?? []
  const [, error] = /"error":"([a-z_]+)"/.exec(body) ?? []
  const [, description] = /"error_description":"([^"]+)"/.exec(body) ?? []
  return [`HTTP status ${status}`, notice ?? error, description].filter(Boolean).join(', ')
}

function noToken({ client }: Pick<Wanted, 'client'>, why: string): Error {
  return new Error(`no token for the client ${JSON.stringify(client.name)}: ${why}`)
}
