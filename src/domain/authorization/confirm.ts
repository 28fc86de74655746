/** A confirmation page with a button: the session would be sufficient, but the app requests a confirmation (`prompt=consent`). */
import { sealedFormat } from '../../keys/sealed.ts'
import { findSession, isRecent, touchSession } from '../consent/session.ts'
import { type AuthorizationRequest, type RequestingApp } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Session } from '../model/records.ts'
import type { Destination } from './authorization-response.ts'
import { clientOfRequest, codeRedirect, deniedRedirect, requestingApp } from './redirects.ts'

const CONFIRMATION_LIFETIME = 600

type Confirmation = { request: AuthorizationRequest; sessionHash: string; expiresAt: number }

const CONFIRMATION = sealedFormat<Confirmation>('confirmation')

export type ConfirmOutcome =
  | { kind: 'allowed' | 'denied'; to: Destination; app: RequestingApp }
  | { kind: 'broken' | 'expired' | 'no_session' | 'unknown_client' | 'already_used' }

export function sealConfirmation(deps: Deps, request: AuthorizationRequest, session: Session): string {
  const confirmation: Confirmation = { request, sessionHash: session.hash, expiresAt: deps.now() + CONFIRMATION_LIFETIME }
  return CONFIRMATION.seal(deps.keys, confirmation)
}

/** Continues the sealed request, only in the session that saw the page, so that another site cannot confirm for the user (RFC 6749 §10.12). */
export async function confirm(
  deps: Deps,
  sealed: string,
  sessionId: string | null,
  decision: 'allow' | 'deny',
): Promise<ConfirmOutcome> {
  const confirmation = CONFIRMATION.open(deps.keys, sealed)
  if (!confirmation) return { kind: 'broken' }
  const { sessionHash, expiresAt } = confirmation
  // A confirmation of an earlier version lacks these members.
  const request: AuthorizationRequest = {
    ...confirmation.request,
    responseMode: confirmation.request.responseMode ?? 'query',
    scopesByResource: confirmation.request.scopesByResource ?? null,
  }
  if (expiresAt <= deps.now()) return { kind: 'expired' }
  const session = await findSession(deps, sessionId)
  // The page may have been open for minutes, so `max_age` is checked again.
  if (session?.hash !== sessionHash || !isRecent(deps, session, request.maxAge)) return { kind: 'no_session' }
  const client = await clientOfRequest(deps, request)
  if (!client) return { kind: 'unknown_client' }
  const app = requestingApp(client, request)
  if (decision === 'deny') {
    deps.audit({ event: 'consent_declined', reason: 'user_declined', client_id: client.id, wallet: session.wallet })
    return { kind: 'denied', to: await deniedRedirect(deps, request), app }
  }
  // The client's consent rule may have changed meanwhile. A button does not replace a signature.
  if (client.consent === 'signed') return { kind: 'no_session' }
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  await touchSession(deps, session)
  const grantExpiresAt = deps.now() + deps.settings.lifetimes.grant
  const basis = { session, epoch, receiptId: session.receiptId, consented: false, grantExpiresAt }
  const to = await codeRedirect(deps, request, basis)
  if (to === null) return { kind: 'already_used' }
  deps.audit({ event: 'consent_confirmed', client_id: client.id, wallet: session.wallet })
  return { kind: 'allowed', to, app }
}
