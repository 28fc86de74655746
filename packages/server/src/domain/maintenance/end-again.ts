/**
 * Finds what a restored or promoted database lacks, by comparison with the log of the servers. Ends again what ended according to the log.
 *
 * Every ending of the log is compared with the rows themselves. The line of the ending in the audit trail proves nothing: the trail can be on
 * another machine than the row, and a line that could not be stored at once is stored later.
 */
import { randomUUID } from 'node:crypto'
import { type Address, shortenAddress } from '../../protocol/wallet/address.ts'
import type { WaitingBatch, WaitingBatchStore } from '../model/audit-store.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import { PAGE, pagesOf, selected } from '../model/pages.ts'
import type { Grant, Receipt, Session } from '../model/records.ts'
import { LATE_BY_AT_MOST } from '../model/request-store.ts'
import type { Store } from '../model/store.ts'
import { textIdOf } from '../model/text-id.ts'
import { type Effect, effectOf, type LoggedLine, type ParseTime, parseLogLine } from './log-lines.ts'

/** Seconds by which the clock of a server may differ from that of the database. */
export const CLOCKS_DIFFER = 600
/** Lines with an id, or with an effect, in memory: a few hundred bytes each. */
const LINES_AT_MOST = 2_000_000
/** Characters of an unreadable line that are shown. */
const SHOWN_AT_MOST = 300

export class TooManyLines extends Error {
  override readonly name = 'TooManyLines'
}

export type Comparison = {
  /** lines of the audit log */
  lines: number
  /** the time of the first line and of the last line, in epoch seconds; null without a line */
  from: number | null
  until: number | null
  /** lines of the audit log that are cut or changed, which can be endings, and the first of them */
  unreadable: number
  firstUnreadable: string | null
  /** lines that the audit trail lacks */
  missing: number
  /** what was active although the log has a line of its end */
  revived: { grants: number; sessions: number; receipts: number; tokens: number }
  /** the lines of acts that operators must repeat */
  acts: string[]
}

export type ComparisonParts = {
  store: Pick<Store, 'grants' | 'sessions' | 'receipts' | 'wallets' | 'spent' | 'audit' | 'restorations' | 'startReading'>
  /** the audit lines that wait outside of the chain; null if the database is one machine */
  waiting: Pick<WaitingBatchStore, 'read'> | null
  now: () => number
}

/** The content of the log, in its order. */
export type Log = Pick<Comparison, 'lines' | 'from' | 'until' | 'unreadable' | 'firstUnreadable'> & {
  ids: Set<string>
  effects: LoggedLine[]
}

export async function readLog(texts: AsyncIterable<string>, parseTime: ParseTime): Promise<Log> {
  const log: Log = { lines: 0, from: null, until: null, unreadable: 0, firstUnreadable: null, ids: new Set(), effects: [] }
  for await (const text of texts) {
    const line = parseLogLine(text, parseTime)
    if (!line) continue
    if (line === 'unreadable') {
      log.unreadable++
      log.firstUnreadable ??= text.slice(0, SHOWN_AT_MOST)
      continue
    }
    log.lines++
    log.from = Math.min(log.from ?? line.at, line.at)
    log.until = Math.max(log.until ?? line.at, line.at)
    if (line.auditId !== undefined) log.ids.add(line.auditId)
    const effect = effectOf(line)
    if (effect !== 'none') log.effects.push({ ...line, text: isListed(line, effect) ? copyOf(line.text) : '' })
    if (log.ids.size + log.effects.length > LINES_AT_MOST) throw new TooManyLines()
  }
  return log
}

/** `ends`: whether what is active is ended. Otherwise nothing is changed. */
export async function compareWithLog(parts: ComparisonParts, log: Log, { ends }: { ends: boolean }): Promise<Comparison> {
  const { store } = parts
  const confirm = await store.startReading()
  const stored = await findLines(parts, log)
  const comparing = new Comparing({ ...parts, ends })
  const acts: string[] = []
  for (const line of log.effects) {
    const inTrail = line.auditId === undefined ? undefined : stored.get(line.auditId)
    // The time of a line in the trail is the database's.
    const until = inTrail ? inTrail.at + LATE_BY_AT_MOST : line.at + CLOCKS_DIFFER
    if (await comparing.mustRepeat(line, { until, inTrail })) acts.push(line.text)
  }
  await comparing.compareWallets()
  await confirm()
  const { lines, from, until, unreadable, firstUnreadable, ids } = log
  const missing = ids.size - stored.size
  return { lines, from, until, unreadable, firstUnreadable, missing, revived: comparing.revived, acts }
}

