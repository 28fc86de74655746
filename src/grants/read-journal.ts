/**
 * Reads a journal, line by line, and tells two things: whether it can account for everything since a backup, and what
 * happened. It keeps what it needs of each grant, client and wallet, not the lines.
 *
 * A journal accounts for what happened when it has every program that changed the database since the backup, each from its
 * first line to its last with none in between missing. Anything else is a fault: what a missing line said is unknown.
 */
import { type JournalEvent, ledgerName } from './journal.ts'
import type { ChainEnd, Runs } from './ports.ts'

/** One line, as `JSON.parse` gives it. */
type Line = JournalEvent & { journal: number; id: string; n: number; at: number }

/** What happened to a wallet's rows, or a client's, or all of them: to those made until then. */
type Sweep = { at: number; except?: string }

export type Account = {
  /** empty where the journal accounts for everything; each is one line for a person */
  faults: string[]
  /** epoch seconds of the last thing that happened */
  lastAt: number
  lastRun: number
  /** grants that ended, or of which it is not known where they stand */
  ended: Set<string>
  /** where refresh chains stand */
  refreshed: Map<string, ChainEnd>
  /** by `sweepKey` */
  endedTogether: Map<string, Sweep[]>
  endedSessions: Set<string>
  /** by name of the wallet */
  sessionsEnded: Map<string, number>
  withdrawn: Set<string>
  withdrawnTogether: Map<string, Sweep[]>
  clients: Map<string, ClientNow>
  retiredKeys: Set<string>
}

/** `print` is null where it is not known what was changed. */
export type ClientNow = { at: number; kind: 'enabled' | 'disabled' | 'deleted' | 'unknown'; print: string | null }

/** Whose rows ended together: a wallet's, a client's, or a wallet's for one client. */
export function sweepKey(wallet: string | undefined, clientId: string | undefined): string {
  return `${wallet ?? '*'} ${clientId ?? '*'}`
}

/** A run that was noted this much longer ago than the last one was cut off before the backup, in seconds. */
const GONE_AFTER = 600
const FAULTS_AT_MOST = 5
/** More programs than can have run since a backup: the number itself is damaged. */
const RUNS_AT_MOST = 1_000_000

/** After everything that the backup holds. */
const SINCE = Number.POSITIVE_INFINITY

type RunSeen = { id: string; next: number; closed: boolean }

/**
 * `files` are of one machine each, or parts of one, in order. `runs` is what the backup holds. `again`: it was brought up to date before, and waits to be confirmed; then the journal may
 * have nothing to add.
 */
export async function readJournal(files: Iterable<AsyncIterable<string>>, runs: Runs, again = false): Promise<Account> {
  const account: Account = {
    faults: [],
    lastAt: 0,
    lastRun: runs.last,
    ended: new Set(),
    refreshed: new Map(),
    endedTogether: new Map(),
    endedSessions: new Set(),
    sessionsEnded: new Map(),
    withdrawn: new Set(),
    withdrawnTogether: new Map(),
    clients: new Map(),
    retiredKeys: new Set(),
  }
  const fault = (words: string): void => {
    if (account.faults.length < FAULTS_AT_MOST) account.faults.push(words)
  }
  const seen = new Map<number, RunSeen>()
  let number = 0
  /** the latest moment this file has told of so far */
  let reached = 0
  for (const lines of files) {
    reached = 0
    for await (const text of lines) {
      number++
      const line = parse(text)
      if (line === 'damaged') fault(`line ${number} is no journal line: it was cut or damaged`)
      else if (line !== 'other') take(line)
    }
  }
  if (account.lastRun - runs.last > RUNS_AT_MOST) {
    fault(`run ${account.lastRun} is a number that no program can have`)
    return account
  }
  const needed = neededRuns(runs, account.lastRun)
  if (needed.length === 0 && !again) fault('it tells of no program that ran since the backup')
  requireComplete(needed, seen, fault)
  return account

  function take(line: Line): void {
    const run = seen.get(line.journal) ?? { id: line.id, next: 1, closed: false }
    seen.set(line.journal, run)
    if (line.id !== run.id) return fault(`two programs have the number ${line.journal}`)
    // The same line twice, as when files were put together.
    if (line.n < run.next) return
    if (line.n > run.next) fault(`lines ${run.next} to ${line.n - 1} of run ${line.journal} are missing`)
    run.next = line.n + 1
    run.closed = line.event === 'closed'
    account.lastAt = Math.max(account.lastAt, line.at)
    account.lastRun = Math.max(account.lastRun, line.journal, line.last ?? 0)
    if (line.event === 'opened' && line.ledger !== ledgerName(runs.salt)) fault(`run ${line.journal} is of another database`)
    // The order of the lines tells what came first, also where a clock was put back in between.
    reached = Math.max(reached, line.at)
    note(account, { ...line, at: reached }, line.journal > runs.last ? SINCE : reached)
  }
}

