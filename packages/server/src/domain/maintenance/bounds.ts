/**
 * Limits the active grants of one wallet at one client, and the active sessions of one wallet. Beyond a limit the oldest end. Also limits
 * the receipts of one wallet at one client; the oldest are deleted.
 *
 * A request only registers the new grant, session or receipt. The limits are checked once a second, after the response. If two nodes check the
 * same wallet at once, both end the same grants or sessions: the oldest. A check costs more than the code exchange itself. So a limit above ten is
 * checked after some new grants or sessions only, chosen at random: this needs no memory of wallets, and holds for any number of nodes
 * (docs/decisions/0018-citus.md).
 */
import { randomInt, randomUUID } from 'node:crypto'
import { type EndingDeps, endAndAnnounce } from '../consent/end-grants.ts'
import { RECEIPTS_READ } from '../consent/receipt.ts'
import { CHALLENGE_LIFETIME, type Deps } from '../model/deps.ts'
import { PAGE, pagesOf } from '../model/pages.ts'
import { OF_APPROVALS } from '../model/receipt-kinds.ts'
import type { Grant, Receipt, Session } from '../model/records.ts'
import { LATE_BY_AT_MOST, type RequestStore } from '../model/request-store.ts'

export type Bounds = { grantsPerWalletAndClient: number; sessionsPerWallet: number }

/** The average number of checks while a wallet gets as many grants or sessions as its limit. A wallet exceeds its limit by a tenth on average. */
const CHECKS_PER_LIMIT = 10

/** The most wallets that wait for a check. A wallet beyond this number is checked after the next grant or session. */
const WAITING_AT_MOST = 10_000

export type BoundKeeper = Deps['bounds'] & {
  /** Checks the wallets that were registered since the last call, until each one is within its limits. Runs once a second. */
  keep(stopping?: AbortSignal): Promise<void>
}

/** `random` returns an integer from 0 to less than its argument. */
export function createBoundKeeper(
  ending: EndingDeps,
  bounds: Bounds,
  random: (below: number) => number = randomInt,
): BoundKeeper {
  const { grantsPerWalletAndClient, sessionsPerWallet } = bounds
  const waiting = new Map<string, BoundCheck>()
  const isDue = (limit: number): boolean => random(limit) < CHECKS_PER_LIMIT

  function note(key: string, check: BoundCheck): void {
    if (waiting.size < WAITING_AT_MOST || waiting.has(key)) waiting.set(key, check)
  }

  return {
    noteGrant(grant) {
      if (!isDue(grantsPerWalletAndClient)) return
      note(`${grant.wallet} ${grant.clientId}`, () => endOldestGrants(ending, grant, grantsPerWalletAndClient))
    },
    noteSession(session) {
      if (isDue(sessionsPerWallet)) note(session.wallet, () => endOldestSessions(ending, session, sessionsPerWallet))
    },
    noteReceipt: (receipt) => note(`${receipt.wallet} ${receipt.clientId} receipts`, () => deleteOldReceipts(ending, receipt)),
    async keep(stopping) {
      const underWay = new Map(Array.from(waiting, ([key, check]) => [key, { check, steps: check() }]))
      waiting.clear()
      try {
        // Each entry moves to the end before its next step, so the loop takes one step of each wallet in turn, until no entry is left.
        for (const [key, each] of underWay) {
          if (stopping?.aborted) return
          underWay.delete(key)
          underWay.set(key, each)
          if ((await each.steps.next()).done) underWay.delete(key)
        }
      } finally {
        for (const [key, { check }] of underWay) note(key, check)
      }
    },
  }
}

/** Ends what is beyond a limit, step by step. A large step of the store pauses afterwards (`store/paced.ts`). */
type BoundCheck = () => AsyncGenerator<void>

/**
 * Ends the oldest active grants beyond `limit`, and expired grants beyond the first `limit` rows. A grant with a creation time in the
 * future was created before a clock jumped back. Such a grant is ignored until its creation time. Otherwise it would count as the newest,
 * and newer grants would end.
 */
