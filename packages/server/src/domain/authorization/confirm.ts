/**
 * A confirmation page with a button. Under the consent rule `session` an app requests the confirmation (`prompt=consent`). Under `signed`
 * the signed consent names another loopback port (`isForAnotherPort`).
 */
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import { findCoveringReceipt } from '../consent/receipt.ts'
import { findSession, meetsRequest, touchSession } from '../consent/session.ts'
import { type AuthorizationRequest, type RequestingApp } from '../model/authorization-request.ts'
import { grantLifetime } from '../model/client-lifetimes.ts'
import { type AdmitCode, ALLOWED_AS_ASKED, type Deps } from '../model/deps.ts'
import type { Client, ConsentRule, Session } from '../model/records.ts'
import type { Destination } from './authorization-response.ts'
import { askAboutCode } from './hook-questions.ts'
import { type CodeBasis, clientOfRequest, codeRedirect, deniedRedirect, refusedByHook, requestingApp } from './redirects.ts'

const CONFIRMATION_LIFETIME = 600

type Confirmation = {
  request: AuthorizationRequest
  sessionHash: string
  expiresAt: number
  /** the client's consent rule when the page was shown */
  shownUnder: ConsentRule
}

const CONFIRMATION = sealedFormat<Confirmation>('confirmation')

export type ConfirmOutcome =
  /** `failed`: the hook of the operator refused the wallet */
  | { kind: 'allowed' | 'denied' | 'failed'; to: Destination; app: RequestingApp }
  | { kind: 'over_limit'; retryAfter: number }
  | { kind: 'broken' | 'expired' | 'no_session' | 'unknown_client' | 'already_used' }

export function sealConfirmation(deps: Deps, client: Client, request: AuthorizationRequest, { hash }: Session): string {
  const expiresAt = deps.now() + CONFIRMATION_LIFETIME
  return CONFIRMATION.seal(deps.keys, { request, sessionHash: hash, expiresAt, shownUnder: client.consent })
}

/**
 * Continues the sealed request, only in the session to which the page was shown, so that another site cannot confirm for the user (RFC 6749
 * §10.12).
 */
export async function confirm(
  deps: Deps,
  sealed: string,
  { sessionId, admitCode }: { sessionId: string | null; admitCode: AdmitCode },
  decision: 'allow' | 'deny',
): Promise<ConfirmOutcome> {
  const confirmation = CONFIRMATION.open(deps.keys, sealed)
  if (!confirmation) return { kind: 'broken' }
  const { request, sessionHash, expiresAt, shownUnder } = confirmation
  if (expiresAt <= deps.now()) return { kind: 'expired' }
  const session = await findSession(deps, sessionId)
  // The page may have been open for minutes, so `max_age` is checked again.
  if (session?.hash !== sessionHash || !meetsRequest(deps, session, request)) return { kind: 'no_session' }
  const client = await clientOfRequest(deps, request)
  if (!client) return { kind: 'unknown_client' }
  const app = requestingApp(client, request)
  if (decision === 'deny') {
    await deps.audit({ event: 'consent_declined', reason: 'user_declined', client_id: client.id, wallet: session.wallet })
    return { kind: 'denied', to: await deniedRedirect(deps, request), app }
  }
  const basis = await readBasis(deps, client, { request, session, shownUnder })
  if (basis === null) return { kind: 'no_session' }
  const verdict = admitCode(session.wallet)
  if (!verdict.allowed) return { kind: 'over_limit', retryAfter: verdict.retryAfter }
  const permission = deps.hook === null ? null : await askAboutCode(deps.hook, client, request, session)
  // Nothing is stored yet, so the browser can post the same form again.
  if (permission?.kind === 'failed') throw permission.error
  if (permission?.kind === 'refused') return { kind: 'failed', to: await refusedByHook(deps, request), app }
  await touchSession(deps, session)
  const to = await codeRedirect(deps, request, { ...basis, first: permission ?? ALLOWED_AS_ASKED, limit: null })
  if (to === null) return { kind: 'already_used' }
  await deps.audit({ event: 'consent_confirmed', client_id: client.id, wallet: session.wallet })
  return { kind: 'allowed', to, app }
}

/** What the code is based on; null if the client's consent rule is `signed`, and no consent covers the request. */
async function readBasis(
  deps: Deps,
  client: Client,
  { request, session, shownUnder }: { request: AuthorizationRequest; session: Session; shownUnder: ConsentRule },
): Promise<Omit<CodeBasis, 'first' | 'limit'> | null> {
  // As for a code without a page, the receipt is read after the epoch.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  const until = deps.now() + grantLifetime(deps.settings.lifetimes, client)
  // If the page was shown under `session`, the request may need a new signature (`prompt=consent`), whatever the receipts cover.
  const receipt = shownUnder === 'signed' ? await findCoveringReceipt(deps, session, client, request) : null
  if (receipt)
    return { session, epoch, receiptId: receipt.id, consented: true, grantExpiresAt: Math.min(until, receipt.expiresAt) }
  // The consent rule may have changed since the page was shown, or the consent may have been withdrawn. A button replaces no signature.
  if (client.consent === 'signed') return null
  return { session, epoch, receiptId: session.receiptId, consented: false, grantExpiresAt: until }
}
