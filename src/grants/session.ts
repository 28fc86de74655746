/** Sessions: a browser in which a wallet proved itself. The id is only in the browser; the store keeps its hash. */
import { createHash } from 'node:crypto'
import type { Deps } from './deps.ts'
import type { Client, LoginMethod, Session } from './model.ts'

/** A visit is written down at most this often, in seconds. */
const TOUCH_EVERY = 600

export function hashSessionId(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('base64url')
}

/** The session of this browser where it holds now: not ended, not idle for too long, not past its absolute end. */
export async function findSession(deps: Deps, sessionId: string | null): Promise<Session | null> {
  if (sessionId === null) {
    // Asked all the same: a login that begins while the store is down could only end in a failure.
    await deps.store.readRevision()
    return null
  }
  const session = await deps.store.sessions.readSession(hashSessionId(sessionId))
  return session && sessionHolds(deps, session) ? session : null
}

/**
 * The wallet's epoch, and with it the word that the session holds: null where it was ended meanwhile.
 *
 * A code counts until the epoch is raised. So its session must hold no earlier than the epoch is read: otherwise a session
 * that was read just before it ended would give a code that counts after. Where nothing was ended since the session began,
 * it holds as it was read; only one that outlived an ending is read again.
 */
export async function readStandingEpoch(deps: Deps, session: Session): Promise<number | null> {
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  if (epoch === session.epoch) return epoch
  const again = await deps.store.sessions.readSession(session.hash)
  return again && sessionHolds(deps, again) ? epoch : null
}

/** Notes that the session was used, so that its idle time starts anew. */
export async function touchSession(deps: Deps, session: Session): Promise<void> {
  const at = deps.now()
  if (at - session.lastSeenAt >= TOUCH_EVERY) await deps.store.sessions.touchSession(session.hash, at)
}

/** OpenID Connect Core §3.1.2.1. A `max_age` of 0 asks for a login, also in the second in which the last one was. */
export function isRecent(deps: Deps, { authTime }: Session, maxAge: number | null): boolean {
  return maxAge === null || (maxAge > 0 && deps.now() - authTime <= maxAge)
}

/** Whether a login of this kind is consent enough: one the platform only vouched for never stands in for the wallet's own. */
export function meetsConsentRule(client: Client, method: LoginMethod): boolean {
  return client.consent === 'session' || method !== 'vouched'
}

function sessionHolds(deps: Deps, session: Session): boolean {
  const at = deps.now()
  return session.endedAt === null && session.expiresAt > at && session.lastSeenAt + deps.settings.lifetimes.sessionIdle > at
}