/** What the trail has of a line, which is more than the log has. */
type InTrail = { at: number; wallet: Address | null; clientId: string | null }

/** The lines of the log that are in the audit trail, or wait outside of the chain; null for a line without an effect. */
async function findLines(
  { store: { audit }, waiting }: ComparisonParts,
  { ids, from, effects }: Log,
): Promise<Map<string, InTrail | null>> {
  const found = new Map<string, InTrail | null>()
  const withEffect = new Set(effects.map(({ auditId }) => auditId))
  const note = (line: string, { at, wallet, clientId }: InTrail) => {
    const id = /"id":"([\w-]+)"/.exec(line)?.[1]
    if (id !== undefined && ids.has(id)) found.set(id, withEffect.has(id) ? { at, wallet, clientId } : null)
  }
  if (from === null) return found
  const since = from - CLOCKS_DIFFER
  const trail = pagesOf<InTrail & { seq: number; line: string }>(({ limit, after }) =>
    audit.searchLines({ since }, { limit, before: after }),
  )
  for await (const page of trail) for (const line of page) note(line.line, line)
  const batches = pagesOf<WaitingBatch>(async ({ limit, after = FIRST_BATCH }) => (await waiting?.read({ after, limit })) ?? [])
  for await (const page of batches)
    for (const { at, lines } of page)
      for (const [line] of lines.matchAll(ID_WITHIN)) note(line.replaceAll('\\', ''), { at, wallet: null, clientId: null })
  return found
}

/** Whether an operator may have to read the line. */
const isListed = (line: LoggedLine, effect: Effect): boolean =>
  effect === 'act' || effect === 'grants_act' || effect === 'client_token' || !namesSubject(line, effect)

/** Whether the line names what ended. The line of `store_lost_a_write` need not. */
function namesSubject({ event, grantId, wallet }: LoggedLine, effect: Effect): boolean {
  if (effect === 'grant') return grantId !== undefined || event === 'store_lost_a_write'
  return wallet !== undefined
}

/** A line that was read from a stream is part of a longer text, which would stay in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString()

/** The id of a line within the text of a batch, whose quotes are escaped. */
const ID_WITHIN = /\\"id\\":\\"[\w-]+\\"/g
const FIRST_BATCH = { series: '', position: 0 }

/** What began at `until` or later began after the event. */
type KnownLine = { until: number; inTrail: InTrail | null | undefined }
type Wanted = Partial<Record<'grants' | 'sessions' | 'receipts', true>>

const WANTED = {
  allowed: { grants: true, receipts: true },
  sessions: { sessions: true },
  replaced_session: { sessions: true },
  everything: { grants: true, sessions: true, receipts: true },
} as const satisfies Partial<Record<Effect, Wanted>>

type DueWallet = { wallet: Address; line: LoggedLine; known: KnownLine; wanted: Wanted }

class Comparing {
  readonly revived: Comparison['revived'] = { grants: 0, sessions: 0, receipts: 0, tokens: 0 }
  readonly #parts: ComparisonParts & { ends: boolean }
  readonly #seen = new Set<string>()
  readonly #wallets = new Map<string, Promise<Address[]>>()
  readonly #due = new Map<string, DueWallet>()

  constructor(parts: ComparisonParts & { ends: boolean }) {
    this.#parts = parts
  }

  /** Compares one line. Returns whether an operator must repeat the act of the line. */
  async mustRepeat(line: LoggedLine, known: KnownLine): Promise<boolean> {
    const effect = effectOf(line)
    switch (effect) {
      case 'grant':
        return line.grantId === undefined ? !namesSubject(line, effect) : this.#compareGrant(line.grantId)
      case 'client_token':
        return this.#compareToken(line)
      case 'act':
        return !known.inTrail
      case 'grants_act':
        return !known.inTrail || this.#hasGrants(line, known)
      case 'none':
        return false
      default:
        if (effect === 'replaced_session' && known.inTrail) return false
        if (!namesSubject(line, effect)) return true
        for (const wallet of await this.#walletsOf(line, known.inTrail))
          this.#noteDue(effect, { wallet, line, known, wanted: WANTED[effect] })
        return false
    }
  }

  /** The last one of the lines of a wallet ends all that the others end. One wallet can cause thousands of lines. */
  #noteDue(effect: Effect, due: DueWallet): void {
    const { wallet, line, known } = due
    const key = `${effect} ${wallet} ${line.clientId ?? known.inTrail?.clientId ?? ''}`
    const other = this.#due.get(key)
    if (!other || other.known.until < known.until) this.#due.set(key, due)
  }

