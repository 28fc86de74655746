/**
 * The exact text a wallet is to sign, composed from the sealed challenge alone: composed once to be shown, and once more
 * when the signature arrives. Nothing is parsed, and no field of the browser's choosing is in the path of trust. It says which
 * app may do what, and until when (RFC 6749 §10.2).
 */
import { redirectUriPlace } from '../oauth/redirect-uri.ts'
import { isSubset, parseScope } from '../oauth/scope.ts'
import { composeAccountMessage, composeEndEverythingMessage } from '../wallet/account-message.ts'
import { type Address, parseAddress } from '../wallet/address.ts'
import { composeConsentMessage } from '../wallet/consent-message.ts'
import { type AuthorizationRequest, clientOfRequest } from './authorization-request.ts'
import { type Challenge, challengeExpiresAt, requestIdOf } from './challenge.ts'
import type { Deps } from './deps.ts'
import { LoginError } from './login-error.ts'
import type { Client } from './model.ts'

/** A wallet's claim to a challenge, as the login server sent it. */
export type WalletClaim = { challenge: string; address: string; chainId: number; scope: string | null }

/** What the wallet is asked to sign, and what of the request is left of it. */
export type SignInText = { address: Address; message: string; scopes: string[] }

export async function composeSignInText(deps: Deps, challenge: Challenge, claim: WalletClaim): Promise<SignInText> {
  const address = readAddress(claim.address)
  if (!deps.settings.chainIds.includes(claim.chainId)) throw new LoginError('chain_not_allowed', 'chain_not_allowed')
  const { loginUrl } = deps.settings
  const header = {
    template: challenge.template,
    domain: new URL(loginUrl).host,
    address,
    chainId: claim.chainId,
    nonce: challenge.nonce,
    issuedAt: challenge.issuedAt,
    requestId: requestIdOf(challenge),
  }
  const { purpose } = challenge
  if (purpose.kind !== 'app') {
    const fields = { ...header, loginUrl: `${loginUrl}/login`, expiresAt: challengeExpiresAt(challenge) }
    const compose = purpose.kind === 'account' ? composeAccountMessage : composeEndEverythingMessage
    return { address, message: known(compose(fields)), scopes: [] }
  }
  const { request } = purpose
  const scopes = readScopes(await requireClient(deps, request), request, claim.scope)
  const { clientName, until } = challenge
  const { clientId, redirectUri, resources } = request
  const keyThumbprint = request.dpopJkt ?? undefined
  const { clientHost, clientScheme } = redirectUriPlace(redirectUri)
  const app = { clientName, clientHost: clientScheme ?? clientHost, clientId, redirectUri, keyThumbprint }
  return { address, message: known(composeConsentMessage({ ...header, ...app, scopes, resources, until })), scopes }
}

/** The client of a login's request, as far as the request would still be taken. */
export async function requireClient(deps: Deps, request: AuthorizationRequest): Promise<Client> {
  const client = await clientOfRequest(deps, request)
  if (!client) throw new LoginError('client_not_allowed', 'client_unknown_or_disabled')
  return client
}

/** Whether the person may switch off single scopes: only where the signed text, not the session, is what tokens rest on. */
export function mayChooseScopes(client: Client): boolean {
  return client.consent === 'signed'
}

function readAddress(text: string): Address {
  const parsed = parseAddress(text)
  // An address without a key is refused before any cryptography: a failed recovery must never equal a claimed 0x0.
  if (parsed.kind === 'keyless') throw new LoginError('address_not_allowed', 'address_keyless')
  if (parsed.kind !== 'address') throw new LoginError('invalid_request', `address_${parsed.kind}`)
  return parsed.address
}

/** The scopes that are left on, in the order the app asked for them. */
function readScopes(client: Client, request: AuthorizationRequest, scope: string | null): string[] {
  const chosen = scope === null ? request.scopes : parseScope(scope)
  if (!chosen || !isSubset(chosen, request.scopes)) throw new LoginError('invalid_request', 'scope_not_asked_for')
  if (chosen.length < request.scopes.length && !mayChooseScopes(client)) {
    throw new LoginError('invalid_request', 'scope_choice_not_offered')
  }
  return request.scopes.filter((each) => chosen.includes(each) || isRequiredScope(each))
}

/** To sign in is what `openid` means: without it the app, which waits for an ID token, would get an answer that it cannot read. */
export function isRequiredScope(scope: string): boolean {
  return scope === 'openid'
}

/** Older templates are composed for one challenge lifetime; one that is not known any more is out of date, never "wrong". */
function known(message: string | null): string {
  if (message === null) throw new LoginError('expired', 'template_unknown')
  return message
}
