/**
 * The functions for the login server: describe a challenge, compose the text to sign, and accept or reject a login.
 *
 * Nothing is stored before the wallet is proved. A proof stores the signed text as a receipt. If several proofs of one challenge by one
 * wallet race, exactly one succeeds.
 */

import type { Limit } from '@grantor/protocol/limit'
import { clientPlace } from '../../protocol/oauth/client-id-url.ts'
import { isRequiredScope, NAME_SCOPE } from '../../protocol/oauth/standard-scopes.ts'
import type { UiLocale } from '../../protocol/oauth/ui-locales.ts'
import { showUserCode } from '../../protocol/oauth/user-code.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { apiHostOf } from '../../protocol/wallet/approval-message.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import { findParties } from '../approvals/answer.ts'
import { approvalUrl } from '../approvals/state.ts'
import {
  type Challenge,
  challengeExpiresAt,
  crossDeviceCodeOf,
  isCrossDevice,
  openChallenge,
  uiLocaleOf,
} from '../authorization/challenge.ts'
import { isAnswered } from '../authorization/device-answer.ts'
import { verificationUriOf } from '../authorization/device-authorization.ts'
import type { ApprovalRequest } from '../model/approval-request.ts'
import { clientLogoPath } from '../model/client-logo-path.ts'
import type { Deps } from '../model/deps.ts'
import { type DescribedScope, describeScopes } from '../resources/describe-scopes.ts'
import { type ChallengeUse, readChallengeUse } from './challenge-use.ts'
import { crossDeviceContinueUrl, type DeviceLinks, deviceLinks, offersCrossDevice } from './cross-device.ts'
import { keepReceipt } from './keep-receipt.ts'
import { LoginError } from './login-error.ts'
import { LOGIN_VERIFIER, type LoginVerifier, type ProvenWallet } from './login-verifier.ts'
import { type AdmitContractCheck, proveWallet } from './prove-wallet.ts'
import {
  composeSignInText,
  mayChooseScopes,
  needsSignature,
  requireClient,
  type SignInText,
  type WalletClaim,
} from './sign-in-text.ts'

/** Seconds until the login verifier expires. */
const VERIFIER_LIFETIME = 60
/** in characters */
const SIGNATURE_AT_MOST = 8192

/** What the login page shows the user before the signature. */
export type ChallengeDescription = {
  /** `cross_device`: the signature signs in the browser on another device that shows the code */
  purpose: Challenge['purpose']['kind'] | 'cross_device'
  client_name: string
  /** the logo that an operator uploaded; absent for a client without one */
  client_logo_uri?: string
  /** empty for an app on the device */
  client_host: string
  /** the private-use scheme of an app on the device (RFC 8252 §7.1); absent for other apps */
  client_scheme?: string
  /** the host that publishes the metadata of the client; empty if the client registered itself; absent for clients of an operator */
  client_publisher?: string
  /** `required` is true if the user cannot decline the scope; otherwise absent */
  scopes: (DescribedScope & { required?: true })[]
  /** true if the user can decline single scopes */
  may_choose_scopes: boolean
  resources: string[]
  /** the limit of one of the scopes, which the user can lower; absent if no scope has a limit */
  limit?: Limit & { scope: string; resource: string }
  chain_ids: number[]
  /** the chain of contract wallets; absent if they cannot sign in */
  home_chain_id?: number
  /** when the challenge expires, in epoch seconds */
  expires_at: number
  /** when the consent ends, in epoch seconds */
  until: number
  /**
   * the URL for continuing on another device or in a wallet app; null if the login already continued on another device, and for a login
   * without an app
   */
  resume_url: string | null
  /** the wallet that the app expects; absent if the app named none */
  login_hint?: Address
  /** the language that the app requests for the pages; absent if the app requested none of the supported ones, and on another device */
  ui_locale?: UiLocale
  /** the code that the device or the other browser shows; only for the purposes `device` and `cross_device` */
  user_code?: string
  /** the one action to sign, in the words of the API that asks, and the host of the API; only for the purpose `approval` */
  approval?: { summary: string; api: string }
  /**
   * for signing with a wallet on another device: the URL for that device, the code to compare, where this browser then continues, and
   * whether the other device has signed; absent if not offered
   */
  cross_device?: { url: string; code: string; continue_url: string; signed: boolean }
}

