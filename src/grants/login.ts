/**
 * What the login server may ask: what a challenge is about, the text to sign, and whether a signature proves the wallet.
 *
 * The text is composed here, from the sealed challenge, and composed again when the signature arrives: nothing is
 * parsed, nothing is stored before the proof, and no field of the client's choosing is in the path of trust.
 */
import { createHash } from 'node:crypto'
import { seal } from '../keys/sealed.ts'
import { redirectUriHost } from '../oauth/redirect-uri.ts'
import { isSubset, parseScope } from '../oauth/scope.ts'
import { type Address, parseAddress, shortenAddress } from '../wallet/address.ts'
import { composeSignInMessage } from '../wallet/sign-in-message.ts'
import { verifyPlainSignature } from '../wallet/signature.ts'
import { clientOfRequest } from './authorization-request.ts'
import { type Challenge, challengeExpiresAt, openChallenge, sessionIdOf } from './challenge.ts'
import type { Deps } from './deps.ts'
import { LoginError } from './login-error.ts'
import type { LoginMethod } from './model.ts'
import { hashSessionId, meetsConsentRule } from './session.ts'

/** Seconds from the proof to its use. */
const VERIFIER_LIFETIME = 60
const SIGNATURE_AT_MOST = 8192

/** What the page tells the person before anything is signed. */
export type ChallengeDescription = {
  client_name: string
  client_host: string
  scopes: { name: string; description: string }[]
  chain_ids: number[]
  /** epoch seconds */
  expires_at: number
}

/** A wallet's claim to a challenge, as the login server sent it. */
export type WalletClaim = { challenge: string; address: string; chainId: number; scope: string | null }

/** What a proof seals for `/login/complete`. */
export type Verifier = {
  nonce: string
  expiresAt: number
  proof: { wallet: Address; chainId: number; method: LoginMethod; epoch: number } | 'denied'
}

export async function describeChallenge(deps: Deps, text: string): Promise<ChallengeDescription> {
  const challenge = openLiving(deps, text)
  const client = await clientOfRequest(deps, challenge.request)
  if (!client) throw new LoginError('client_not_allowed', 'client_unknown_or_disabled')
  await refuseUsed(deps, challenge)
  return {
    client_name: client.name,
    client_host: redirectUriHost(challenge.request.redirectUri),
    scopes: challenge.request.scopes.map((name) => ({ name, description: deps.settings.scopeDescriptions[name] ?? name })),
    chain_ids: deps.settings.chainIds,
    expires_at: challengeExpiresAt(challenge),
  }
}

/** The exact text the wallet is to sign. */
export function composeText(deps: Deps, claim: WalletClaim): string {
  const challenge = openLiving(deps, claim.challenge)
  return textFor(deps, challenge, claim).message
}

/**
 * Takes a signature as the proof of an address, or the login server's word where vouching is on.
 * Returns where the browser goes on. One recovery, one write.
 */
export async function acceptLogin(deps: Deps, claim: WalletClaim, signature: string | null): Promise<string> {
  if (signature !== null && signature.length > SIGNATURE_AT_MOST) throw new LoginError('too_large', 'signature_too_large')
  const challenge = openLiving(deps, claim.challenge)
  const { address, message } = textFor(deps, challenge, claim)
  if (signature === null) {
    if (!deps.settings.loginMayVouch) throw new LoginError('vouching_off', 'vouching_off')
    const client = await clientOfRequest(deps, challenge.request)
    if (!client) throw new LoginError('client_not_allowed', 'client_unknown_or_disabled')
    if (!meetsConsentRule(client, 'vouched')) throw new LoginError('vouching_off', 'vouching_for_signed_consent')
    await refuseUsed(deps, challenge)
    return proven(deps, claim, challenge, address, 'vouched', await deps.store.wallets.readEpoch(address))
  }
  const proof = verifyPlainSignature(message, signature, address)
  if (proof.kind === 'malformed') throw new LoginError('invalid_request', 'signature_malformed')
  if (proof.kind === 'not_proven') throw new LoginError('not_proven', 'signature_of_another')
  await refuseUsed(deps, challenge)
  return proven(deps, claim, challenge, address, 'signature', await deps.store.wallets.rememberProof(address))
}

