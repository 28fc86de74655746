/**
 * One user's requests to the service by HTTP: a browser's cookies, a wallet, and the requests of the app and the login server.
 *
 * Each walk is another browser. A walk uses only what a browser, a login server or a client receives.
 */
import { createHash } from 'node:crypto'
import { type Answer, type Request, send } from './send.ts'
import { type Grantor, TEST_LOGIN_SECRET, type TestClient } from './start.ts'
import { type TestWallet, testWallet } from './wallet.ts'

export type { Answer } from './send.ts'

/** Parameters by name (a list is sent as repeated parameters), or a query or body that is sent unchanged. */
export type Parameters = Record<string, string | string[]> | string

/** The client of a POST request: a client with a secret uses Basic, a client without one sends its id in the body. */
export type Caller = Pick<TestClient, 'id' | 'secret'>

export type SignedIn = {
  /** the target of the page that redirects: the redirect URI with the authorization response */
  to: string
  /** '' if the response has no code */
  code: string
  challenge: string
  /** the response of /login/complete */
  answer: Answer
}

const FORM = 'application/x-www-form-urlencoded'

export class Walk {
  readonly grantor: Grantor
  readonly cookies = new Map<string, string>()
  wallet: TestWallet
  /** the address that the login server sends to the auth service */
  clientIp = '203.0.113.7'

  constructor(grantor: Grantor, wallet: TestWallet = testWallet(0)) {
    this.grantor = grantor
    this.wallet = wallet
  }

  /** Another browser with the same wallet and a copy of the cookies, at this node or at another. */
  copy(grantor = this.grantor): Walk {
    const copy = new Walk(grantor, this.wallet)
    for (const [name, value] of this.cookies) copy.cookies.set(name, value)
    return copy
  }

  // The browser

  /** Sends a request of this browser to the auth service with its cookies, and keeps the cookies of the response. */
  async browse(request: Request): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie === '' ? {} : { cookie }), ...request.headers }
    const answer = await send(this.grantor.authUrl, { ...request, headers })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.cookies.set(name, value)
    }
    return answer
  }

  authorize(parameters: Parameters): Promise<Answer> {
    return this.browse({ path: `/oauth/authorize?${encode(parameters)}` })
  }

  /** Sends a form of one of the service's own pages. */
  postForm(path: string, fields: Parameters, headers: Record<string, string> = {}): Promise<Answer> {
    const own = { 'content-type': FORM, origin: this.grantor.authUrl, 'sec-fetch-site': 'same-origin' }
    return this.browse({ method: 'POST', path, headers: { ...own, ...headers }, body: encode(fields) })
  }

  /** Presses a button of the confirmation page. */
  confirm(page: Answer, decision: 'allow' | 'deny'): Promise<Answer> {
    return this.postForm('/oauth/authorize/confirm', { confirmation: fieldOf(page, 'confirmation'), decision })
  }

  // The login

  /** The `login_challenge` that an authorization request is redirected with. Throws if the redirect leads elsewhere. */
  async challenge(parameters: Parameters): Promise<string> {
    const answer = await this.authorize(parameters)
    const [, challenge] = /\/login\?login_challenge=([A-Za-z0-9._-]+)$/.exec(answer.location) ?? []
    if (!challenge) throw new Error(`authorize answered ${answer.status} and did not lead to the login: ${answer.location}`)
    return challenge
  }

  /** Performs the whole login: authorize, message, signature, accept, complete. Throws if a step is refused. */
  async signIn(parameters: Parameters, wallet = this.wallet, scope?: string): Promise<SignedIn> {
    const challenge = await this.challenge(parameters)
    const answer = await this.complete(await this.prove(challenge, wallet, scope))
    if (answer.status !== 200) throw new Error(`/login/complete answered ${answer.status}`)
    const to = movingTo(answer)
    return { to, code: parameterOf(to, 'code'), challenge, answer }
  }

  /** Signs the text for a challenge and sends the proof. Returns the path at which the browser continues. */
  async prove(challenge: string, wallet = this.wallet, scope?: string): Promise<string> {
    return redirectPath(await this.loginApi('/login/accept', await this.proof(challenge, wallet, scope)))
  }

  /** The proof of a wallet for a challenge: the signed text, with the chosen scopes if there is a choice. */
  async proof(challenge: string, wallet = this.wallet, scope?: string): Promise<Record<string, unknown> & { signature: string }> {
    const claim = { login_challenge: challenge, address: wallet.address, chain_id: 1, ...(scope === undefined ? {} : { scope }) }
    const text = await this.loginApi('/login/message', claim)
    if (text.status !== 200) throw new Error(`/login/message answered ${text.status}: ${text.body}`)
    return { ...claim, signature: wallet.sign(text.json().message as string) }
  }

  /** The details of a challenge that the login server reads. */
  describe(challenge: string): Promise<Answer> {
    const path = `/login/challenge?login_challenge=${encodeURIComponent(challenge)}`
    return send(this.grantor.authUrl, { path, headers: { authorization: LOGIN_SERVER } })
  }

  /** Rejects the login. Returns the path at which the browser continues. */
  async reject(challenge: string): Promise<string> {
    return redirectPath(await this.loginApi('/login/reject', { login_challenge: challenge }))
  }

  /** Returns the browser from the login server to the auth service. */
  complete(path: string): Promise<Answer> {
    return this.browse({ path })
  }

  /** Sends a request of the login server to the auth service. */
  loginApi(path: string, fields: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Answer> {
    return send(this.grantor.authUrl, {
      method: 'POST',
      path,
      headers: { authorization: LOGIN_SERVER, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ client_ip: this.clientIp, ...fields }),
    })
  }

  // The client

  token(client: Caller, body: Parameters, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('/oauth/token', client, body, headers)
  }

  introspect(client: Caller, token: string): Promise<Answer> {
    return this.call('/oauth/introspect', client, { token })
  }

  revoke(client: Caller, token: string): Promise<Answer> {
    return this.call('/oauth/revoke', client, { token })
  }

  /** Redeems a code for the client's first redirect URI. */
  exchange(client: TestClient, code: string, more: Record<string, string> = {}): Promise<Answer> {
    return this.token(client, { grant_type: 'authorization_code', code, redirect_uri: client.redirectUris[0] ?? '', ...more })
  }

  refresh(client: Caller, refreshToken: string, more: Record<string, string> = {}): Promise<Answer> {
    return this.token(client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...more })
  }

  /** Sends a form-urlencoded POST of a client, with the authentication method of the client. */
  call(path: string, client: Caller, body: Parameters, headers: Record<string, string> = {}): Promise<Answer> {
    const authorization = { authorization: basic(client.id, client.secret) }
    const own = client.secret === '' ? `&client_id=${client.id}` : ''
    return send(this.grantor.authUrl, {
      method: 'POST',
      path,
      headers: { 'content-type': FORM, ...(own === '' ? authorization : {}), ...headers },
      body: encode(body) + own,
    })
  }
}

