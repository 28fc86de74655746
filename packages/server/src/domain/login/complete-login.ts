/**
 * The end of a login: the browser returns with the challenge and the login verifier, gets a session, and continues to the app. The
 * insert of the session makes a challenge work once: if several requests race, exactly one starts the session.
 */
import { randomUUID } from 'node:crypto'
import { clientPlace } from '../../protocol/oauth/client-id-url.ts'
import { loginRequired } from '../../protocol/oauth/oauth-error.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { answerApproval, findParties } from '../approvals/answer.ts'
import type { Destination } from '../authorization/authorization-response.ts'
import {
  type Challenge,
  type ConsentPurpose,
  isCrossDevice,
  isOfBrowser,
  openChallenge,
  sessionIdOf,
  uiLocaleOf,
} from '../authorization/challenge.ts'
import { allowDevice, denyDevice } from '../authorization/device-answer.ts'
import { askAboutCode, askAboutDevice } from '../authorization/hook-questions.ts'
import { codeRedirect, deniedRedirect, errorRedirect, refusedByHook } from '../authorization/redirects.ts'
import { endEverything, endSession, nameEnding } from '../consent/end-grants.ts'
import { hashSessionId } from '../consent/session.ts'
import type { ApprovalRequest } from '../model/approval-request.ts'
import { type AuthorizationRequest, type RequestingApp, withScopes } from '../model/authorization-request.ts'
import { ALLOWED_AS_ASKED, type AllowedByHook, type Deps, type Hook } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import type { Client, Session } from '../model/records.ts'
import { readChallengeUse } from './challenge-use.ts'
import { isStoredProof, readProofForBrowser, storeProofForBrowser } from './cross-device.ts'
import { LOGIN_VERIFIER, type LoginVerifier, type ProvenWallet } from './login-verifier.ts'
import { clientOfPurpose, needsSignature } from './sign-in-text.ts'

export type CompleteOutcome =
  /** `sessionId` becomes the browser's cookie; `to` is the app's redirect URI, or the account page */
  | { kind: 'signed_in'; sessionId: string; to: Destination; app: RequestingApp | null }
  /** signed in, but with another wallet than the app's ID token hint names: the app gets an error */
  | { kind: 'another_wallet'; sessionId: string; to: Destination; app: RequestingApp }
  /** the hook of the operator refused the wallet: the browser gets no session, so the user can choose another wallet */
  | { kind: 'refused_by_hook'; to: Destination; app: RequestingApp }
  | { kind: 'device_refused_by_hook'; app: RequestingApp }
  /** another device requested the login: this browser gets a session, and no browser gets a code */
  | { kind: 'signed_in_elsewhere'; sessionId: string; app: RequestingApp; redirectUri: string }
  /** signed in, but a code was already issued for the pushed request */
  | { kind: 'request_spent'; sessionId: string }
  | { kind: 'denied'; to: Destination; app: RequestingApp }
  /** the user declined a login without an app */
  | { kind: 'cancelled' }
  | { kind: 'denied_elsewhere'; app: RequestingApp }
  /** the device gets tokens with its next poll */
  | { kind: 'device_allowed'; sessionId: string; app: RequestingApp }
  | { kind: 'device_denied'; app: RequestingApp }
  /** signed in, but the request of the device was answered before */
  | { kind: 'device_answered'; sessionId?: string }
  /** the browser that requested the login continues with this proof; this browser gets no session */
  | { kind: 'signed_for_browser'; app: RequestingApp }
  /** the API can do this one thing now; this browser gets no session */
  | { kind: 'approval_signed' | 'approval_declined'; app: RequestingApp }
  | { kind: 'everything_ended' }
  /** a job ends the other grants of the wallet */
  | { kind: 'ending_under_way'; name: string }
  | { kind: 'not_signed_yet' }
  | {
      kind:
        | 'broken'
        | 'wrong_browser'
        | 'expired'
        | 'cross_device_off'
        | 'signed_on_other_device'
        | 'already_used'
        | 'continued_elsewhere'
        | 'ended'
        | 'unknown_client'
        | 'approval_answered'
        | 'approval_too_late'
    }

type CompleteRequest = {
  challenge: string | null
  browserKey: string | null
  /** the id of the session that the browser already has */
  sessionId: string | null
  /** the names of the browser and of its system, from the request */
  browser: string
}

type RequestedApp = { client: Client; purpose: ConsentPurpose; app: RequestingApp }

