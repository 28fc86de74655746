/** Apps and people that write down what they asked and what they were told. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Request, send } from '../support/send.ts'
import type { Grantor } from '../support/start.ts'
import { basic, CODE_VERIFIER, encode, movingTo, noticeOf, PKCE, parameterOf, Walk } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { type Asked, type Entry, now, RESOURCE_SERVER, type Told } from './history.ts'
import type { ServiceNode } from './nodes.ts'

export type AppClient = {
  id: string
  /** '' for a public client, which uses PKCE and cannot introspect */
  secret: string
  redirectUri: string
  /** whether a session is enough for it, or the wallet must have signed a consent */
  consent: 'session' | 'signed'
}

/** The resource API, which may introspect what is meant for it. */
export type ResourceServer = { id: string; secret: string }

/** A wallet in one browser, signed in. */
export type Person = { wallet: TestWallet; session: string; cookie: string }

const PATIENCE_MS = 15_000
const FORM = 'application/x-www-form-urlencoded'

export class RecordedClient {
  readonly history: Entry[] = []
  readonly #origin: string
  readonly #resourceServer: ResourceServer
  #sessions = 0

  /** `origin` is the auth service's own, as its pages have it. */
  constructor(origin: string, resourceServer: ResourceServer) {
    this.#origin = origin
    this.#resourceServer = resourceServer
  }

  /**
   * A new session, by a real login: challenge, text, signature, verifier. Tries again until the service is there, and
   * asks before each time which wallet signs.
   */
  async signIn(node: ServiceNode, nextWallet: () => Promise<TestWallet>, client: AppClient): Promise<Person> {
    for (const since = now(); ; ) {
      const session = `session ${++this.#sessions}`
      const wallet = await nextWallet()
      const asked: Asked = { op: 'sign_in', wallet: wallet.address, session, client: client.id }
      const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
      const begin = now()
      const before = { ...node }
      try {
        await walk.signIn({ ...requestOf(client), prompt: 'login' })
        this.#note(node, '', asked, { kind: 'done' }, begin, before)
        return { wallet, session, cookie: [...walk.cookies].map((pair) => pair.join('=')).join('; ') }
      } catch (error) {
        // The consent may have been stored, and the session too.
        this.#note(node, '', asked, { kind: 'lost', why: 'sign-in' }, begin, before)
        if (now() - since > PATIENCE_MS) throw error
        await pause(100)
      }
    }
  }

  /** A login with the signature of somebody who owned the wallet before. */
  async signInAsFormer(node: ServiceNode, { wallet }: Person, client: AppClient): Promise<Entry> {
    const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
    const asked: Asked = { op: 'sign_in_as_former', wallet: wallet.address }
    const begin = now()
    const before = { ...node }
    const attempt = walk
      .challenge({ ...requestOf(client), prompt: 'login' })
      .then((challenge) => walk.proof(challenge))
      .then((proof) => walk.loginApi('/login/accept', proof))
    const told = await within(PATIENCE_MS, attempt).then(
      ({ status }): Told =>
        status === 200
          ? { kind: 'done' }
          : status === 401
            ? { kind: 'refused', error: 'not_proven' }
            : { kind: 'lost', why: `${status}` },
      (error: unknown): Told => ({ kind: 'lost', why: reasonOf(error) }),
    )
    return this.#note(node, '', asked, told, begin, before)
  }

