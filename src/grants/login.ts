/**
 * What the login server may ask: what a challenge is about, the text to sign, and whether a signature proves the wallet.
 *
 * Nothing is stored before the proof. A proof stores the signed text as a receipt: of any number of simultaneous proofs
 * of one challenge by one wallet exactly one succeeds.
 */
import { seal } from '../keys/sealed.ts'
import { redirectUriPlace } from '../oauth/redirect-uri.ts'
import { type Address, shortenAddress } from '../wallet/address.ts'
import { type Challenge, challengeExpiresAt, openChallenge } from './challenge.ts'
import { readChallengeUse } from './challenge-use.ts'
import type { Deps } from './deps.ts'
import { keepReceipt } from './keep-receipt.ts'
import { LoginError } from './login-error.ts'
import type { LoginMethod, WalletKind } from './model.ts'
import { type AdmitContractCheck, proveWallet } from './prove-wallet.ts'
import { meetsConsentRule } from './session.ts'
import {
  composeSignInText,
  isRequiredScope,
  mayChooseScopes,
  requireClient,
  type SignInText,
  type WalletClaim,
} from './sign-in-text.ts'

/** Seconds from the proof to its use. */
const VERIFIER_LIFETIME = 60
const SIGNATURE_AT_MOST = 8192

/** What the page tells the person before anything is signed. */
export type ChallengeDescription = {
  purpose: Challenge['purpose']['kind']
  client_name: string
  /** '' for an app on the device */
  client_host: string
  /** the private-use scheme of an app on the device (RFC 8252 §7.1); there only for one */
  client_scheme?: string
  /** `required`: cannot be switched off; there only where it is so */
  scopes: { name: string; description: string; required?: true }[]
  /** whether single scopes may be switched off */
  may_choose_scopes: boolean
  resources: string[]
  chain_ids: number[]
  /** epoch seconds; until then the challenge is open */
  expires_at: number
  /** epoch seconds; until then lasts what is agreed to */
  until: number
  /** where another device takes this up; null where it was taken up already, or where no app asked */
  resume_url: string | null
  /** the wallet that the app expects, where it said so */
  login_hint?: Address
}

export type SignInAttempt = { claim: WalletClaim; signature: string | null; admitContractCheck: AdmitContractCheck }

/** What a proof seals for `/login/complete`. */
export type Verifier = {
  nonce: string
  /** of the browser it is for: one challenge taken up on several devices has one nonce */
  browserHash: string
  elsewhere: boolean
  expiresAt: number
  proof: Proof | 'denied'
}

export type Proof = {
  wallet: Address
  walletKind: WalletKind
  chainId: number
  method: LoginMethod
  epoch: number
  scopes: string[]
  receiptId: string | null
}

export async function describeChallenge(deps: Deps, text: string): Promise<ChallengeDescription> {
  const challenge = await openLiving(deps, text)
  const { purpose } = challenge
  const app = purpose.kind === 'app' ? { client: await requireClient(deps, purpose.request), request: purpose.request } : null
  await refuseUsed(deps, challenge)
  const { authUrl, chainIds, scopeDescriptions } = deps.settings
  const { clientHost, clientScheme } = redirectUriPlace(app?.request.redirectUri ?? authUrl)
  return {
    purpose: purpose.kind,
    client_name: app?.client.name ?? '',
    client_host: clientHost,
    ...(clientScheme ? { client_scheme: clientScheme } : {}),
    scopes: app?.request.scopes.map((name) => describeScope(name, scopeDescriptions)) ?? [],
    may_choose_scopes: app !== null && mayChooseScopes(app.client),
    resources: app?.request.resources ?? [],
    chain_ids: chainIds,
    expires_at: challengeExpiresAt(challenge),
    until: app ? challenge.until : challengeExpiresAt(challenge),
    ...(app?.request.loginHint ? { login_hint: app.request.loginHint } : {}),
    resume_url: app === null || challenge.elsewhere ? null : `${authUrl}/login/resume?login_challenge=${text}`,
  }
}

function describeScope(name: string, words: Record<string, string>): ChallengeDescription['scopes'][number] {
  const scope = { name, description: words[name] ?? name }
  return isRequiredScope(name) ? { ...scope, required: true } : scope
}

/** The exact text the wallet is to sign. */
export async function composeText(deps: Deps, claim: WalletClaim): Promise<string> {
  return (await composeSignInText(deps, await openLiving(deps, claim.challenge), claim)).message
}

/**
 * Takes a signature as the proof of an address, or the login server's word where vouching is on.
 * Returns where the browser goes on. For an ordinary wallet: one recovery, one write, and one more on its very first proof.
 */