export async function completeLogin(
  deps: Deps,
  request: CompleteRequest & { verifier: string | null },
): Promise<CompleteOutcome> {
  const challenge = await openChallenge(deps, request.challenge ?? '')
  const verifier = LOGIN_VERIFIER.open(deps.keys, request.verifier ?? '')
  if (!challenge || !verifier || !isFor(verifier, challenge)) return { kind: 'broken' }
  // A login link of an attacker must not give the user's browser a session of the attacker.
  if (!isOfBrowser(challenge, request.browserKey)) return { kind: 'wrong_browser' }
  return useVerifier(deps, challenge, verifier, { use: 'open', request })
}

/** The same with the proof that another device gave for this browser. */
export async function completeCrossDeviceLogin(deps: Deps, request: CompleteRequest): Promise<CompleteOutcome> {
  const challenge = await openChallenge(deps, request.challenge ?? '')
  if (!challenge) return { kind: 'broken' }
  if (!isOfBrowser(challenge, request.browserKey)) return { kind: 'wrong_browser' }
  if (!deps.settings.crossDevice) return { kind: 'cross_device_off' }
  const verifier = await readProofForBrowser(deps, challenge)
  if (!verifier) return { kind: 'not_signed_yet' }
  return useVerifier(deps, challenge, verifier, { use: 'signed_on_other_device', request })
}

async function useVerifier(
  deps: Deps,
  challenge: Challenge,
  { expiresAt, proof }: Pick<LoginVerifier, 'expiresAt' | 'proof'>,
  { use: expected, request }: { use: 'open' | 'signed_on_other_device'; request: CompleteRequest },
): Promise<CompleteOutcome> {
  if (isCrossDevice(challenge) && !deps.settings.crossDevice) return { kind: 'cross_device_off' }
  const requested = await appOf(deps, challenge)
  if (requested === 'unknown_client') return { kind: 'unknown_client' }
  const isAgain = requested && proof !== 'denied' && isCrossDevice(challenge) && (await isStoredProof(deps, challenge, proof))
  if (isAgain) return { kind: 'signed_for_browser', app: requested.app }
  if (expiresAt <= deps.now()) return { kind: 'expired' }
  if (challenge.purpose.kind === 'approval') return answerAsked(deps, challenge.purpose.approval, proof)
  if (proof === 'denied') return deny(deps, challenge, requested)
  const use = await readChallengeUse(deps, challenge)
  if (use === 'key_retired') return { kind: 'expired' }
  if (use !== expected) return { kind: use === 'open' ? 'not_signed_yet' : use }
  if (challenge.purpose.kind === 'end_everything') return endAll(deps, { challenge, proof, requested, request })
  // The client's consent rule may have changed since the login server vouched for the wallet.
  if (requested && proof.method === 'vouched' && needsSignature(requested.client, challenge)) return { kind: 'ended' }
  if (requested && isCrossDevice(challenge)) return signForBrowser(deps, challenge, requested, proof)
  return startSession(deps, { challenge, proof, requested, request })
}

/** The signature starts no session. What it allows is decided when the API uses the approval: the grant may have ended meanwhile. */
async function answerAsked(deps: Deps, approval: ApprovalRequest, proof: ProvenWallet | 'denied'): Promise<CompleteOutcome> {
  const parties = await findParties(deps, { clientId: approval.apiId, apps: [approval.appId] })
  if (!parties) return { kind: 'unknown_client' }
  const receiptId = proof === 'denied' ? null : proof.receiptId
  const fault = await answerApproval(deps, approval, receiptId === null ? { receiptId, isLast: false } : { receiptId })
  if (fault !== null) {
    // The signature approves nothing, so its receipt must not look as if it did.
    if (receiptId !== null) await deps.store.receipts.withdrawReceipt(approval.wallet, receiptId, deps.now())
    return { kind: fault === 'too_late' ? 'approval_too_late' : 'approval_answered' }
  }
  const [client] = parties.apps
  const app = { clientName: client.name, ...clientPlace(client.id, ''), uiLocale: null }
  return { kind: receiptId === null ? 'approval_declined' : 'approval_signed', app }
}

async function signForBrowser(
  deps: Deps,
  challenge: Challenge,
  { client, app }: RequestedApp,
  proof: ProvenWallet,
): Promise<CompleteOutcome> {
  if (!(await storeProofForBrowser(deps, challenge, client.id, proof))) return { kind: 'signed_on_other_device' }
  await deps.audit({ event: 'cross_device_signed', client_id: client.id, wallet: proof.wallet })
  return { kind: 'signed_for_browser', app }
}

