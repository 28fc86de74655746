/** Short histories, told for the checker's own tests. */
import { checkHistory } from './check-history.ts'
import type { Asked, Entry, Tokens, Told } from './history.ts'

export const RULES = {
  codeLifetime: 60,
  refreshRetryWindow: (client: string) => (client === 'public app' ? 10 : 60),
  signed: new Set(['signed app']),
  settling: 50,
}
const START = 1_800_000_000_000
export const ALICE = '0xA11cE'
export const BOB = '0xB0b'

/** A history in the making: each call is one request after the other, unless it says when. */
export class Story {
  readonly entries: Entry[] = []
  #time = START

  /** `at` and `took` in milliseconds since the start; one after the other where absent */
  tell(
    caller: string,
    asked: Asked,
    told: Told,
    { at, took = 5, offset = 0 }: { at?: number; took?: number; offset?: number } = {},
  ): this {
    const begin = at === undefined ? this.#time + 1 : START + at
    const end = begin + took
    this.#time = Math.max(this.#time, end)
    this.entries.push({ node: 'node', caller, asked, told, begin, end, offset: [offset, offset] })
    return this
  }

  code(code = 'c', wallet = ALICE, client = 'app', session = 's'): this {
    return this.tell('', { op: 'authorize', wallet, session, client }, { kind: 'code', code })
  }

  redeem(told: Told = tokens(0), when = {}, code = 'c', caller = 'app'): this {
    return this.tell(caller, { op: 'redeem', code }, told, when)
  }

  refresh(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'refresh', token }, told, when)
  }

  introspect(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'introspect', token }, told, when)
  }

  revoke(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'revoke', token }, told, when)
  }

  /** in session `s`, unless it names another */
  signIn(client = 'app', told: Told = done, session = 's'): this {
    return this.tell('', { op: 'sign_in', wallet: ALICE, session, client }, told)
  }

  authorize(client: string, told: Told, session = 's'): this {
    return this.tell('', { op: 'authorize', wallet: ALICE, session, client }, told)
  }

  changeOwner(when = {}): this {
    return this.tell('', { op: 'change_owner', wallet: ALICE }, done, when)
  }

  asFormer(told: Told): this {
    return this.tell('', { op: 'sign_in_as_former', wallet: ALICE }, told)
  }

  /** for a second, from `at` on */
  chainBroken(at: number): this {
    return this.tell('', { op: 'chain_broken' }, done, { at, took: 1000 })
  }

  endEverything(told: Told = done, when = {}): this {
    return this.tell('', { op: 'end_everything', wallet: ALICE }, told, when)
  }

  endOthers(kept: string, told: Told = done): this {
    return this.tell('', { op: 'end_others', wallet: ALICE, session: kept }, told)
  }

  endApp(told: Told, when = {}): this {
    return this.tell('', { op: 'end_app', wallet: ALICE, client: 'app' }, told, when)
  }

  /** the invariants that are broken, each once, in order of their names */
  get broken(): string[] {
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

export const refused: Told = { kind: 'refused', error: 'invalid_grant' }
export const lost: Told = { kind: 'lost', why: 'ECONNRESET' }
export const done: Told = { kind: 'done' }
export const code: Told = { kind: 'code', code: 'c' }
export const login: Told = { kind: 'login' }
export const active = { kind: 'active' as const, sub: ALICE, clientId: 'app' }
export const inactive: Told = { kind: 'inactive' }

export const ofPublic = { clientId: 'public app' }
export const story = () => new Story()
export const granted = () => story().code().redeem()
/** the same, of a session of which it is known who signed for it */
export const held = () => story().signIn().code().redeem()