export type SignInAttempt = { claim: WalletClaim; signature: string | null; admitContractCheck: AdmitContractCheck }

export async function describeChallenge(deps: Deps, text: string): Promise<ChallengeDescription> {
  const challenge = await openUnexpired(deps, text)
  const { purpose } = challenge
  const app = 'request' in purpose ? { client: await requireClient(deps, purpose), purpose, request: purpose.request } : null
  const named = app?.client ?? (purpose.kind === 'approval' ? (await requireParties(deps, purpose.approval)).apps[0] : null)
  const use = await readChallengeUse(deps, challenge)
  const isSigned = use === 'signed_on_other_device' && !challenge.elsewhere
  if (!isSigned) await refuseUsed(deps, challenge, use)
  const { authUrl, chainIds } = deps.settings
  const links = app && deviceLinks(deps, { text, challenge, client: app.client })
  const uiLocale = uiLocaleOf(challenge)
  const logoPath = named ? clientLogoPath(named) : undefined
  const { clientHost, clientScheme, clientPublisher } = clientPlace(named?.id ?? '', loginPlace(purpose, authUrl))
  return {
    purpose: isCrossDevice(challenge) ? 'cross_device' : purpose.kind,
    client_name: named?.name ?? '',
    ...(logoPath === undefined ? {} : { client_logo_uri: `${authUrl}${logoPath}` }),
    client_host: clientHost,
    ...(clientScheme ? { client_scheme: clientScheme } : {}),
    ...(clientPublisher !== undefined ? { client_publisher: clientPublisher } : {}),
    scopes: app ? describeScopes(deps, { scopesByResource: null, ...app.request }).map(withRequired) : [],
    may_choose_scopes: app !== null && mayChooseScopes(app.client, challenge),
    resources: app?.request.resources ?? [],
    ...limitOf(app?.request.limit ?? null),
    chain_ids: chainIds,
    ...(deps.contractWallets ? { home_chain_id: deps.contractWallets.homeChainId } : {}),
    expires_at: challengeExpiresAt(challenge),
    until: app ? challenge.until : challengeExpiresAt(challenge),
    ...hintOf(purpose),
    ...(purpose.kind === 'approval'
      ? { approval: { summary: purpose.approval.summary, api: apiHostOf(purpose.approval.resource) } }
      : {}),
    ...(uiLocale ? { ui_locale: uiLocale } : {}),
    ...codesOf(deps, challenge, { text, links, isSigned }),
    resume_url: resumeUrlOf(deps, challenge, links),
  }
}

function limitOf(requested: ScopeLimit | null): Pick<ChallengeDescription, 'limit'> {
  return requested ? { limit: { scope: requested.scope, resource: requested.resource, ...requested.limit } } : {}
}

/** The wallet that must sign, or that the app expects. */
function hintOf(purpose: Challenge['purpose']): Pick<ChallengeDescription, 'login_hint'> {
  if (purpose.kind === 'approval') return { login_hint: purpose.approval.wallet }
  return purpose.kind === 'app' && purpose.request.loginHint ? { login_hint: purpose.request.loginHint } : {}
}

function withRequired(scope: DescribedScope): ChallengeDescription['scopes'][number] {
  return isRequiredScope(scope.name) ? { ...scope, required: true } : scope
}

/** The code that the user compares, and the way over another device. */
function codesOf(
  deps: Deps,
  challenge: Challenge,
  { text, links, isSigned }: { text: string; links: DeviceLinks | null; isSigned: boolean },
): Pick<ChallengeDescription, 'user_code' | 'cross_device'> {
  const { purpose } = challenge
  if (purpose.kind === 'device') return { user_code: showUserCode(purpose.request.userCode) }
  const code = crossDeviceCodeOf(deps.keys, challenge)
  if (code === undefined) return {}
  if (isCrossDevice(challenge)) return { user_code: code }
  if (!links || !offersCrossDevice(deps, challenge)) return {}
  return { cross_device: { url: links.url, continue_url: crossDeviceContinueUrl(deps, text), code, signed: isSigned } }
}

