/** An app with a signed-in user: new codes and tokens whenever a test needs them, each from a real authorization request. */
import { type Grantor, type StartOptions, startGrantor, type TestClient } from './start.ts'
import { parameterOf, requestOf, Walk } from './walk.ts'

export type Tokens = { access_token: string; token_type: string; expires_in: number; refresh_token: string; scope: string }

export type App = {
  grantor: Grantor
  client: TestClient
  walk: Walk
  /** a new code for this client (or another), from the present session */
  freshCode(more?: Record<string, string | string[]>, client?: TestClient): Promise<string>
  /** the tokens of a new grant */
  freshTokens(more?: Record<string, string | string[]>, client?: TestClient): Promise<Tokens>
  /** whether introspection returns active for an access token */
  isActive(accessToken: string, client?: TestClient): Promise<boolean>
  close(): Promise<void>
}

/** Starts everything, registers a confidential client with two scopes, and signs the first test wallet in. */
export async function startApp(options: StartOptions = {}): Promise<App> {
  return signInApp(await startGrantor(options))
}

/** Registers such a client, and signs the first test wallet in. */
export async function signInApp(grantor: Grantor): Promise<App> {
  const client = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: ['https://api.example.com/'] })
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  return appOf(grantor, client, walk)
}

/** The same for servers, a client and a session that are there already. */
export function appOf(grantor: Grantor, client: TestClient, walk: Walk): App {
  const app: App = {
    grantor,
    client,
    walk,
    async freshCode(more = {}, of = client) {
      const answer = await walk.authorize(requestOf(of, more))
      const code = answer.location.startsWith('http') ? parameterOf(answer.location, 'code') : ''
      if (code === '') throw new Error(`authorize answered ${answer.status} without a code: ${answer.location}`)
      return code
    },
    async freshTokens(more = {}, of = client) {
      const answer = await walk.exchange(of, await app.freshCode(more, of))
      if (answer.status !== 200) throw new Error(`the exchange was answered ${answer.status}: ${answer.body}`)
      return tokensOf(answer)
    },
    async isActive(accessToken, of = client) {
      return (await walk.introspect(of, accessToken)).json().active === true
    },
    close: () => grantor.close(),
  }
  return app
}

export function tokensOf(answer: { json(): Record<string, unknown> }): Tokens {
  return answer.json() as Tokens
}

/** The claims of a JWT, without verification of its signature. */
export function claimsOf(jwt: string): Record<string, unknown> & { jti: string; grant_id: string; exp: number; aud: string } {
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as ReturnType<typeof claimsOf>
}