  /** Compares the wallets of all lines. */
  async compareWallets(): Promise<void> {
    for (const due of this.#due.values()) await this.#compareWallet(due)
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
    if (this.#parts.ends) await store.grants.endGrant(grantId, 'restored', now())
    return false
  }

  /** A line whose client the log shortened does not name the token: the keys of the client's tokens must be replaced. */
  async #compareToken({ clientId, jti }: LoggedLine): Promise<boolean> {
    const { store, now } = this.#parts
    if (clientId === undefined || jti === undefined) return true
    const hash = hashOfUse(clientId, jti)
    if (!this.#isNew(`token ${hash}`) || (await store.spent.readSpent('access_token', hash))) return false
    this.revived.tokens++
    if (this.#parts.ends) await store.spent.revokeClientToken({ hash, attemptId: randomUUID(), at: now(), clientId })
    return false
  }

  /**
   * Whether grants of the client, or of the wallet, are active that began before the event. Without either, it is unknown. If an operator ended
   * the grants of one wallet, its receipts count too.
   */
  async #hasGrants(line: LoggedLine, known: KnownLine): Promise<boolean> {
    const { grants, receipts } = this.#parts.store
    const { clientId } = line
    const isOlder = ({ createdAt }: Grant) => createdAt <= known.until
    if (line.wallet === undefined) {
      if (clientId === undefined) return true
      const [oldest] = await grants.listGrants({ clientId, unended: true, order: 'oldest', limit: 1 })
      return oldest !== undefined && isOlder(oldest)
    }
    for (const wallet of await this.#walletsOf(line, known.inTrail)) {
      const pages = pagesOf<Grant>((page) => grants.listUnendedGrants({ wallet, clientId, ...page }))
      if (!(await selected(pages, isOlder).next()).done) return true
      if (line.reason !== 'operator') continue
      const signed = pagesOf<Receipt>((page) => receipts.listReceipts(wallet, { clientId, ...page }))
      if (!(await selected(signed, ({ issuedAt }) => issuedAt <= known.until).next()).done) return true
    }
    return false
  }

  /** One wallet, if the trail has the line. Otherwise an attacker could end what another wallet has, with an address that is shortened alike. */
  #walletsOf({ wallet: shortened }: LoggedLine, inTrail?: InTrail | null): Promise<Address[]> | Address[] {
    if (shortened === undefined) return []
    if (inTrail?.wallet && shortenAddress(inTrail.wallet) === shortened) return [inTrail.wallet]
    const found = this.#wallets.get(shortened) ?? this.#parts.store.restorations.findShortened(shortened)
    this.#wallets.set(shortened, found)
    return found
  }

  /**
   * Ends what the wallet had before the event, between two raises of the epoch as in `../consent/end-grants.ts`. Another wallet with the same
   * shortened address is treated in the same way.
   */
  async #compareWallet({ wallet, line: { clientId }, known: { until, inTrail }, wanted }: DueWallet): Promise<void> {
    const { store, now } = this.#parts
    // The log does not have each client, but the trail does.
    const isOfClient = (row: { clientId: string }) =>
      clientId !== undefined || !inTrail?.clientId || textIdOf(row.clientId) === inTrail.clientId
    const receipts = await rowsOf<Receipt>(
      wanted.receipts,
      (page) => store.receipts.listReceipts(wallet, { clientId, ...page }),
      (row) => row.issuedAt <= until && isOfClient(row),
    )
    const sessions = await rowsOf<Session>(
      wanted.sessions,
      (page) => store.sessions.listSessions(wallet, { at: now(), ...page }),
      ({ authTime }) => authTime <= until,
    )
    const grants = await rowsOf<Grant>(
      wanted.grants,
      (page) => store.grants.listUnendedGrants({ wallet, clientId, ...page }),
      (row) => row.createdAt <= until && isOfClient(row),
    )
    const revived = { receipts, sessions, grants }
    for (const kind of ['receipts', 'sessions', 'grants'] as const)
      this.revived[kind] += revived[kind].filter((row) => this.#isNew(`${kind} ${'hash' in row ? row.hash : row.id}`)).length
    if (!this.#parts.ends || receipts.length + sessions.length + grants.length === 0) return
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
