/**
 * The end of a login: the browser comes back with its challenge and the proof, gets its session, and goes on. Inserting
 * the session is the once-only gate, so one challenge yields one session, however many requests race.
 */
import { randomUUID } from 'node:crypto'
import { unseal } from '../keys/sealed.ts'
import { loginRequired } from '../oauth/oauth-error.ts'
import {
  type AuthorizationRequest,
  clientOfRequest,
  codeRedirect,
  deniedRedirect,
  errorRedirect,
  type RequestingApp,
  requestingApp,
} from './authorization-request.ts'
import type { Destination } from './authorization-response.ts'
import { type Challenge, isOfBrowser, openChallenge, sessionIdOf } from './challenge.ts'
import { readChallengeUse } from './challenge-use.ts'
import type { Deps } from './deps.ts'
import { endEverything, endSession } from './end-grants.ts'
import type { Proof, Verifier } from './login.ts'
import type { Client, Session } from './model.ts'
import { hashSessionId, meetsConsentRule } from './session.ts'

export type CompleteOutcome =
  /** `sessionId` becomes the browser's cookie; `to` is the app's redirect URI, or the account page */
  | { kind: 'signed_in'; sessionId: string; to: Destination; app: RequestingApp | null }
  /** signed in, but not as whom the app's ID token hint names: the app gets an error */
  | { kind: 'another_wallet'; sessionId: string; to: Destination; app: RequestingApp }
  /** signed on another device than the one that asked: a session here, and no code anywhere */
  | { kind: 'signed_in_elsewhere'; sessionId: string; app: RequestingApp; redirectUri: string }
  /** signed in, but the pushed request got its one code by another way */
  | { kind: 'request_spent'; sessionId: string }
  | { kind: 'denied'; to: Destination; app: RequestingApp }
  /** declined, and no app asked */
  | { kind: 'cancelled' }
  | { kind: 'denied_elsewhere'; app: RequestingApp }
  | { kind: 'everything_ended' }
  | { kind: 'broken' | 'wrong_browser' | 'expired' | 'already_used' | 'continued_elsewhere' | 'ended' | 'unknown_client' }

type CompleteRequest = {
  challenge: string | null
  verifier: string | null
  browserKey: string | null
  /** of the session that the browser has so far */
  sessionId: string | null
}

type RequestedApp = { client: Client; request: AuthorizationRequest; app: RequestingApp }

export async function completeLogin(deps: Deps, request: CompleteRequest): Promise<CompleteOutcome> {
  const challenge = await openChallenge(deps, request.challenge ?? '')
  const verifier = unseal(deps.keys, 'grv', request.verifier ?? '') as Verifier | undefined
  if (!challenge || !verifier || !isFor(verifier, challenge)) return { kind: 'broken' }
  // Whoever is lured into a stranger's login must not end up in the stranger's session.
  if (!isOfBrowser(challenge, request.browserKey)) return { kind: 'wrong_browser' }
  if (verifier.expiresAt <= deps.now()) return { kind: 'expired' }
  const asked = await appOf(deps, challenge)
  if (asked === 'unknown_client') return { kind: 'unknown_client' }
  const { proof } = verifier
  if (proof === 'denied') return denied(deps, challenge, asked)
  const use = await readChallengeUse(deps, challenge)
  if (use !== 'open') return { kind: use === 'key_retired' ? 'expired' : use }
  if (challenge.purpose.kind === 'end_everything') return endAll(deps, challenge, proof)
  // Asked again here: the client's rule may have changed since the wallet was vouched for.
  if (asked && !meetsConsentRule(asked.client, proof.method)) return { kind: 'ended' }
  return startSession(deps, { challenge, proof, asked, earlierId: request.sessionId })
}

async function appOf(deps: Deps, { purpose }: Challenge): Promise<RequestedApp | null | 'unknown_client'> {
  if (purpose.kind !== 'app') return null
  const client = await clientOfRequest(deps, purpose.request)
  return client ? { client, request: purpose.request, app: requestingApp(client, purpose.request) } : 'unknown_client'
}

function isFor(verifier: Verifier, { nonce, browserHash, elsewhere }: Challenge): boolean {
  return verifier.nonce === nonce && verifier.browserHash === browserHash && verifier.elsewhere === elsewhere
}