/** The minimal authorization request of a client, with additional parameters. */
export function requestOf(client: TestClient, more: Record<string, string | string[]> = {}): Record<string, string | string[]> {
  return { client_id: client.id, redirect_uri: client.redirectUris[0] ?? '', ...more }
}

export function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

export const CODE_VERIFIER = 'a-code-verifier-of-at-least-43-characters-0123'

/** The PKCE parameters of an authorization request for `CODE_VERIFIER` (RFC 7636 §4.2). */
export const PKCE = {
  code_challenge: createHash('sha256').update(CODE_VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
}

export const LOGIN_SERVER = basic('login-server', TEST_LOGIN_SECRET)

/** Encodes a query or a form body. A text is returned unchanged. */
export function encode(parameters: Parameters): string {
  if (typeof parameters === 'string') return parameters
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]))
  return pairs.map((pair) => pair.map((part) => encodeURIComponent(part ?? '')).join('=')).join('&')
}

/** A form-decoded parameter of a redirect's query, or ''. */
export function parameterOf(url: string, name: string): string {
  return new URL(url).searchParams.get(name) ?? ''
}

/** The target of a page that redirects, or '' for another page. Throws if the link of the page has another target. */
export function movingTo(page: Answer): string {
  const refresh = unescapeHtml(/<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(page.body)?.[1] ?? '')
  const link = unescapeHtml(/<a [^>]*id="continue" href="([^"]*)"/.exec(page.body)?.[1] ?? '')
  if (refresh !== link) throw new Error('the page moves on to one place and links to another')
  return refresh
}

/** The value of a hidden field of a page's form. */
export function fieldOf(page: Answer, name: string): string {
  const [, value] = new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(page.body) ?? []
  if (value === undefined) throw new Error(`the page has no field ${name}: ${page.status}`)
  return unescapeHtml(value)
}

/** The notice of a page (`data-notice`), such as `unknown_client`, or ''. */
export function noticeOf(page: Answer): string {
  return /data-notice="([a-z_]+)"/.exec(page.body)?.[1] ?? ''
}

function unescapeHtml(text: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`', amp: '&' }
  return text.replace(/&(lt|gt|quot|#39|#96|amp);/g, (_, name: string) => characters[name] ?? '')
}

/** The path of the auth service to which the login server redirects the browser. Throws if the proof was refused. */
export function redirectPath(answer: Answer): string {
  const { redirect_to } = answer.json()
  if (answer.status !== 200) throw new Error(`the login server was answered ${answer.status}: ${answer.body}`)
  const { pathname, search } = new URL(redirect_to as string)
  return pathname + search
}

/** A style or script element as the pages contain them, with its name and its text. */
export const STYLE_OR_SCRIPT = /<(style|script)(?: type="module")?>([^]*?)<\/\1>/g

/** The markup of a page without its styles and scripts. */
export function contentOf(page: string): string {
  return page.replaceAll(STYLE_OR_SCRIPT, '')
}