async function appOf(deps: Deps, challenge: Challenge): Promise<RequestedApp | null | 'unknown_client'> {
  const { purpose } = challenge
  if (!('request' in purpose)) return null
  const client = await clientOfPurpose(deps, purpose)
  if (!client) return 'unknown_client'
  const redirectUri = purpose.kind === 'app' ? purpose.request.redirectUri : ''
  const place = clientPlace(client.id, redirectUri)
  return { client, purpose, app: { clientName: client.name, ...place, uiLocale: uiLocaleOf(challenge) } }
}

function isFor(verifier: LoginVerifier, challenge: Challenge): boolean {
  const { nonce, browserHash, elsewhere } = challenge
  const isOfKind = verifier.elsewhere === elsewhere && verifier.crossDevice === isCrossDevice(challenge)
  return isOfKind && verifier.nonce === nonce && verifier.browserHash === browserHash
}

async function deny(deps: Deps, challenge: Challenge, requested: RequestedApp | null): Promise<CompleteOutcome> {
  if (!requested) return { kind: 'cancelled' }
  const { client, purpose, app } = requested
  if (purpose.kind === 'device') {
    return (await denyDevice(deps, purpose.request)) ? { kind: 'device_denied', app } : { kind: 'device_answered' }
  }
  // The app gets the response in the browser that requested the login. The user can still sign in or decline in that browser.
  if (challenge.elsewhere) return { kind: 'denied_elsewhere', app }
  deps.audit({ event: 'authorize_refused', reason: 'user_declined', client_id: client.id })
  return { kind: 'denied', to: await deniedRedirect(deps, purpose.request), app }
}

/** The challenge is marked as used at the end, so that an interrupted request can be repeated. The mark is a session that has already ended. */
async function endAll(deps: Deps, login: ProvenLogin): Promise<CompleteOutcome> {
  const { challenge, proof } = login
  const job = await endEverything(deps, proof.wallet)
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return { kind: 'expired' }
  await deps.store.sessions.startSession({ ...newSession(deps, sessionId, login), endedAt: deps.now() }, randomUUID())
  return job ? { kind: 'ending_under_way', name: nameEnding(deps, job) } : { kind: 'everything_ended' }
}

type ProvenLogin = { challenge: Challenge; proof: ProvenWallet; requested: RequestedApp | null; request: CompleteRequest }

async function startSession(deps: Deps, login: ProvenLogin): Promise<CompleteOutcome> {
  const { challenge, proof, requested, request } = login
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return { kind: 'expired' }
  const session = newSession(deps, sessionId, login)
  const answer = deps.hook === null ? null : await askHook(deps, deps.hook, login)
  if (answer && answer.kind !== 'allowed') return answer
  const first = answer?.first ?? ALLOWED_AS_ASKED
  // This happens before the challenge is used, so that the browser can repeat the request after a failure.
  await endEarlier(deps, request.sessionId, session)
  if ((await deps.store.sessions.startSession(session, randomUUID())) === 'taken') return { kind: 'already_used' }

  // The epoch is read after the insert: every ending that could have missed the new session has raised the epoch by now.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  if (epoch !== proof.epoch) {
    await deps.store.sessions.endSession(session.hash, randomUUID(), deps.now())
    if (proof.receiptId !== null) await deps.store.receipts.withdrawReceipt(session.wallet, proof.receiptId, deps.now())
    return { kind: 'ended' }
  }
  deps.bounds.noteSession(session)
  deps.activity.noteSignIn(session.wallet)
  await deps.audit({
    event: 'session_started',
    reason: session.method,
    wallet: session.wallet,
    ...(requested ? { client_id: requested.client.id } : {}),
  })
  if (!requested) return { kind: 'signed_in', sessionId, to: `${deps.settings.authUrl}/account`, app: null }
  const started = { session, sessionId, epoch, first }
  const { client, purpose, app } = requested
  return purpose.kind === 'device'
    ? continueOnDevice(deps, login, { request: purpose.request, app }, started)
    : continueToApp(deps, login, { client, request: purpose.request, app }, started)
}

/**
 * Calls the hook of the operator if a code, or the answer to a device, follows. Throws if the hook gives no usable answer: nothing is
 * stored yet, so the browser can repeat the request.
 */