function parse(text: string): Line | 'damaged' | 'other' {
  if (text.trim() === '') return 'other'
  try {
    const line = JSON.parse(text) as Partial<Line> | null
    // Lines of the log may lie in between.
    if (typeof line !== 'object' || line === null || !('journal' in line)) return 'other'
    const whole = [line.journal, line.n, line.at].every((value) => Number.isSafeInteger(value))
    return whole && typeof line.id === 'string' && typeof line.event === 'string' ? (line as Line) : 'damaged'
  } catch {
    return 'damaged'
  }
}

/** Every program that ran when the backup was made, or began after it. */
function neededRuns(runs: Runs, lastRun: number): number[] {
  const lastSeen = Math.max(...runs.open.map(({ seenAt }) => seenAt))
  const needed = runs.open.filter(({ seenAt }) => seenAt >= lastSeen - GONE_AFTER).map((open) => open.number)
  for (let run = runs.last + 1; run <= lastRun; run++) needed.push(run)
  return needed
}

/** Each must be there, and be over. */
function requireComplete(needed: number[], seen: Map<number, RunSeen>, fault: (words: string) => void): void {
  for (const run of needed) {
    const one = seen.get(run)
    if (!one) fault(`run ${run} is missing`)
    else if (!one.closed) fault(`run ${run} has no last line: its program was cut off, or the file was`)
  }
}

/** What a line says happened; `at` is until when rows were made that it ended together. */
function note(account: Account, line: Line, at: number): void {
  const { grant_id: grantId = '', receipt_id: receiptId = '', client_id: clientId = '' } = line
  const sweep: Sweep = line.except === undefined ? { at } : { at, except: line.except }
  switch (line.event) {
    case 'grant_refreshed':
      if (line.unsure) account.ended.add(grantId)
      else noteChain(account, line)
      return
    // Whoever holds a token that was revoked alone would have it back: its grant goes, which is more and not less.
    case 'grant_ended':
    case 'access_token_revoked':
      account.ended.add(grantId)
      return
    case 'grants_ended':
      put(account.endedTogether, sweepKey(line.wallet, line.client_id), sweep)
      return
    case 'session_ended':
      account.endedSessions.add(line.session ?? '')
      return
    case 'sessions_ended':
      account.sessionsEnded.set(line.wallet ?? '', Math.max(at, account.sessionsEnded.get(line.wallet ?? '') ?? 0))
      return
    case 'receipt_withdrawn':
      account.withdrawn.add(receiptId)
      return
    case 'receipts_withdrawn':
      put(account.withdrawnTogether, sweepKey(line.wallet, line.client_id), sweep)
      return
    case 'client_made':
    case 'client_changed':
    case 'client_deleted':
      noteClient(account.clients, clientId, line)
      return
    case 'key_retired':
      account.retiredKeys.add(line.key_id ?? '')
      return
  }
}

function noteChain({ refreshed }: Account, line: Line): void {
  const { grant_id: grantId = '', generation = 0 } = line
  if (generation <= (refreshed.get(grantId)?.generation ?? 0)) return
  refreshed.set(grantId, {
    generation,
    refreshKeyId: line.key_id ?? '',
    rotatedAt: line.refreshed_at ?? 0,
    refreshExpiresAt: line.refresh_until ?? 0,
  })
}

/** The latest word counts; of two in one second the stricter. */
function noteClient(clients: Account['clients'], clientId: string, line: Line): void {
  const kind =
    line.event === 'client_deleted' ? 'deleted' : line.unsure ? 'unknown' : line.enabled === false ? 'disabled' : 'enabled'
  const before = clients.get(clientId)
  if (before && (before.at > line.at || (before.at === line.at && kind === 'enabled' && before.kind !== 'enabled'))) return
  clients.set(clientId, { at: line.at, kind, print: line.print ?? null })
}

function put<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const present = map.get(key)
  if (present) present.push(value)
  else map.set(key, [value])
}
