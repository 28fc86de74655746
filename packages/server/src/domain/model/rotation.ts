/**
 * The rule of a refresh: what it does to the row of its grant (RFC 9700 §4.14.2). `decideRotation` is a pure function, so that both stores and the
 * token endpoint apply one rule. SQLite calls it between the read and the update of one transaction. PostgreSQL updates the row with the same rule as a
 * condition, and calls the function if no row changed. The store's contract compares each engine with the function.
 */
import { grantedAt } from './granted-scopes.ts'
import type { EndReason, Grant } from './records.ts'
import { LATE_BY_AT_MOST, type RotateOutcome, type Rotation } from './request-store.ts'

export type RotationDecision =
  /** the token is the current one: it gets a successor, or a new idle time if the client keeps its token */
  | { change: 'rotate' }
  /** the token is older or newer than the grant allows: the grant ends */
  | { change: 'end'; reason: EndReason; outcome: RotateOutcome }
  /** the row stays as it is */
  | { change: 'none'; outcome: RotateOutcome }

const ROTATE: RotationDecision = { change: 'rotate' }

/** `lastAttempt`: the attempt that created the grant or last rotated its token. */
export function decideRotation(grant: Grant, lastAttempt: string | null, rotation: Rotation): RotationDecision {
  if (grant.clientId !== rotation.clientId) return unchanged({ kind: 'foreign' })
  if (grant.endedAt !== null) return unchanged({ kind: 'ended' })
  if (grant.dpopJkt !== null && grant.dpopJkt !== rotation.dpopJkt) return unchanged({ kind: 'wrong_key' })

  // This attempt already changed the row, and its response was lost.
  const step = grant.generation - rotation.generation
  if (step === 1 && lastAttempt === rotation.attemptId) return unchanged({ kind: 'rotated', grant })

  if (grant.refreshExpiresAt <= rotation.at) return unchanged({ kind: 'expired' })
  if (step < 0) return { change: 'end', reason: 'refresh_newer_than_row', outcome: { kind: 'newer_than_row', grant } }
  if (step > 1 || (step === 1 && !isWithinWindow(grant, rotation)))
    return { change: 'end', reason: 'refresh_replayed', outcome: { kind: 'replayed', grant } }

  const refusal = decideScopes(grant, rotation)
  if (refusal !== null) return unchanged({ kind: refusal })
  if (grant.walletKind === 'contract' && !rotation.walletChecked) return unchanged({ kind: 'wallet_unchecked', grant })
  if (rotation.onlyChecks) return unchanged({ kind: 'may_rotate', grant })
  return step === 0 ? ROTATE : unchanged({ kind: 'repeated', grant })
}

/** Why the grant does not allow what the request names; null if it does. */
function decideScopes(grant: Grant, { resources, clientScopes, scopes }: Rotation) {
  const granted = grantedAt(grant, resources[0])
  if (resources.some((resource) => !grant.resources.includes(resource))) return 'resource_not_granted'
  if (!granted.some((scope) => clientScopes.includes(scope))) return 'no_scope_left'
  return scopes.some((scope) => !granted.includes(scope)) ? 'scope_not_granted' : null
}

/** A stored time in the future closes the window. Otherwise a clock that jumps back would open the window again. */
function isWithinWindow({ rotatedAt }: Grant, { at, retryWindow }: Rotation): boolean {
  return rotatedAt <= at + LATE_BY_AT_MOST && at < rotatedAt + retryWindow
}

function unchanged(outcome: RotateOutcome): RotationDecision {
  return { change: 'none', outcome }
}
