/** Sessions: a browser in which a wallet proved itself. The id is only in the browser; the store keeps its hash. */
import { createHash } from 'node:crypto'
import type { Deps } from './deps.ts'
import type { Client, LoginMethod, Session } from './model.ts'

/** Seconds between two notes of a visit, unless the idle time is so short that it would run out in between. */
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

/** Notes that the session was used, so that its idle time starts again. */
export async function touchSession(deps: Deps, session: Session): Promise<void> {
  const at = deps.now()
  if (at - session.lastSeenAt >= Math.min(TOUCH_EVERY, deps.settings.lifetimes.sessionIdle / 10))
    await deps.store.sessions.touchSession(session.hash, at)
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