async function askHook(
  deps: Deps,
  hook: Hook,
  { challenge, proof, requested }: ProvenLogin,
): Promise<{ kind: 'allowed'; first: AllowedByHook } | Extract<CompleteOutcome, { kind: `${string}refused_by_hook` }>> {
  if (!requested) return { kind: 'allowed', first: ALLOWED_AS_ASKED }
  const { client, purpose, app } = requested
  const account = { ...proof, authTime: proof.provedAt }
  if (purpose.kind === 'device') {
    const permission = await askAboutDevice(hook, client, { ...purpose.request, scopes: proof.scopes }, account)
    if (permission.kind === 'failed') throw permission.error
    if (permission.kind === 'refused') return { kind: 'device_refused_by_hook', app }
    return { kind: 'allowed', first: permission }
  }
  const { request } = purpose
  if (challenge.elsewhere || isAnotherWallet(request, proof.wallet)) return { kind: 'allowed', first: ALLOWED_AS_ASKED }
  const permission = await askAboutCode(hook, client, withScopes(request, proof.scopes), account)
  if (permission.kind === 'failed') throw permission.error
  if (permission.kind === 'refused') return { kind: 'refused_by_hook', to: await refusedByHook(deps, request), app }
  return { kind: 'allowed', first: permission }
}

/** OpenID Connect Core §3.1.2.1: the app requested this wallet only. */
function isAnotherWallet({ onlyHinted, loginHint }: AuthorizationRequest, wallet: Address): boolean {
  return onlyHinted && wallet !== loginHint
}

type StartedSession = { session: Session; sessionId: string; epoch: number; first: AllowedByHook }

/** The answer goes to the device, so it does not matter on which device the user signed. */
async function continueOnDevice(
  deps: Deps,
  { challenge, proof }: ProvenLogin,
  { request, app }: { request: DeviceRequest; app: RequestingApp },
  { session, sessionId, epoch, first }: StartedSession,
): Promise<CompleteOutcome> {
  const { scopes, receiptId } = proof
  const permission = { session, epoch, scopes, receiptId, grantExpiresAt: challenge.until, first, limit: proof.limit ?? null }
  const stored = await allowDevice(deps, request, permission)
  return stored ? { kind: 'device_allowed', sessionId, app } : { kind: 'device_answered', sessionId }
}

async function continueToApp(
  deps: Deps,
  { challenge, proof }: ProvenLogin,
  { client, request, app }: { client: Client; request: AuthorizationRequest; app: RequestingApp },
  { session, sessionId, epoch, first }: StartedSession,
): Promise<CompleteOutcome> {
  // The app's `state` and `code_verifier` are in the browser that requested the login. A code would be useless in this browser.
  if (challenge.elsewhere) return { kind: 'signed_in_elsewhere', sessionId, app, redirectUri: request.redirectUri }
  if (isAnotherWallet(request, session.wallet)) {
    // OpenID Connect Core §3.1.2.1: "otherwise, it MUST return an error, such as login_required"
    const refusal = loginRequired('another_wallet_than_hinted')
    deps.audit({ event: 'authorize_refused', reason: refusal.reason, client_id: client.id })
    return { kind: 'another_wallet', sessionId, to: await errorRedirect(deps, request, refusal), app }
  }
  const { receiptId } = proof
  const { until: grantExpiresAt } = challenge
  const basis = { session, epoch, receiptId, consented: receiptId !== null, grantExpiresAt, first, limit: proof.limit ?? null }
  const to = await codeRedirect(deps, withScopes(request, proof.scopes), basis)
  return to === null ? { kind: 'request_spent', sessionId } : { kind: 'signed_in', sessionId, to, app }
}

/**
 * Ends the session that the browser already has: a copy of the session cookie must not outlive the new login (ASVS 7.2.4). The wallet's
 * epoch is not raised, so that logins in other tabs stay valid. If the wallet is the same, the new session replaces the old one: pending
 * codes stay valid and no client is notified, because the user stays signed in.
 */
async function endEarlier(deps: Deps, earlierId: string | null, { hash, wallet }: Session): Promise<void> {
  const earlier = earlierId === null ? null : await deps.store.sessions.readSession(hashSessionId(earlierId))
  if (!earlier || earlier.endedAt !== null || earlier.hash === hash) return
  if (earlier.wallet === wallet) await deps.store.sessions.replaceSession(earlier.hash, hash, deps.now())
  else await endSession(deps, earlier)
}

function newSession(deps: Deps, sessionId: string, { challenge, proof, request }: ProvenLogin): Session {
  const at = deps.now()
  return {
    hash: hashSessionId(sessionId),
    wallet: proof.wallet,
    chainId: proof.chainId,
    method: proof.method,
    walletKind: proof.walletKind,
    receiptId: proof.receiptId,
    epoch: proof.epoch,
    // A browser may continue ten minutes after another device has signed.
    authTime: proof.provedAt,
    lastSeenAt: at,
    expiresAt: at + deps.settings.lifetimes.session,
    elsewhere: challenge.elsewhere,
    browser: request.browser,
    endedAt: null,
    replacedBy: null,
  }
}
