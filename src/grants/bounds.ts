/**
 * Bounds how many grants of a wallet at one client, and how many sessions of a wallet, live at once. The oldest beyond a bound end.
 *
 * A request only notes the grant or session it made. The bound is checked once a second, after the answer. Two nodes may check
 * the same wallet at once: both end the same, the oldest.
 */
import { randomUUID } from 'node:crypto'
import type { Deps } from './deps.ts'
import { type Ending, endAndAnnounce } from './end-grants.ts'
import type { Grant, Session } from './model.ts'
import { PAGE } from './pages.ts'
import { LATE_BY_AT_MOST } from './ports.ts'

export type Bounds = { grantsPerWalletAndClient: number; sessionsPerWallet: number }

/** Notes that wait for the next check. If there are more, a wallet is checked after its next grant or session. */
const WAITING_AT_MOST = 10_000

export type BoundKeeper = Deps['bounds'] & {
  /** Checks what was noted since the last call; to be called once a second. */
  keep(stopping?: AbortSignal): Promise<void>
}

export function createBoundKeeper(ending: Ending, bounds: Bounds): BoundKeeper {
  const waiting = new Map<string, Check>()

  function note(key: string, check: Check): void {
    if (waiting.size < WAITING_AT_MOST || waiting.has(key)) waiting.set(key, check)
  }

  return {
    noteGrant: (grant) =>
      note(`${grant.wallet} ${grant.clientId}`, () => endOldestGrants(ending, grant, bounds.grantsPerWalletAndClient)),
    noteSession: (session) => note(session.wallet, () => endOldestSessions(ending, session, bounds.sessionsPerWallet)),
    async keep(stopping) {
      for (const [key, check] of Array.from(waiting)) {
        if (stopping?.aborted) return
        waiting.delete(key)
        const outcome = await check().catch((error: unknown) => {
          note(key, check)
          throw error
        })
        if (outcome === 'more') note(key, check)
      }
    },
  }
}

/** `more`: the next check may find more to end. */
type Check = () => Promise<'kept' | 'more'>

/**
 * Ends the oldest living grants beyond `limit`, and expired grants that lie beyond as many rows. A grant of the future was made
 * before a clock jumped back. It does not count until the clock has caught up, or it would end grants that are newer.
 */
async function endOldestGrants({ store, now, audit }: Ending, { wallet, clientId }: Grant, limit: number) {
  let [seen, kept] = [0, 0]
  const isBeyond = ({ createdAt, refreshExpiresAt }: Grant): boolean => {
    if (isOfTheFuture(createdAt, now())) return false
    const lives = refreshExpiresAt > now()
    if (++seen > limit && (!lives || kept >= limit)) return true
    if (lives) kept++
    return false
  }
  const newest = await store.grants.listUnendedGrants({ wallet, clientId, limit: 2 * limit + PAGE })
  const beyond = newest.filter(isBeyond).slice(0, PAGE)
  if (beyond.length === 0) return 'kept'
  const ids = beyond.map(({ id }) => id)
  const ended = await store.grants.endGrants(ids, { reason: 'superseded', attemptId: randomUUID(), at: now() })
  for (const id of ended) audit({ event: 'grant_ended', reason: 'superseded', client_id: clientId, grant_id: id })
  return 'more'
}

/** The same for sessions. The epoch stays: these sessions are still trusted, so codes and logins of the wallet go on. */
async function endOldestSessions(ending: Ending, { wallet }: Session, limit: number) {
  const { store, now, audit } = ending
  const youngest = await store.sessions.listSessions(wallet, { at: now(), limit: limit + PAGE })
  const counting = youngest.filter(({ authTime }) => !isOfTheFuture(authTime, now()))
  const beyond = counting.slice(limit).map(({ hash }) => hash)
  if (beyond.length === 0) return 'kept'
  const ended = await endAndAnnounce(ending, wallet, () => store.sessions.endSessions(beyond, randomUUID(), now()))
  for (const _ of ended) audit({ event: 'session_ended', reason: 'superseded' })
  return 'more'
}

function isOfTheFuture(madeAt: number, now: number): boolean {
  return madeAt > now + LATE_BY_AT_MOST
}
