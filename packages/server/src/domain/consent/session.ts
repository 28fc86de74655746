/** Sessions of a wallet in a browser. Only the browser has the session id; the store has the hash. */
import { createHash, randomUUID } from 'node:crypto'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, LoginMethod, Session } from '../model/records.ts'

/** Seconds between two updates of `lastSeenAt`. A short idle time needs more frequent updates. */
const TOUCH_EVERY = 600

export function hashSessionId(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('base64url')
}

/** The session of this browser; null if the session has ended, was idle for too long or has reached the absolute end. */
export async function findSession(deps: Deps, sessionId: string | null): Promise<Session | null> {
  if (sessionId === null) {
    // Read the store all the same: if the store is unavailable, a login could not succeed, so the request fails now.
    await deps.store.checkSignIn()
    return null
  }
  const session = await deps.store.sessions.readSession(hashSessionId(sessionId))
  return session && sessionHolds(deps, session) ? session : null
}

/** Resolves once the end of a session that is no longer valid is durable. For an unknown session id, nothing is written. */
export async function confirmEnded(
  { store: { sessions }, now }: Pick<Deps, 'store' | 'now'>,
  sessionId: string | null,
): Promise<void> {
  const session = sessionId === null ? null : await sessions.readSession(hashSessionId(sessionId))
  if (session) await sessions.endSession(session.hash, randomUUID(), now())
}

/** Restarts the idle time of the session. */
export async function touchSession(deps: Deps, session: Session): Promise<void> {
  const at = deps.now()
  if (at - session.lastSeenAt >= Math.min(TOUCH_EVERY, deps.settings.lifetimes.sessionIdle / 10))
    await deps.store.sessions.touchSession(session.hash, at)
}

/**
 * Whether the sign-in is as recent (`max_age`) and of the kind (`acr_values`) that the request requires (OpenID Connect Core §3.1.2.1,
 * RFC 9470 §5). A `max_age` of 0 always requires a login, even one second after the previous login.
 */
export function meetsRequest(
  deps: Deps,
  { authTime, method }: Session,
  { maxAge, needsSignature }: Pick<AuthorizationRequest, 'maxAge' | 'needsSignature'>,
): boolean {
  const isRecent = maxAge === null || (maxAge > 0 && deps.now() - authTime <= maxAge)
  return isRecent && (!needsSignature || method === 'signature')
}

/** Whether a login by this method is sufficient for the client's consent rule: `signed` needs a signature of the wallet. */
export function meetsConsentRule(client: Client, method: LoginMethod): boolean {
  return client.consent === 'session' || method !== 'vouched'
}

function sessionHolds(deps: Deps, session: Session): boolean {
  const at = deps.now()
  return session.endedAt === null && session.expiresAt > at && session.lastSeenAt + deps.settings.lifetimes.sessionIdle > at
}
