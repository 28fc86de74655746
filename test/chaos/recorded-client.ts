/** Apps and people that write down what they asked and what they were told. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Request, send } from '../support/send.ts'
import type { Grantor } from '../support/start.ts'
import { basic, encode, Walk } from '../support/walk.ts'
import { type Owner, owner } from '../support/wallet-contracts.ts'
import type { Asked, Entry, Told } from './history.ts'
import type { ServiceNode } from './nodes.ts'

export type AppClient = { id: string; secret: string; redirectUri: string }

/** A wallet in one browser, signed in. */
export type Person = { wallet: Owner; session: string; cookie: string }

const PATIENCE_MS = 15_000
const FORM = 'application/x-www-form-urlencoded'
const now = (): number => performance.timeOrigin + performance.now()

export class RecordedClient {
  readonly history: Entry[] = []
  readonly #origin: string
  #sessions = 0

  /** `origin` is the auth service's own, as its pages have it. */
  constructor(origin: string) {
    this.#origin = origin
  }

  /** A new session, by a real login: challenge, text, signature, verifier. Tries again until the service is there. */
  async signIn(node: ServiceNode, name: string, client: AppClient): Promise<Person> {
    const wallet = owner(name)
    const session = `session ${++this.#sessions}`
    for (const since = now(); ; ) {
      const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
      const begin = now()
      const before = { ...node }
      try {
        await walk.signIn({ client_id: client.id, redirect_uri: client.redirectUri, prompt: 'login' })
        const asked: Asked = { op: 'sign_in', wallet: wallet.address, session }
        this.#note(node, '', asked, { kind: 'done' }, begin, before)
        return { wallet, session, cookie: [...walk.cookies].map((pair) => pair.join('=')).join('; ') }
      } catch (error) {
        if (now() - since > PATIENCE_MS) throw error
        await pause(100)
      }
    }
  }

  /** A code from the session that is there. */
  authorize(node: ServiceNode, { wallet, session, cookie }: Person, client: AppClient): Promise<Entry> {
    const path = `/oauth/authorize?${encode({ client_id: client.id, redirect_uri: client.redirectUri })}`
    const asked: Asked = { op: 'authorize', wallet: wallet.address, session, client: client.id }
    return this.#ask(node, '', asked, { path, headers: { cookie } }, ({ status, location }) => {
      const code = status === 302 ? new URL(location).searchParams.get('code') : null
      if (code !== null) return { kind: 'code', code }
      return status === 302 && location.includes('/login?login_challenge=') ? { kind: 'login' } : null
    })
  }

  redeem(node: ServiceNode, client: AppClient, code: string): Promise<Entry> {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri }
    return this.#post(node, client, '/oauth/token', fields, { op: 'redeem', code }, tokensIn)
  }

  refresh(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    const fields = { grant_type: 'refresh_token', refresh_token: token }
    return this.#post(node, client, '/oauth/token', fields, { op: 'refresh', token }, tokensIn)
  }

  introspect(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    return this.#post(node, client, '/oauth/introspect', { token }, { op: 'introspect', token }, (answer) => {
      if (answer.status !== 200) return null
      const { active, sub, client_id } = answer.json()
      return active === true ? { kind: 'active', sub: String(sub), clientId: String(client_id) } : { kind: 'inactive' }
    })
  }

  revoke(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    return this.#post(node, client, '/oauth/revoke', { token }, { op: 'revoke', token }, ({ status }) =>
      status === 200 ? { kind: 'done' } : null,
    )
  }

  /** On the account page: ends what an app may do. */
  endApp(node: ServiceNode, { wallet, cookie }: Person, client: AppClient): Promise<Entry> {
    const asked: Asked = { op: 'end_app', wallet: wallet.address, client: client.id }
    return this.#ask(node, '', asked, this.#form('/account/apps/end', { client_id: client.id }, cookie), ({ status }) =>
      status === 303 ? { kind: 'done' } : status === 401 ? { kind: 'refused', error: 'no session' } : null,
    )
  }

  signOut(node: ServiceNode, { wallet, session, cookie }: Person): Promise<Entry> {
    const asked: Asked = { op: 'sign_out', wallet: wallet.address, session }
    // Without a session there is nothing to sign out of any more, and it is told so.
    return this.#ask(node, '', asked, this.#form('/account/sign-out', {}, cookie), ({ status }) =>
      status === 200 || status === 401 ? { kind: 'done' } : null,
    )
  }

  #form(path: string, fields: Record<string, string>, cookie: string): Request {
    return { method: 'POST', path, headers: { 'content-type': FORM, origin: this.#origin, cookie }, body: encode(fields) }
  }

  #post(
    node: ServiceNode,
    client: AppClient,
    path: string,
    fields: Record<string, string>,
    asked: Asked,
    read: (answer: Answer) => Told | null,
  ): Promise<Entry> {
    const headers = { 'content-type': FORM, authorization: basic(client.id, client.secret) }
    return this.#ask(node, client.id, asked, { method: 'POST', path, headers, body: encode(fields) }, (answer) => {
      if (answer.status === 400 && answer.json().error === 'invalid_grant') return { kind: 'refused', error: 'invalid_grant' }
      return read(answer)
    })
  }

  async #ask(
    node: ServiceNode,
    caller: string,
    asked: Asked,
    request: Request,
    read: (answer: Answer) => Told | null,
  ): Promise<Entry> {
    const begin = now()
    const { offset, jumps } = node
    let told: Told
    try {
      const answer = await within(PATIENCE_MS, send(node.url, request))
      if (answer.status === 503) told = { kind: 'lost', why: '503' }
      else told = read(answer) ?? { kind: 'unexpected', status: answer.status, body: answer.body.slice(0, 300) }
    } catch (error) {
      told = { kind: 'lost', why: (error as NodeJS.ErrnoException).code ?? (error as Error).message }
    }
    return this.#note(node, caller, asked, told, begin, { offset, jumps })
  }

  #note(
    node: ServiceNode,
    caller: string,
    asked: Asked,
    told: Told,
    begin: number,
    before: Pick<ServiceNode, 'offset' | 'jumps'>,
  ): Entry {
    // A clock that jumped there and back in between was anywhere.
    const offset = node.jumps - before.jumps > 1 ? Number.NaN : node.offset
    const entry: Entry = { node: node.name, caller, asked, told, begin, end: now(), offset: [before.offset, offset] }
    this.history.push(entry)
    return entry
  }
}

function tokensIn(answer: Answer): Told | null {
  if (answer.status !== 200) return null
  const { access_token, refresh_token } = answer.json()
  const [, claims = ''] = String(access_token).split('.')
  const { sub, client_id, grant_id, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
  return {
    kind: 'tokens',
    access: String(access_token),
    refresh: String(refresh_token),
    sub: String(sub),
    clientId: String(client_id),
    grantId: String(grant_id),
    expiresAt: Number(exp),
  }
}

async function within<Result>(ms: number, promise: Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const late = pause(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error('no answer in time')
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    over.abort()
  }
}
