/**
 * Finds what a restored or promoted database lacks, by comparison with the log of the servers, and ends again what the log says ended.
 *
 * Every ending of the log is compared with the rows themselves. The line of the ending in the audit trail proves nothing: the trail can be on
 * another machine than the row, and a line that could not be stored at once is stored later.
 */
import { randomUUID } from 'node:crypto'
import type { Address } from '../../wallet/address.ts'
import type { WaitingBatch } from '../model/audit-store.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import { PAGE, pagesOf, selected } from '../model/pages.ts'
import type { Grant, Receipt, Session } from '../model/records.ts'
import { LATE_BY_AT_MOST } from '../model/request-store.ts'
import type { Store } from '../model/store.ts'
import { type Effect, effectOf, type LoggedLine, type ParseTime, parseLogLine } from './log-lines.ts'

/** Seconds by which the clock of a server may differ from that of the database. */
export const CLOCKS_DIFFER = 600
/** Lines with an id, or with an effect, in memory: a few hundred bytes each. */
const LINES_AT_MOST = 2_000_000

export class TooManyLines extends Error {
  override readonly name = 'TooManyLines'
}

export type Comparison = {
  /** lines of the audit log */
  lines: number
  /** the time of the first line and of the last line, in epoch seconds; null without a line */
  from: number | null
  until: number | null
  /** lines that the audit trail lacks */
  missing: number
  /** what was active although the log says that it ended */
  revived: { grants: number; sessions: number; receipts: number; tokens: number }
  /** the lines of acts that operators must repeat */
  acts: string[]
}

export type ComparisonParts = {
  store: Pick<
    Store,
    'grants' | 'sessions' | 'receipts' | 'wallets' | 'spent' | 'audit' | 'waitingBatches' | 'restorations' | 'startReading'
  >
  now: () => number
}

/** What the log says, in the order of the log. */
export type Log = Pick<Comparison, 'lines' | 'from' | 'until'> & { ids: Set<string>; effects: LoggedLine[] }

export async function readLog(texts: AsyncIterable<string>, parseTime: ParseTime): Promise<Log> {
  const log: Log = { lines: 0, from: null, until: null, ids: new Set(), effects: [] }
  for await (const text of texts) {
    const line = parseLogLine(text, parseTime)
    if (!line) continue
    log.lines++
    log.from = Math.min(log.from ?? line.at, line.at)
    log.until = Math.max(log.until ?? line.at, line.at)
    if (line.auditId !== undefined) log.ids.add(line.auditId)
    if (effectOf(line) !== 'none') log.effects.push(line)
    if (log.ids.size + log.effects.length > LINES_AT_MOST) throw new TooManyLines()
  }
  return log
}

/** `ends`: whether what is active is ended. Otherwise nothing is changed. */
export async function compareWithLog(parts: ComparisonParts, log: Log, { ends }: { ends: boolean }): Promise<Comparison> {
  const { store } = parts
  const confirm = await store.startReading()
  const timeOf = await findLines(store, log)
  const comparing = new Comparing(parts, ends)
  const acts: string[] = []
  for (const line of log.effects) {
    const storedAt = line.auditId === undefined ? undefined : timeOf.get(line.auditId)
    // The time of a line in the trail is the database's.
    const until = storedAt === undefined ? line.at + CLOCKS_DIFFER : storedAt + LATE_BY_AT_MOST
    const isMissing = line.auditId !== undefined && storedAt === undefined
    if (await comparing.mustRepeat(line, { until, isMissing })) acts.push(line.text)
  }
  await confirm()
  const { lines, from, until, ids } = log
  return { lines, from, until, missing: ids.size - timeOf.size, revived: comparing.revived, acts }
}

/** The times of the lines of the log that are in the audit trail, or wait outside of the chain. */
async function findLines({ audit, waitingBatches }: ComparisonParts['store'], { ids, from }: Log): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const note = (line: string, at: number) => {
    const id = /"id":"([\w-]+)"/.exec(line)?.[1]
    if (id !== undefined && ids.has(id)) found.set(id, at)
  }
  if (from === null) return found
  const since = from - CLOCKS_DIFFER
  const trail = pagesOf<{ at: number; seq: number; line: string }>(({ limit, after }) =>
    audit.searchLines({ since }, { limit, before: after }),
  )
  for await (const page of trail) for (const { line, at } of page) note(line, at)
  const batches = waitingBatches()
  const waiting = pagesOf<WaitingBatch>(async ({ limit, after = FIRST_BATCH }) => (await batches?.read({ after, limit })) ?? [])
  for await (const page of waiting)
    for (const { at, lines } of page) for (const [line] of lines.matchAll(ID_WITHIN)) note(line.replaceAll('\\', ''), at)
  return found
}

/** The id of a line within the text of a batch, whose quotes are escaped. */
const ID_WITHIN = /\\"id\\":\\"[\w-]+\\"/g
const FIRST_BATCH = { series: '', position: 0 }

/** What began at `until` or later began after the event. */
type Known = { until: number; isMissing: boolean }
type Wanted = Partial<Record<'grants' | 'sessions' | 'receipts', true>>

const WANTED = {
  allowed: { grants: true, receipts: true },
  sessions: { sessions: true },
  replaced_session: { sessions: true },
  everything: { grants: true, sessions: true, receipts: true },
} as const satisfies Partial<Record<Effect, Wanted>>

class Comparing {
  readonly revived: Comparison['revived'] = { grants: 0, sessions: 0, receipts: 0, tokens: 0 }
  readonly #parts: ComparisonParts
  readonly #ends: boolean
  readonly #seen = new Set<string>()
  readonly #wallets = new Map<string, Promise<Address[]>>()