/** For a device or another browser the URL of the page that shows what the user must compare (RFC 8628 §5.4). */
function resumeUrlOf(deps: Deps, challenge: Challenge, links: DeviceLinks | null): string | null {
  const { authUrl } = deps.settings
  const { purpose, elsewhere } = challenge
  if (purpose.kind === 'device') return verificationUriOf(authUrl, purpose.request)
  if (purpose.kind === 'approval') return approvalUrl(deps.settings, purpose.approval)
  if (!links || (elsewhere && !isCrossDevice(challenge))) return null
  return elsewhere ? links.url : links.resumeUrl
}

/** The URI whose place the page shows. A device has none, and neither has the app that an API asks for. */
function loginPlace(purpose: Challenge['purpose'], authUrl: string): string {
  if (purpose.kind === 'app') return purpose.request.redirectUri
  return purpose.kind === 'device' || purpose.kind === 'approval' ? '' : authUrl
}

/** The text that the wallet signs. */
export async function composeText(deps: Deps, claim: WalletClaim): Promise<string> {
  return (await composeSignInText(deps, await openUnexpired(deps, claim.challenge), claim)).message
}

/**
 * Accepts a signature as the proof of an address, or, without a signature, a login that the login server vouches for, if the operator
 * allows vouching. Returns the URL for the browser. An ordinary wallet costs one signature recovery and one write, and a second write
 * at the first sign-in.
 */
export async function acceptLogin(deps: Deps, { claim, signature, admitContractCheck }: SignInAttempt): Promise<string> {
  if (signature !== null && signature.length > SIGNATURE_AT_MOST) throw new LoginError('too_large', 'signature_too_large')
  const challenge = await openUnexpired(deps, claim.challenge)
  const text = await composeSignInText(deps, challenge, claim)
  const proven =
    signature === null
      ? await acceptVouched(deps, challenge, claim, text)
      : await acceptSignature(deps, challenge, text, { claim, signature, admitContractCheck })
  if (proven.scopes.includes(NAME_SCOPE)) deps.accountNames?.prepare(proven)
  await deps.audit({ event: 'wallet_proved', reason: proven.method, ...clientIdOf(challenge), wallet: proven.wallet })
  return completeUrl(deps, claim.challenge, challenge, proven)
}

/** The user declined. The browser returns to the app through `/login/complete` too, so that only this browser can do so. */
export async function rejectLogin(deps: Deps, text: string): Promise<string> {
  return completeUrl(deps, text, await openUnexpired(deps, text), 'denied')
}

async function openUnexpired(deps: Deps, text: string): Promise<Challenge> {
  const challenge = await openChallenge(deps, text)
  if (!challenge) throw new LoginError('invalid_request', 'challenge_unknown')
  if (challengeExpiresAt(challenge) <= deps.now()) throw new LoginError('expired', 'challenge_expired')
  if (isCrossDevice(challenge) && !deps.settings.crossDevice) throw new LoginError('expired', 'challenge_cross_device_off')
  return challenge
}

async function acceptSignature(
  deps: Deps,
  challenge: Challenge,
  { address, message, scopes, limit }: SignInText,
  { claim: { chainId }, signature, admitContractCheck }: SignInAttempt & { signature: string },
): Promise<ProvenWallet> {
  // The epoch is read before the proof. If an ending raises the epoch meanwhile, the insert of the receipt fails.
  const wallet = await deps.store.wallets.readWallet(address)
  const walletKind = await proveWallet(deps, { message, signature, address, chainId, wallet, admitContractCheck })
  await refuseUsed(deps, challenge, await readChallengeUse(deps, challenge))
  if (walletKind === 'ordinary' && !wallet.provedItself) await deps.store.wallets.rememberProof(address)
  const proven = { wallet: address, walletKind, chainId, method: 'signature' as const, scopes, provedAt: deps.now() }
  // Ending everything allows nothing, so no receipt is stored. An attacker who keeps raising the epoch could make that insert fail.
  if (challenge.purpose.kind === 'end_everything') return { ...proven, epoch: wallet.epoch, receiptId: null }
  const signed = { address, chainId, message, signature, scopes, walletKind }
  return { ...proven, ...(await keepReceipt(deps, challenge, signed, wallet.epoch)), ...(limit && { limit }) }
}

