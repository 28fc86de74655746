/** Short histories for the checker's own tests. */
import { checkHistory } from './check-history.ts'
import { type Entry, RESOURCE_SERVER, type RecordedRequest, type RecordedResponse, type Tokens } from './history.ts'

export const RULES = {
  codeLifetime: 60,
  refreshRetryWindow: (client: string) => (client === 'public app' ? 10 : 60),
  signed: new Set(['signed app']),
  receiptsRead: 3,
  settling: 50,
}
const START = 1_800_000_000_000
const LIMIT = { uses: 3, each: 40, amount: 100 }
const TODAY = START / 1000 + 86_400
/** The end of the second period. */
export const TOMORROW = TODAY + 86_400
export const ALICE = '0xA11cE'
export const BOB = '0xB0b'

/** Builds a history. Each call adds one request after the last, unless `at` is given. */
export class HistoryBuilder {
  readonly entries: Entry[] = []
  #time = START

  /** `at`: milliseconds since the start. `took`: duration in milliseconds. */
  record(
    caller: string,
    request: RecordedRequest,
    response: RecordedResponse,
    { at, took = 5, offset = 0 }: { at?: number; took?: number; offset?: number } = {},
  ): this {
    const begin = at === undefined ? this.#time + 1 : START + at
    const end = begin + took
    this.#time = Math.max(this.#time, end)
    this.entries.push({ node: 'node', caller, request, response, begin, end, offset: [offset, offset] })
    return this
  }

  code(code = 'c', wallet = ALICE, client = 'app', session = 's'): this {
    return this.record('', { op: 'authorize', wallet, session, client }, { kind: 'code', code })
  }

  redeem(response: RecordedResponse = tokens(0), when = {}, code = 'c', caller = 'app'): this {
    return this.record(caller, { op: 'redeem', code }, response, when)
  }

  refresh(token: string, response: RecordedResponse, when = {}, caller = 'app'): this {
    return this.record(caller, { op: 'refresh', token }, response, when)
  }

  introspect(token: string, response: RecordedResponse, when = {}, caller = 'app'): this {
    return this.record(caller, { op: 'introspect', token }, response, when)
  }

  revoke(token: string, response: RecordedResponse, when = {}, caller = 'app'): this {
    return this.record(caller, { op: 'revoke', token }, response, when)
  }

  ask(token = 'a0', response: RecordedResponse = asked, when = {}, key = 'k'): this {
    return this.record(RESOURCE_SERVER, { op: 'ask', token, key }, response, when)
  }

  sign(response: RecordedResponse = done, when = {}): this {
    return this.record('', { op: 'sign', approval: 'p' }, response, when)
  }

  decline(response: RecordedResponse = done, when = {}): this {
    return this.record('', { op: 'decline', approval: 'p' }, response, when)
  }

  use(attempt: string, response: RecordedResponse, when = {}, caller = RESOURCE_SERVER): this {
    return this.record(caller, { op: 'use', approval: 'p', attempt }, response, when)
  }

  signLimit(client = 'app', response = code): this {
    return this.record('', { op: 'sign_limit', wallet: ALICE, client, limit: LIMIT }, response)
  }

  draw(key: string, amount: number, response: RecordedResponse, when = {}, caller = RESOURCE_SERVER): this {
    return this.record(caller, { op: 'draw', token: 'a0', key, amount }, response, when)
  }

  giveBack(key: string, amount: number, response: RecordedResponse, when = {}): this {
    return this.record(RESOURCE_SERVER, { op: 'give_back', grantId: 'g', key, amount }, response, when)
  }

  /** in session `s`, unless another is given */
  signIn(client = 'app', response: RecordedResponse = done, session = 's'): this {
    return this.record('', { op: 'sign_in', wallet: ALICE, session, client }, response)
  }

  authorize(client: string, response: RecordedResponse, session = 's'): this {
    return this.record('', { op: 'authorize', wallet: ALICE, session, client }, response)
  }

  changeOwner(when = {}): this {
    return this.record('', { op: 'change_owner', wallet: ALICE }, done, when)
  }

  asFormer(response: RecordedResponse): this {
    return this.record('', { op: 'sign_in_as_former', wallet: ALICE }, response)
  }

  /** RPC failures for a second, from `at` on */
  chainBroken(at: number): this {
    return this.record('', { op: 'chain_broken' }, done, { at, took: 1000 })
  }

  endEverything(response: RecordedResponse = done, when = {}): this {
    return this.record('', { op: 'end_everything', wallet: ALICE }, response, when)
  }

  endOthers(kept: string, response: RecordedResponse = done): this {
    return this.record('', { op: 'end_others', wallet: ALICE, session: kept }, response)
  }

  endApp(response: RecordedResponse, when = {}): this {
    return this.record('', { op: 'end_app', wallet: ALICE, client: 'app' }, response, when)
  }

  /** the names of the violated invariants, each once, sorted */
  get violated(): string[] {
    return [...new Set(checkHistory(this.entries, RULES).map(({ invariant }) => invariant))].sort()
  }
}

export function tokens(generation: number, more: Partial<Tokens> = {}): Tokens {
  return {
    kind: 'tokens',
    access: `a${generation}`,
    refresh: `r${generation}`,
    sub: ALICE,
    clientId: 'app',
    grantId: 'g',
    expiresAt: START / 1000 + 600,
    ...more,
  }
}

export const refused: RecordedResponse = { kind: 'refused', error: 'invalid_grant' }
export const lost: RecordedResponse = { kind: 'lost', why: 'ECONNRESET' }
export const done: RecordedResponse = { kind: 'done' }
export const code: RecordedResponse = { kind: 'code', code: 'c' }
export const login: RecordedResponse = { kind: 'login' }
export const active = { kind: 'active' as const, sub: ALICE, clientId: 'app' }
export const inactive: RecordedResponse = { kind: 'inactive' }

export const asked: RecordedResponse = { kind: 'asked', approval: 'p' }
export const used = {
  kind: 'used' as const,
  approval: 'p',
  usedAt: START / 1000,
  address: ALICE,
  receipt: 'the signed text for k',
}
/** the refusal of a use: `already_used`, `unknown_approval`, or the state of an approval that cannot be used */
export const notUsed = (error: string): RecordedResponse => ({ kind: 'refused', error })

/** `uses`, `amount`: what is left of the three uses and the amount of 100. */
export const drawn = (draw: number, uses: number, amount: number, until = TODAY): RecordedResponse => ({
  kind: 'drawn',
  draw,
  uses,
  amount,
  until,
})
export const returned = (draw: number): RecordedResponse => ({ kind: 'returned', draw })
/** the refusal of a draw or a return */
export const notDrawn = (error: string): RecordedResponse => ({ kind: 'refused', error })

export const ofPublic = { clientId: 'public app' }
export const emptyHistory = () => new HistoryBuilder()
export const historyWithGrant = () => emptyHistory().code().redeem()
/** the same, with the sign-in that started the session */
export const historyWithSignIn = () => emptyHistory().signIn().code().redeem()
export const historyWithQuestion = () => historyWithGrant().ask()
export const historyWithSignature = () => historyWithQuestion().sign()
export const historyWithLimit = () => emptyHistory().signLimit().redeem()