  constructor(parts: ComparisonParts, ends: boolean) {
    this.#parts = parts
    this.#ends = ends
  }

  /** Compares one line. Returns whether an operator must repeat what the line says. */
  async mustRepeat(line: LoggedLine, known: Known): Promise<boolean> {
    const effect = effectOf(line)
    switch (effect) {
      case 'grant':
        return line.grantId !== undefined && this.#compareGrant(line.grantId)
      case 'client_token':
        return this.#compareToken(line)
      case 'act':
        return known.isMissing
      case 'grants_act':
        return known.isMissing || this.#hasGrants(line, known.until)
      case 'none':
        return false
      default:
        if (effect === 'replaced_session' && !known.isMissing) return false
        for (const wallet of await this.#walletsOf(line)) await this.#compareWallet(wallet, line, known, WANTED[effect])
        return false
    }
  }

  /** Many lines can concern one row, and its first comparison has ended it. */
  #isNew(key: string): boolean {
    const isNew = !this.#seen.has(key)
    this.#seen.add(key)
    return isNew
  }

  async #compareGrant(grantId: string): Promise<false> {
    const { store, now } = this.#parts
    const grant = this.#isNew(`grant ${grantId}`) ? await store.grants.readGrant(grantId) : null
    if (!grant || grant.endedAt !== null) return false
    this.revived.grants++
    if (this.#ends) await store.grants.endGrant(grantId, 'restored', now())
    return false
  }

  /** A line of an earlier version does not name the token: the keys of the client's tokens must be replaced. */
  async #compareToken({ clientId, jti }: LoggedLine): Promise<boolean> {
    const { store, now } = this.#parts
    if (clientId === undefined || jti === undefined) return true
    const hash = hashOfUse(clientId, jti)
    if (!this.#isNew(`token ${hash}`) || (await store.spent.readSpent('access_token', hash))) return false
    this.revived.tokens++
    if (this.#ends) await store.spent.revokeClientToken({ hash, attemptId: randomUUID(), at: now() })
    return false
  }

  /** Whether grants of the client, or of the wallet, are active that began before the event. Without either, it is unknown. */
  async #hasGrants(line: LoggedLine, until: number): Promise<boolean> {
    const { grants } = this.#parts.store
    const { clientId } = line
    const isOlder = ({ createdAt }: Grant) => createdAt <= until
    if (line.wallet === undefined) {
      if (clientId === undefined) return true
      const [oldest] = await grants.listGrants({ clientId, unended: true, order: 'oldest', limit: 1 })
      return oldest !== undefined && isOlder(oldest)
    }
    for (const wallet of await this.#walletsOf(line)) {
      const pages = pagesOf<Grant>((page) => grants.listUnendedGrants({ wallet, clientId, ...page }))
      if (!(await selected(pages, isOlder).next()).done) return true
    }
    return false
  }

  #walletsOf({ wallet: shortened }: LoggedLine): Promise<Address[]> | Address[] {
    if (shortened === undefined) return []
    const found = this.#wallets.get(shortened) ?? this.#parts.store.restorations.findShortened(shortened)
    this.#wallets.set(shortened, found)
    return found
  }

  /**
   * Ends what the wallet had before the event, between two raises of the epoch as in `../consent/end-grants.ts`. Another wallet with the same
   * shortened address is treated in the same way.
   */
  async #compareWallet(wallet: Address, { clientId: named, event }: LoggedLine, { until }: Known, wanted: Wanted): Promise<void> {
    const { store, now } = this.#parts
    // The client of a sign-in is not the client of the session.
    const clientId = event === 'session_started' ? undefined : named
    const receipts = await rowsOf<Receipt>(
      wanted.receipts,
      (page) => store.receipts.listReceipts(wallet, { clientId, ...page }),
      ({ issuedAt }) => issuedAt <= until,
    )
    const sessions = await rowsOf<Session>(
      wanted.sessions,
      (page) => store.sessions.listSessions(wallet, { at: now(), ...page }),
      ({ authTime }) => authTime <= until,
    )
    const grants = await rowsOf<Grant>(
      wanted.grants,
      (page) => store.grants.listUnendedGrants({ wallet, clientId, ...page }),
      ({ createdAt }) => createdAt <= until,
    )
    const revived = { receipts, sessions, grants }
    for (const kind of ['receipts', 'sessions', 'grants'] as const)
      this.revived[kind] += revived[kind].filter((row) => this.#isNew(`${kind} ${'hash' in row ? row.hash : row.id}`)).length
    if (!this.#ends || receipts.length + sessions.length + grants.length === 0) return
    await store.wallets.raiseEpoch(wallet)
    for (const ids of pagesOfIds(receipts.map(({ id }) => id))) await store.receipts.withdrawReceipts(wallet, ids, now())
    for (const hashes of pagesOfIds(sessions.map(({ hash }) => hash)))
      await store.sessions.endSessions(hashes, randomUUID(), now())
    await store.wallets.raiseEpoch(wallet)
    for (const ids of pagesOfIds(grants.map(({ id }) => id)))
      await store.grants.endGrants(ids, { attemptId: randomUUID(), at: now(), reason: 'restored' })
  }
}

const pagesOfIds = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / PAGE) }, (_, page) => ids.slice(page * PAGE, (page + 1) * PAGE))

async function rowsOf<Row>(
  isWanted: true | undefined,
  read: Parameters<typeof pagesOf<Row>>[0],
  isOlder: (row: Row) => boolean,
): Promise<Row[]> {
  if (!isWanted) return []
  const rows: Row[] = []
  for await (const page of selected(pagesOf<Row>(read), isOlder)) rows.push(...page)
  return rows
}
