/** Sends the requests of apps and users, and records each request with its response. */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { signInWith } from '../support/limits.ts'
import { type Answer, type Request, send } from '../support/send.ts'
import type { Grantor } from '../support/start.ts'
import { basic, CODE_VERIFIER, encode, movingTo, noticeOf, PKCE, parameterOf, Walk } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { type Entry, type Numbers, now, RESOURCE_SERVER, type RecordedRequest, type RecordedResponse } from './history.ts'
import type { ServiceNode } from './nodes.ts'

export type AppClient = {
  id: string
  /** '' for a public client, which uses PKCE and cannot introspect */
  secret: string
  redirectUri: string
  /** whether a session is enough, or the wallet must have signed a consent */
  consent: 'session' | 'signed'
}

/** The credentials of the resource API, which may introspect tokens for its resource. */
export type ResourceServer = { id: string; secret: string }

/** `vault`: the API of each token without a limit. `purse`: the API of the tokens with a limit. */
export type Apis = { vault: ResourceServer; purse: ResourceServer }

/** The resource of the purse, whose scope `spend` has a limit. */
export const PURSE = 'https://purse.example.com/'
export const MOST: Numbers = { uses: 400, each: 400, amount: 90_000 }

/** The caller with the credentials of an API to which the limited scope does not belong. */
const ANOTHER_API = 'another API'

/** A wallet with a session in one browser. */
export type Person = { wallet: TestWallet; session: string; cookie: string }

/** The service responds earlier, with 503 if it must. This only ends what hangs. */
const REQUEST_TIMEOUT_MS = 60_000
const FORM = 'application/x-www-form-urlencoded'

export class RecordedClient {
  readonly history: Entry[] = []
  readonly #origin: string
  readonly #apis: Apis
  #sessions = 0
  #actions = 0

  /** `origin` is the origin of the auth service's pages. */
  constructor(origin: string, apis: Apis) {
    this.#origin = origin
    this.#apis = apis
  }

  /**
   * Starts a new session by a real login: challenge, text, signature, verifier. Repeats the login until it succeeds, and calls
   * `nextWallet` before each attempt.
   */
  async signIn(node: ServiceNode, nextWallet: () => Promise<TestWallet>, client: AppClient): Promise<Person> {
    for (const since = now(); ; ) {
      const session = `session ${++this.#sessions}`
      const wallet = await nextWallet()
      const recordedRequest: RecordedRequest = { op: 'sign_in', wallet: wallet.address, session, client: client.id }
      const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
      const begin = now()
      const before = { ...node }
      try {
        await walk.signIn({ ...parametersOf(client), prompt: 'login' })
        this.#note(node, '', recordedRequest, { kind: 'done' }, begin, before)
        return { wallet, session, cookie: [...walk.cookies].map((pair) => pair.join('=')).join('; ') }
      } catch (error) {
        // The consent and the session may have been stored.
        this.#note(node, '', recordedRequest, { kind: 'lost', why: 'sign-in' }, begin, before)
        if (now() - since > REQUEST_TIMEOUT_MS) throw error
        await pause(100)
      }
    }
  }

