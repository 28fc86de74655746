/** An API whose scope has a limit, and an app whose user signs it, by HTTP. */
import type { Limit } from '@grantor/protocol/limit'
import { type App, startApp, type Tokens, tokensOf } from './app.ts'
import { API, createApi } from './approvals.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { type Grantor, type StartOptions, startBeside, type TestClient } from './start.ts'
import { type Answer, movingTo, type Parameters, parameterOf, redirectPath, requestOf, type Walk } from './walk.ts'

export { API } from './approvals.ts'

export const WEEKLY: Limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 }

/** What the login server sends for numbers that the user lowered. */
export type Chosen = { uses: string; each?: string; amount?: string }

export type LimitApp = App & {
  api: TestClient
  /** registers the API with this limit of the scope `enhancement`; without a limit if null */
  register(limit: Limit | null): Promise<void>
  request(more?: Record<string, string | string[]>): Record<string, string | string[]>
  /** signs in, with the numbers that the user chose, and exchanges the code */
  signedTokens(chosen?: Chosen, more?: Record<string, string | string[]>): Promise<Tokens>
  draw(token: string, more?: Parameters, api?: TestClient): Promise<Answer>
  giveBack(more: Parameters, api?: TestClient): Promise<Answer>
  /** `limit` and `left` of the introspection by this client */
  left(token: string, by?: TestClient): Promise<{ limit?: unknown; left?: unknown }>
}

export async function startLimitApp(options: StartOptions = {}): Promise<LimitApp> {
  const app = await startApp(options)
  return limitAppOf(app, await createApi(app.grantor))
}

/** Two nodes on one database: users sign at the first, and the API draws at the second, unless a test says otherwise. */
export type TwoNodes = LimitApp & {
  /** the same app, whose API draws at the first node */
  atFirst: LimitApp
  second: Grantor
}

/** On SQLite if no database is given. */
export async function startTwoNodes(database?: PostgresDatabase): Promise<TwoNodes> {
  const options = database ? { postgres: database.address, postgresClock: 'given' as const } : {}
  const first = await startApp(options)
  const { grantor } = first
  const second = await startBeside(grantor, options)
  const { createClient } = grantor
  const own = {
    ...grantor,
    noticeChanges: async () => void (await Promise.all([grantor, second].map((node) => node.noticeChanges()))),
  }
  own.createClient = async (registration) => {
    const client = await createClient(registration)
    await own.noticeChanges()
    return client
  }
  const app = { ...first, grantor: own }
  const api = await createApi(own)
  await own.noticeChanges()
  return {
    ...limitAppOf(app, api, first.walk.copy(second)),
    atFirst: limitAppOf(app, api),
    second,
    async close() {
      await second.close()
      await first.close()
    },
  }
}

let keys = 0

/** `at`: the node at which the API draws. */
export function limitAppOf(app: App, api: TestClient, at = app.walk): LimitApp {
  const { walk, grantor, client } = app
  const { resources } = grantor.store
  const own: LimitApp = {
    ...app,
    api,
    async register(limit) {
      const enhancement = { name: 'enhancement', description: 'enhance an item', ...(limit && { limit }) }
      const scopes = [enhancement, { name: 'profile.read', description: 'read your profile' }]
      await resources.deleteResource(API)
      await resources.insertResource({ uri: API, name: 'The API', scopes, openTo: ['registered'], createdAt: 1 })
      await grantor.noticeChanges()
    },
    request: (more = {}) => requestOf(client, { resource: API, scope: 'enhancement', ...more }),
    async signedTokens(chosen, more) {
      const { code } = await signInWith(walk, own.request({ prompt: 'login', ...more }), chosen)
      const answer = await walk.exchange(client, code)
      if (answer.status !== 200) throw new Error(`the exchange was answered ${answer.status}: ${answer.body}`)
      return tokensOf(answer)
    },
    draw: (token, more = {}, by = api) =>
      at.call('/oauth/draw', by, typeof more === 'string' ? more : { token, key: `key-${++keys}`, amount: '4500', ...more }),
    giveBack: (more, by = api) => at.call('/oauth/draw/return', by, more),
    async left(token, by = api) {
      const { limit, left } = (await at.introspect(by, token)).json()
      return { ...(limit !== undefined && { limit }), ...(left !== undefined && { left }) }
    },
  }
  return own
}

/** The whole login, with the numbers of the limit that the user chose. */
export async function signInWith(walk: Walk, request: Parameters, chosen?: Chosen): Promise<{ code: string; message: string }> {
  const { path, message } = await proveWith(walk, await walk.challenge(request), chosen)
  const to = movingTo(await walk.complete(path))
  return { code: to === '' ? '' : parameterOf(to, 'code'), message }
}

/** Signs the text for a challenge with the chosen numbers. Returns the path at which the browser continues, and the text. */
export async function proveWith(walk: Walk, challenge: string, chosen?: Chosen): Promise<{ path: string; message: string }> {
  const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1, ...(chosen && { limit: chosen }) }
  const text = await walk.loginApi('/login/message', claim)
  if (text.status !== 200) throw new Error(`/login/message answered ${text.status}: ${text.body}`)
  const message = text.json().message as string
  const path = redirectPath(await walk.loginApi('/login/accept', { ...claim, signature: walk.wallet.sign(message) }))
  return { path, message }
}