async function denied(deps: Deps, challenge: Challenge, asked: RequestedApp | null): Promise<CompleteOutcome> {
  if (!asked) return { kind: 'cancelled' }
  // The app waits for its answer in the browser that asked, where the person can still go on or decline.
  if (challenge.elsewhere) return { kind: 'denied_elsewhere', app: asked.app }
  deps.audit({ event: 'authorize_refused', reason: 'user_declined', client_id: asked.client.id })
  return { kind: 'denied', to: await deniedRedirect(deps, asked.request), app: asked.app }
}

/** Noted as used only when it is done: broken off half-way, it can be asked for again. The note is a session that never lived. */
async function endAll(deps: Deps, challenge: Challenge, proof: Proof): Promise<CompleteOutcome> {
  await endEverything(deps, proof.wallet)
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return { kind: 'expired' }
  await deps.store.sessions.startSession({ ...newSession(deps, sessionId, challenge, proof), endedAt: deps.now() }, randomUUID())
  return { kind: 'everything_ended' }
}

type ProvenLogin = { challenge: Challenge; proof: Proof; asked: RequestedApp | null; earlierId: string | null }

async function startSession(deps: Deps, { challenge, proof, asked, earlierId }: ProvenLogin): Promise<CompleteOutcome> {
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return { kind: 'expired' }
  const session = newSession(deps, sessionId, challenge, proof)
  // Before the challenge is used, so that the browser can repeat this request after a failure.
  await endEarlier(deps, earlierId, session)
  if ((await deps.store.sessions.startSession(session, randomUUID())) === 'taken') return { kind: 'already_used' }

  // Read after the insert, the epoch tells of every ending that could have missed the new session.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  if (epoch !== proof.epoch) {
    await deps.store.sessions.endSession(session.hash, randomUUID(), deps.now())
    if (proof.receiptId !== null) await deps.store.receipts.withdrawReceipt(session.wallet, proof.receiptId, deps.now())
    return { kind: 'ended' }
  }
  deps.bounds.noteSession(session)
  deps.audit({ event: 'session_started', reason: session.method, ...(asked ? { client_id: asked.client.id } : {}) })
  if (!asked) return { kind: 'signed_in', sessionId, to: `${deps.settings.authUrl}/account`, app: null }
  // The app's `state` and verifier live in the browser that asked, so a code would be of no use here.
  if (challenge.elsewhere)
    return { kind: 'signed_in_elsewhere', sessionId, app: asked.app, redirectUri: asked.request.redirectUri }
  if (asked.request.onlyHinted && session.wallet !== asked.request.loginHint) {
    // OpenID Connect Core §3.1.2.1: "otherwise, it MUST return an error, such as login_required"
    const refusal = loginRequired('another_wallet_than_hinted')
    deps.audit({ event: 'authorize_refused', reason: refusal.reason, client_id: asked.client.id })
    return { kind: 'another_wallet', sessionId, to: await errorRedirect(deps, asked.request, refusal), app: asked.app }
  }
  const request = { ...asked.request, scopes: proof.scopes }
  const basis = {
    session,
    epoch,
    receiptId: proof.receiptId,
    consented: proof.receiptId !== null,
    grantExpiresAt: challenge.until,
  }
  const to = await codeRedirect(deps, request, basis)
  return to === null ? { kind: 'request_spent', sessionId } : { kind: 'signed_in', sessionId, to, app: asked.app }
}

/**
 * Ends the session that the browser had so far: a copy of its cookie must not outlive the login (ASVS 7.2.4). The wallet's epoch
 * stays, so that logins in other tabs go on. If the wallet is the same, codes under way go on too, and the clients hear nothing:
 * the person stays signed in.
 */
async function endEarlier(deps: Deps, earlierId: string | null, { hash, wallet }: Session): Promise<void> {
  const earlier = earlierId === null ? null : await deps.store.sessions.readSession(hashSessionId(earlierId))
  if (!earlier || earlier.endedAt !== null || earlier.hash === hash) return
  if (earlier.wallet === wallet) await deps.store.sessions.replaceSession(earlier.hash, hash, deps.now())
  else await endSession(deps, earlier)
}

function newSession(deps: Deps, sessionId: string, { elsewhere }: Challenge, proof: Proof): Session {
  const at = deps.now()
  return {
    hash: hashSessionId(sessionId),
    wallet: proof.wallet,
    chainId: proof.chainId,
    method: proof.method,
    walletKind: proof.walletKind,
    receiptId: proof.receiptId,
    epoch: proof.epoch,
    authTime: at,
    lastSeenAt: at,
    expiresAt: at + deps.settings.lifetimes.session,
    elsewhere,
    endedAt: null,
    replacedBy: null,
  }
}