  /** A code from the session that is there. */
  authorize(node: ServiceNode, { wallet, session, cookie }: Person, client: AppClient): Promise<Entry> {
    const path = `/oauth/authorize?${encode(requestOf(client))}`
    const asked: Asked = { op: 'authorize', wallet: wallet.address, session, client: client.id }
    return this.#ask(node, '', asked, { path, headers: { cookie } }, ({ status, location }) => {
      const code = status === 302 ? new URL(location).searchParams.get('code') : null
      if (code !== null) return { kind: 'code', code }
      return status === 302 && location.includes('/login?login_challenge=') ? { kind: 'login' } : null
    })
  }

  redeem(node: ServiceNode, client: AppClient, code: string): Promise<Entry> {
    const verifier = client.secret === '' ? { code_verifier: CODE_VERIFIER } : {}
    const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, ...verifier }
    return this.#post(node, client, '/oauth/token', fields, { op: 'redeem', code }, client.id, tokensIn)
  }

  refresh(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    const fields = { grant_type: 'refresh_token', refresh_token: token }
    return this.#post(node, client, '/oauth/token', fields, { op: 'refresh', token }, client.id, tokensIn)
  }

  introspect(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    // A public client has nothing to introspect with; its resource API has.
    const caller = client.secret === '' ? RESOURCE_SERVER : client.id
    const credentials = client.secret === '' ? this.#resourceServer : client
    return this.#post(node, credentials, '/oauth/introspect', { token }, { op: 'introspect', token }, caller, (answer) => {
      if (answer.status !== 200) return null
      const { active, sub, client_id } = answer.json()
      return active === true ? { kind: 'active', sub: String(sub), clientId: String(client_id) } : { kind: 'inactive' }
    })
  }

  revoke(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    return this.#post(node, client, '/oauth/revoke', { token }, { op: 'revoke', token }, client.id, ({ status }) =>
      status === 200 ? { kind: 'done' } : null,
    )
  }

  /** On the account page: ends what an app may do. */
  endApp(node: ServiceNode, { wallet, cookie }: Person, client: AppClient): Promise<Entry> {
    const asked: Asked = { op: 'end_app', wallet: wallet.address, client: client.id }
    return this.#ask(node, '', asked, this.#form('/account/apps/end', { client_id: client.id }, cookie), doneIn)
  }

  /** On the account page: ends every session of the wallet but this one. */
  endOthers(node: ServiceNode, { wallet, session, cookie }: Person): Promise<Entry> {
    const asked: Asked = { op: 'end_others', wallet: wallet.address, session }
    return this.#ask(node, '', asked, this.#form('/account/sessions/end-others', {}, cookie), doneIn)
  }

  /** Ends everything of a wallet, by one signature, in a browser that has no session. */
  async endEverything(node: ServiceNode, { wallet }: Person): Promise<Entry> {
    const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
    const asked: Asked = { op: 'end_everything', wallet: wallet.address }
    const begin = now()
    const before = { ...node }
    let told: Told
    try {
      const page = await within(PATIENCE_MS, walk.postForm('/account/end-everything', {}, { origin: this.#origin }))
      const challenge = parameterOf(movingTo(page), 'login_challenge')
      const answer = await within(
        PATIENCE_MS,
        walk.prove(challenge).then((path) => walk.complete(path)),
      )
      const ended = noticeOf(answer) === 'everything_ended'
      told = ended ? { kind: 'done' } : { kind: 'lost', why: `${answer.status} ${noticeOf(answer)}` }
    } catch (error) {
      told = { kind: 'lost', why: reasonOf(error) }
    }
    return this.#note(node, '', asked, told, begin, before)
  }

  signOut(node: ServiceNode, { wallet, session, cookie }: Person): Promise<Entry> {
    const asked: Asked = { op: 'sign_out', wallet: wallet.address, session }
    return this.#ask(node, '', asked, this.#form('/account/sign-out', {}, cookie), ({ status }) => {
      if (status === 200) return { kind: 'done' }
      return status === 401 ? { kind: 'done', already: true } : null
    })
  }

  #form(path: string, fields: Record<string, string>, cookie: string): Request {
    return { method: 'POST', path, headers: { 'content-type': FORM, origin: this.#origin, cookie }, body: encode(fields) }
  }

  #post(
    node: ServiceNode,
    { id, secret }: Pick<AppClient, 'id' | 'secret'>,
    path: string,
    fields: Record<string, string>,
    asked: Asked,
    caller: string,
    read: (answer: Answer) => Told | null,
  ): Promise<Entry> {
    const headers = { 'content-type': FORM, ...(secret === '' ? {} : { authorization: basic(id, secret) }) }
    const body = encode({ ...fields, ...(secret === '' ? { client_id: id } : {}) })
    return this.#ask(node, caller, asked, { method: 'POST', path, headers, body }, (answer) => {
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
      told = { kind: 'lost', why: reasonOf(error) }
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

function requestOf({ id, secret, redirectUri }: AppClient): Record<string, string> {
  return { client_id: id, redirect_uri: redirectUri, ...(secret === '' ? PKCE : {}) }
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message
}

function doneIn({ status }: Answer): Told | null {
  return status === 303 ? { kind: 'done' } : status === 401 ? { kind: 'refused', error: 'no session' } : null
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