/** The person declined. The way back to the app goes through `/login/complete` too, so that only this browser walks it. */
export function rejectLogin(deps: Deps, text: string): string {
  const challenge = openLiving(deps, text)
  return completeUrl(deps, text, challenge, 'denied')
}

function openLiving(deps: Deps, text: string): Challenge {
  const challenge = openChallenge(deps.keys, text)
  if (!challenge) throw new LoginError('invalid_request', 'challenge_unknown')
  if (challengeExpiresAt(challenge) <= deps.now()) throw new LoginError('expired', 'challenge_expired')
  return challenge
}

/** Used up means: the one session it can start was started. */
async function refuseUsed(deps: Deps, challenge: Challenge): Promise<void> {
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) throw new LoginError('expired', 'session_key_retired')
  if (await deps.store.sessions.readSession(hashSessionId(sessionId))) throw new LoginError('already_used', 'challenge_used')
}

function textFor(deps: Deps, challenge: Challenge, claim: WalletClaim): { address: Address; message: string } {
  const parsed = parseAddress(claim.address)
  // An address without a key is refused before any cryptography: a failed recovery must never equal a claimed 0x0.
  if (parsed.kind === 'keyless') throw new LoginError('address_not_allowed', 'address_keyless')
  if (parsed.kind !== 'address') throw new LoginError('invalid_request', `address_${parsed.kind}`)
  if (!deps.settings.chainIds.includes(claim.chainId)) throw new LoginError('chain_not_allowed', 'chain_not_allowed')
  requireAllScopes(challenge, claim.scope)
  const message = composeSignInMessage({
    template: challenge.template,
    domain: new URL(deps.settings.loginUrl).host,
    address: parsed.address,
    chainId: claim.chainId,
    clientName: challenge.clientName,
    clientHost: redirectUriHost(challenge.request.redirectUri),
    scopes: challenge.request.scopes,
    until: challenge.until,
    uri: `${deps.settings.loginUrl}/login`,
    nonce: challenge.nonce,
    issuedAt: challenge.issuedAt,
    expiresAt: challengeExpiresAt(challenge),
    requestId: requestIdOf(challenge),
  })
  if (message === null) throw new LoginError('expired', 'template_unknown')
  return { address: parsed.address, message }
}

/** A sign-in text names every scope the app asked for; a narrower choice is not offered with it, so none is half-honoured. */
function requireAllScopes(challenge: Challenge, scope: string | null): void {
  const chosen = scope === null ? challenge.request.scopes : parseScope(scope)
  const { scopes } = challenge.request
  if (!chosen || chosen.length !== scopes.length || !isSubset(chosen, scopes))
    throw new LoginError('invalid_request', 'scope_not_as_asked')
}

/** ERC-4361's `Request ID`, a UUID that follows from the nonce. */
function requestIdOf(challenge: Challenge): string {
  const hex = createHash('sha256').update(`request ${challenge.nonce}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function proven(
  deps: Deps,
  claim: WalletClaim,
  challenge: Challenge,
  wallet: Address,
  method: LoginMethod,
  epoch: number,
): string {
  deps.audit({ event: 'wallet_proved', reason: method, client_id: challenge.request.clientId, wallet: shortenAddress(wallet) })
  return completeUrl(deps, claim.challenge, challenge, { wallet, chainId: claim.chainId, method, epoch })
}

function completeUrl(deps: Deps, text: string, challenge: Challenge, proof: Verifier['proof']): string {
  const verifier: Verifier = { nonce: challenge.nonce, expiresAt: deps.now() + VERIFIER_LIFETIME, proof }
  return `${deps.settings.authUrl}/login/complete?login_challenge=${text}&login_verifier=${seal(deps.keys, 'grv', verifier)}`
}