  /**
   * Signs a limit in a new browser, and gets the code of the one grant that may draw from the limit. Repeats the whole login until it succeeds, and calls
   * `signer` before each attempt.
   */
  async signLimit(node: ServiceNode, signer: () => TestWallet, client: AppClient, limit: Numbers): Promise<string> {
    for (const since = now(); ; ) {
      const wallet = signer()
      const request = { ...parametersOf(client), resource: PURSE, scope: 'spend' }
      const chosen = { uses: String(limit.uses), each: inWords(limit.each), amount: inWords(limit.amount) }
      const { response } = await this.#browse(
        node,
        { op: 'sign_limit', wallet: wallet.address, client: client.id, limit },
        async () => {
          const { code } = await signInWith(new Walk({ authUrl: node.url } as Grantor, wallet), request, chosen)
          return code === '' ? { kind: 'lost', why: 'sign-in' } : { kind: 'code', code }
        },
      )
      if (response.kind === 'code') return response.code
      if (now() - since > REQUEST_TIMEOUT_MS) throw new Error('no limit was signed in time')
      await pause(100)
    }
  }

  /** Tries a login with the signature of a former owner of the wallet. */
  async signInAsFormer(node: ServiceNode, { wallet }: Person, client: AppClient): Promise<Entry> {
    const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
    const recordedRequest: RecordedRequest = { op: 'sign_in_as_former', wallet: wallet.address }
    const begin = now()
    const before = { ...node }
    const attempt = walk
      .challenge({ ...parametersOf(client), prompt: 'login' })
      .then((challenge) => walk.proof(challenge))
      .then((proof) => walk.loginApi('/login/accept', proof))
    const response = await withTimeout(REQUEST_TIMEOUT_MS, attempt).then(
      ({ status }): RecordedResponse =>
        status === 200
          ? { kind: 'done' }
          : status === 401
            ? { kind: 'refused', error: 'not_proven' }
            : { kind: 'lost', why: `${status}` },
      (error: unknown): RecordedResponse => ({ kind: 'lost', why: reasonOf(error) }),
    )
    return this.#note(node, '', recordedRequest, response, begin, before)
  }

  /** Requests a code with an existing session. */
  authorize(node: ServiceNode, { wallet, session, cookie }: Person, client: AppClient): Promise<Entry> {
    const path = `/oauth/authorize?${encode(parametersOf(client))}`
    const recordedRequest: RecordedRequest = { op: 'authorize', wallet: wallet.address, session, client: client.id }
    return this.#ask(node, '', recordedRequest, { path, headers: { cookie } }, ({ status, location }) => {
      const code = status === 302 ? new URL(location).searchParams.get('code') : null
      if (code !== null) return { kind: 'code', code }
      return status === 302 && location.includes('/login?login_challenge=') ? { kind: 'login' } : null
    })
  }

  redeem(node: ServiceNode, client: AppClient, code: string): Promise<Entry> {
    const verifier = client.secret === '' ? { code_verifier: CODE_VERIFIER } : {}
    const fields = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, ...verifier }
    return this.#post(node, client, '/oauth/token', fields, { op: 'redeem', code }, client.id, readTokens)
  }

  refresh(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    const fields = { grant_type: 'refresh_token', refresh_token: token }
    return this.#post(node, client, '/oauth/token', fields, { op: 'refresh', token }, client.id, readTokens)
  }

  introspect(node: ServiceNode, client: AppClient, token: string): Promise<Entry> {
    // A public client cannot introspect, so the resource API does.
    const caller = client.secret === '' ? RESOURCE_SERVER : client.id
    const credentials = client.secret === '' ? this.#apis.vault : client
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

  /** The name of a new action, for `ask` and `draw`. */
  newAction(): string {
    return `action-${++this.#actions}`
  }

  /** The API asks the user of the access token to sign one action. */
  ask(node: ServiceNode, token: string, key: string): Promise<Entry> {
    const fields = { token, scope: 'enhancement', key, summary: `Do ${key}`, digest: sha256(key) }
    return this.#post(
      node,
      this.#apis.vault,
      '/oauth/approvals',
      fields,
      { op: 'ask', token, key },
      RESOURCE_SERVER,
      (answer) => {
        if (answer.status === 200) return { kind: 'asked', approval: String(answer.json().approval_id) }
        return readRefusal(answer, ['token_inactive', 'too_many_approvals'])
      },
    )
  }

  /** A use by the API, or by another client. */
  use(node: ServiceNode, approval: string, attempt: string, client?: AppClient): Promise<Entry> {
    const fields = { approval_id: approval, attempt }
    const caller = client?.id ?? RESOURCE_SERVER
    return this.#post(
      node,
      client ?? this.#apis.vault,
      '/oauth/approvals/use',
      fields,
      { op: 'use', approval, attempt },
      caller,
      (answer) =>
        answer.status === 200 ? readUse(answer) : readRefusal(answer, ['already_used', 'not_approved', 'unknown_approval']),
    )
  }

  /** A draw by the API of the limit, or by another one. */
  draw(
    node: ServiceNode,
    token: string,
    { key, amount }: { key: string; amount: number },
    api: keyof Apis = 'purse',
  ): Promise<Entry> {
    const caller = api === 'purse' ? RESOURCE_SERVER : ANOTHER_API
    const fields = { token, key, amount: String(amount) }
    return this.#post(node, this.#apis[api], '/oauth/draw', fields, { op: 'draw', token, key, amount }, caller, (answer) =>
      answer.status === 200 ? readDrawn(answer) : readRefusal(answer, REFUSED_DRAWS),
    )
  }

  giveBack(node: ServiceNode, grantId: string, { key, amount }: { key: string; amount: number }): Promise<Entry> {
    const fields = { grant_id: grantId, key, amount: String(amount) }
    const recordedRequest: RecordedRequest = { op: 'give_back', grantId, key, amount }
    return this.#post(node, this.#apis.purse, '/oauth/draw/return', fields, recordedRequest, RESOURCE_SERVER, (answer) =>
      answer.status === 200
        ? { kind: 'returned', draw: Number(answer.json().draw) }
        : readRefusal(answer, ['already_returned', 'above_draw', 'unknown_draw']),
    )
  }

  /** The wallet of the grant signs in a browser without a session. `onProved` is called when the signature is proved, before the answer is stored. */
  sign(node: ServiceNode, wallet: TestWallet, approval: string, onProved?: () => void): Promise<Entry> {
    return this.#browse(node, { op: 'sign', approval }, async () => {
      const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
      const page = await this.#decide(walk, approval, 'sign')
      const target = movingTo(page)
      if (target === '') return readAnswered(page)
      const path = await walk.prove(parameterOf(target, 'login_challenge'))
      onProved?.()
      const answer = await walk.complete(path)
      return noticeOf(answer) === 'approval_signed' ? { kind: 'done' } : readAnswered(answer)
    })
  }

  decline(node: ServiceNode, approval: string): Promise<Entry> {
    return this.#browse(node, { op: 'decline', approval }, async () => {
      const page = await this.#decide(new Walk({ authUrl: node.url } as Grantor), approval, 'decline')
      // The answer before this one is shown by the page itself.
      return noticeOf(page) === 'approval_declined' ? { kind: 'done' } : page.status === 303 ? answeredBefore : readAnswered(page)
    })
  }

  #decide(walk: Walk, approval: string, decision: 'sign' | 'decline'): Promise<Answer> {
    return walk.postForm(`/approve/${approval}`, { decision }, { origin: this.#origin })
  }

  /** Several requests of one browser as one entry. */
  async #browse(node: ServiceNode, request: RecordedRequest, perform: () => Promise<RecordedResponse>): Promise<Entry> {
    const begin = now()
    const before = { ...node }
    const response = await withTimeout(REQUEST_TIMEOUT_MS, perform()).catch(
      (error: unknown): RecordedResponse => ({ kind: 'lost', why: reasonOf(error) }),
    )
    return this.#note(node, '', request, response, begin, before)
  }

  /** On the account page: ends the access of an app. */
  endApp(node: ServiceNode, { wallet, cookie }: Person, client: AppClient): Promise<Entry> {
    const recordedRequest: RecordedRequest = { op: 'end_app', wallet: wallet.address, client: client.id }
    return this.#ask(node, '', recordedRequest, this.#form('/account/apps/end', { client_id: client.id }, cookie), readEnding)
  }

  /** On the account page: ends every session of the wallet except this one. */
  endOthers(node: ServiceNode, { wallet, session, cookie }: Person): Promise<Entry> {
    const recordedRequest: RecordedRequest = { op: 'end_others', wallet: wallet.address, session }
    return this.#ask(node, '', recordedRequest, this.#form('/account/sessions/end-others', {}, cookie), readEnding)
  }

  /** Ends everything of a wallet by one signature, in a browser without a session. */
  endEverything(node: ServiceNode, { wallet }: Person): Promise<Entry> {
    return this.#browse(node, { op: 'end_everything', wallet: wallet.address }, async () => {
      const walk = new Walk({ authUrl: node.url } as Grantor, wallet)
      const page = await walk.postForm('/account/end-everything', {}, { origin: this.#origin })
      const answer = await walk.complete(await walk.prove(parameterOf(movingTo(page), 'login_challenge')))
      const ended = noticeOf(answer) === 'everything_ended'
      return ended ? { kind: 'done' } : { kind: 'lost', why: `${answer.status} ${noticeOf(answer)}` }
    })
  }

  signOut(node: ServiceNode, { wallet, session, cookie }: Person): Promise<Entry> {
    const recordedRequest: RecordedRequest = { op: 'sign_out', wallet: wallet.address, session }
    return this.#ask(node, '', recordedRequest, this.#form('/account/sign-out', {}, cookie), ({ status }) => {
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
    recordedRequest: RecordedRequest,
    caller: string,
    read: (answer: Answer) => RecordedResponse | null,
  ): Promise<Entry> {
    const headers = { 'content-type': FORM, ...(secret === '' ? {} : { authorization: basic(id, secret) }) }
    const body = encode({ ...fields, ...(secret === '' ? { client_id: id } : {}) })
    return this.#ask(node, caller, recordedRequest, { method: 'POST', path, headers, body }, (answer) => {
      if (answer.status === 400 && answer.json().error === 'invalid_grant') return { kind: 'refused', error: 'invalid_grant' }
      return read(answer)
    })
  }

  async #ask(
    node: ServiceNode,
    caller: string,
    recordedRequest: RecordedRequest,
    request: Request,
    read: (answer: Answer) => RecordedResponse | null,
  ): Promise<Entry> {
    const begin = now()
    const { offset, jumps } = node
    let response: RecordedResponse
    try {
      const answer = await withTimeout(REQUEST_TIMEOUT_MS, send(node.url, request))
      if (answer.status === 503) response = { kind: 'lost', why: '503' }
      else response = read(answer) ?? { kind: 'unexpected', status: answer.status, body: answer.body.slice(0, 300) }
    } catch (error) {
      response = { kind: 'lost', why: reasonOf(error) }
    }
    return this.#note(node, caller, recordedRequest, response, begin, { offset, jumps })
  }

  #note(
    node: ServiceNode,
    caller: string,
    request: RecordedRequest,
    response: RecordedResponse,
    begin: number,
    before: Pick<ServiceNode, 'offset' | 'jumps'>,
  ): Entry {
    // If the clock jumped more than once in between, its offset is unknown.
    const offset = node.jumps - before.jumps > 1 ? Number.NaN : node.offset
    const entry: Entry = { node: node.name, caller, request, response, begin, end: now(), offset: [before.offset, offset] }
    this.history.push(entry)
    return entry
  }
}