/** The login server vouches for the wallet. This is off by default. A vouched login is not a consent and has no receipt. */
async function acceptVouched(deps: Deps, challenge: Challenge, claim: WalletClaim, text: SignInText): Promise<ProvenWallet> {
  if (!deps.settings.loginMayVouch) throw new LoginError('vouching_off', 'vouching_off')
  const { purpose } = challenge
  if (purpose.kind === 'end_everything') throw new LoginError('consent_needs_signature', 'end_everything_needs_signature')
  if (purpose.kind === 'approval') throw new LoginError('consent_needs_signature', 'approval_needs_signature')
  if ('request' in purpose && needsSignature(await requireClient(deps, purpose), challenge)) {
    throw new LoginError('consent_needs_signature', 'signed_consent_needs_signature')
  }
  await refuseUsed(deps, challenge, await readChallengeUse(deps, challenge))
  const epoch = await deps.store.wallets.readEpoch(text.address)
  // The kind of the wallet is unknown. `ordinary` is correct, because no signature must be checked again.
  return {
    wallet: text.address,
    walletKind: 'ordinary',
    chainId: claim.chainId,
    method: 'vouched',
    epoch,
    provedAt: deps.now(),
    scopes: text.scopes,
    receiptId: null,
  }
}

async function refuseUsed(deps: Deps, challenge: Challenge, use: ChallengeUse): Promise<void> {
  if (use === 'key_retired') throw new LoginError('expired', 'session_key_retired')
  if (use === 'already_used') throw new LoginError(use, 'challenge_already_used')
  if (use === 'signed_on_other_device') throw new LoginError(use, 'challenge_signed_on_other_device')
  if (use === 'continued_elsewhere') throw new LoginError(use, 'challenge_continued_elsewhere')
  if (challenge.purpose.kind === 'approval') return refuseAnswered(deps, challenge.purpose.approval)
  // The user may have answered in another browser, which has a challenge of its own.
  if (challenge.purpose.kind === 'device' && (await isAnswered(deps, challenge.purpose.request))) {
    throw new LoginError('already_used', 'challenge_already_used')
  }
}

/** Two browsers, or two wallets in one, may sign the same approval. The first answer stays. */
async function refuseAnswered({ store }: Deps, approval: ApprovalRequest): Promise<void> {
  const row = await store.approvals.readApproval(approval)
  if (row?.answeredAt !== null) throw new LoginError('already_used', 'challenge_already_used')
}

/** The API and the apps of an approval. Throws if one of them can ask for nothing any more. */
async function requireParties(deps: Deps, { apiId, appId }: ApprovalRequest) {
  const parties = await findParties(deps, { clientId: apiId, apps: [appId] })
  if (!parties) throw new LoginError('client_not_allowed', 'client_unknown_or_disabled')
  return parties
}

function clientIdOf({ purpose }: Challenge): { client_id?: string } {
  if (purpose.kind === 'approval') return { client_id: purpose.approval.apiId }
  return 'request' in purpose ? { client_id: purpose.request.clientId } : {}
}

function completeUrl(deps: Deps, text: string, challenge: Challenge, proof: LoginVerifier['proof']): string {
  const { nonce, browserHash, elsewhere, purpose } = challenge
  const expiresAt = deps.now() + VERIFIER_LIFETIME
  // After the end of its code, a device could not get the tokens.
  const end = purpose.kind === 'device' ? Math.min(expiresAt, purpose.request.expiresAt) : expiresAt
  const verifier: LoginVerifier = { nonce, browserHash, elsewhere, crossDevice: isCrossDevice(challenge), expiresAt: end, proof }
  return `${deps.settings.authUrl}/login/complete?login_challenge=${text}&login_verifier=${LOGIN_VERIFIER.seal(deps.keys, verifier)}`
}