async function* endOldestGrants(
  { store, now, audit }: EndingDeps,
  { wallet, clientId }: Grant,
  limit: number,
): AsyncGenerator<void> {
  let [seen, kept] = [0, 0]
  const isBeyond = ({ createdAt, refreshExpiresAt }: Grant): boolean => {
    if (isOfTheFuture(createdAt, now())) return false
    const lives = refreshExpiresAt > now()
    if (++seen > limit && (!lives || kept >= limit)) return true
    if (lives) kept++
    return false
  }
  for await (const page of pagesOf<Grant>((part) => store.grants.listUnendedGrants({ wallet, clientId, ...part }))) {
    const ids = page.filter(isBeyond).map(({ id }) => id)
    if (ids.length > 0) {
      const ended = await store.grants.endGrants(ids, { reason: 'superseded', attemptId: randomUUID(), at: now() })
      const superseded = { event: 'grant_ended', reason: 'superseded', client_id: clientId, wallet } as const
      await Promise.all(ended.map((id) => audit({ ...superseded, grant_id: id })))
    }
    yield
  }
}

/** The same for sessions. The wallet's epoch is not raised, so codes and logins of the other sessions stay valid. */
async function* endOldestSessions(ending: EndingDeps, { wallet }: Session, limit: number): AsyncGenerator<void> {
  const { store, now, audit } = ending
  for (;;) {
    const youngest = await store.sessions.listSessions(wallet, { at: now(), limit: limit + PAGE })
    const counting = youngest.filter(({ authTime }) => !isOfTheFuture(authTime, now()))
    const beyond = counting.slice(limit).map(({ hash }) => hash)
    if (beyond.length === 0) return
    const ended = await endAndAnnounce(ending, wallet, () => store.sessions.endSessions(beyond, randomUUID(), now()))
    await Promise.all(ended.map(() => audit({ event: 'session_ended', reason: 'superseded', wallet })))
    yield
  }
}

/** Seconds. The row of a receipt shows that its challenge was used (docs/decisions/0014-upkeep-of-the-store.md). */
const GUARDS_CHALLENGE_FOR = CHALLENGE_LIFETIME + 3600

/** The approvals of a wallet whose receipts are kept. Each took a signature of the user, and no receipt of another approval replaces its proof. */
const APPROVALS_KEPT = 1000

/**
 * Deletes the oldest receipts beyond the newest `RECEIPTS_READ`, or `APPROVALS_KEPT`, valid and withdrawn ones each, unless a grant or a session rests on them.
 * Receipts that still guard their challenge are kept and not counted. So a receipt that covered a request within the lifetime of a code is
 * not deleted: `RECEIPTS_READ` receipts that are newer and no longer guard their challenge would have come before it.
 */
async function* deleteOldReceipts({ store, now }: EndingDeps, { wallet, clientId }: Receipt): AsyncGenerator<void> {
  const kept = clientId === OF_APPROVALS ? APPROVALS_KEPT : RECEIPTS_READ
  for (const state of ['standing', 'withdrawn'] as const) {
    let seen = 0
    const isBeyond = ({ issuedAt }: Receipt): boolean => issuedAt <= now() - GUARDS_CHALLENGE_FOR && ++seen > kept
    for await (const page of pagesOf<Receipt>((part) => store.receipts.listReceipts(wallet, { clientId, state, ...part }))) {
      const beyond = page.filter(isBeyond)
      if (beyond.length > 0) {
        const inUse = await readReceiptsInUse(store, wallet, now())
        const ids = beyond.map(({ id }) => id).filter((id) => !inUse.has(id))
        if (ids.length > 0) await store.receipts.deleteReceipts(wallet, ids)
      }
      yield
    }
  }
}

/** The ids of the receipts that unended grants and open sessions of a wallet rest on, also grants at other clients. */
async function readReceiptsInUse(
  { grants, sessions }: RequestStore,
  wallet: Grant['wallet'],
  at: number,
): Promise<Set<string | null>> {
  const inUse = new Set<string | null>()
  for await (const page of pagesOf<Session>((part) => sessions.listSessions(wallet, { at, ...part })))
    for (const { receiptId } of page) inUse.add(receiptId)
  for await (const page of pagesOf<Grant>((part) => grants.listUnendedGrants({ wallet, ...part })))
    for (const { receiptId, sessionReceiptId } of page) inUse.add(receiptId).add(sessionReceiptId)
  return inUse
}

function isOfTheFuture(madeAt: number, now: number): boolean {
  return madeAt > now + LATE_BY_AT_MOST
}