function parametersOf({ id, secret, redirectUri }: AppClient): Record<string, string> {
  return { client_id: id, redirect_uri: redirectUri, ...(secret === '' ? PKCE : {}) }
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message
}

function readEnding({ status }: Answer): RecordedResponse | null {
  return status === 303 ? { kind: 'done' } : status === 401 ? { kind: 'refused', error: 'no session' } : null
}

function readTokens(answer: Answer): RecordedResponse | null {
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

const REFUSED_DRAWS = ['token_inactive', 'not_yours', 'key_used', 'each_exceeded', 'uses_exceeded', 'amount_exceeded']

function readDrawn(answer: Answer): RecordedResponse {
  const { draw, left, until } = answer.json()
  const { uses, amount } = left as Numbers
  return { kind: 'drawn', draw: Number(draw), uses, amount, until: Number(until) }
}

/** An amount with two decimals, as a user types it. */
const inWords = (amount: number): string => (amount / 100).toFixed(2)

const answeredBefore: RecordedResponse = { kind: 'refused', error: 'answered before' }

/** A page that shows why an approval cannot be answered. */
function readAnswered(page: Answer): RecordedResponse {
  const notice = noticeOf(page)
  const isRefused = page.status < 500 && notice.startsWith('approval_')
  return isRefused ? { kind: 'refused', error: notice } : { kind: 'lost', why: `${page.status} ${notice}` }
}

/** The error of the response, or for an approval that cannot be used its state. */
function readRefusal(answer: Answer, possible: readonly string[]): RecordedResponse | null {
  const { error, state } = answer.json()
  return possible.includes(String(error)) ? { kind: 'refused', error: String(state ?? error) } : null
}

function readUse(answer: Answer): RecordedResponse | null {
  const { approval_id, used_at, receipt } = answer.json()
  if (receipt === null) return null
  return {
    kind: 'used',
    approval: String(approval_id),
    usedAt: Number(used_at),
    address: (receipt as { address: string }).address,
    receipt: JSON.stringify(receipt),
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

async function withTimeout<Result>(ms: number, promise: Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const late = pause(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error('no response in time')
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    over.abort()
  }
}