export async function acceptLogin(deps: Deps, { claim, signature, admitContractCheck }: SignInAttempt): Promise<string> {
  if (signature !== null && signature.length > SIGNATURE_AT_MOST) throw new LoginError('too_large', 'signature_too_large')
  const challenge = await openLiving(deps, claim.challenge)
  const text = await composeSignInText(deps, challenge, claim)
  const proof =
    signature === null
      ? await takeWord(deps, challenge, claim, text)
      : await takeSignature(deps, challenge, text, { claim, signature, admitContractCheck })
  deps.audit({ event: 'wallet_proved', reason: proof.method, ...clientIdOf(challenge), wallet: shortenAddress(proof.wallet) })
  return completeUrl(deps, claim.challenge, challenge, proof)
}

/** The person declined. The way back to the app goes through `/login/complete` too, so that only this browser walks it. */
export async function rejectLogin(deps: Deps, text: string): Promise<string> {
  return completeUrl(deps, text, await openLiving(deps, text), 'denied')
}

async function openLiving(deps: Deps, text: string): Promise<Challenge> {
  const challenge = await openChallenge(deps, text)
  if (!challenge) throw new LoginError('invalid_request', 'challenge_unknown')
  if (challengeExpiresAt(challenge) <= deps.now()) throw new LoginError('expired', 'challenge_expired')
  return challenge
}

async function takeSignature(
  deps: Deps,
  challenge: Challenge,
  { address, message, scopes }: SignInText,
  { claim: { chainId }, signature, admitContractCheck }: SignInAttempt & { signature: string },
): Promise<Proof> {
  // The epoch is read before the proof. If an ending raises it meanwhile, the insert of the receipt fails.
  const wallet = await deps.store.wallets.readWallet(address)
  const walletKind = await proveWallet(deps, { message, signature, address, chainId, wallet, admitContractCheck })
  await refuseUsed(deps, challenge)
  if (walletKind === 'ordinary' && !wallet.provedItself) await deps.store.wallets.rememberProof(address)
  const proof = { wallet: address, walletKind, chainId, method: 'signature' as const, scopes }
  // It allows nobody anything, and whoever keeps ending things must not be able to stop it.
  if (challenge.purpose.kind === 'end_everything') return { ...proof, epoch: wallet.epoch, receiptId: null }
  const signed = { address, chainId, message, signature, scopes, walletKind }
  return { ...proof, ...(await keepReceipt(deps, challenge, signed, wallet.epoch)) }
}

/** The word of a platform's own login server, off unless the operator turned it on. It is no consent and makes no receipt. */
async function takeWord(deps: Deps, challenge: Challenge, claim: WalletClaim, text: SignInText): Promise<Proof> {
  if (!deps.settings.loginMayVouch) throw new LoginError('vouching_off', 'vouching_off')
  const { purpose } = challenge
  if (purpose.kind === 'end_everything') throw new LoginError('consent_needs_signature', 'end_everything_needs_signature')
  if (purpose.kind === 'app' && !meetsConsentRule(await requireClient(deps, purpose.request), 'vouched')) {
    throw new LoginError('consent_needs_signature', 'signed_consent_needs_signature')
  }
  await refuseUsed(deps, challenge)
  const epoch = await deps.store.wallets.readEpoch(text.address)
  // Nobody said what kind of wallet it is; there is no signature to check again either.
  return {
    wallet: text.address,
    walletKind: 'ordinary',
    chainId: claim.chainId,
    method: 'vouched',
    epoch,
    scopes: text.scopes,
    receiptId: null,
  }
}

async function refuseUsed(deps: Deps, challenge: Challenge): Promise<void> {
  const use = await readChallengeUse(deps, challenge)
  if (use === 'key_retired') throw new LoginError('expired', 'session_key_retired')
  if (use === 'already_used') throw new LoginError(use, 'challenge_already_used')
  if (use === 'continued_elsewhere') throw new LoginError(use, 'challenge_continued_elsewhere')
}

function clientIdOf({ purpose }: Challenge): { client_id?: string } {
  return purpose.kind === 'app' ? { client_id: purpose.request.clientId } : {}
}

function completeUrl(deps: Deps, text: string, challenge: Challenge, proof: Verifier['proof']): string {
  const { nonce, browserHash, elsewhere } = challenge
  const verifier: Verifier = { nonce, browserHash, elsewhere, expiresAt: deps.now() + VERIFIER_LIFETIME, proof }
  return `${deps.settings.authUrl}/login/complete?login_challenge=${text}&login_verifier=${seal(deps.keys, 'grv', verifier)}`
}
