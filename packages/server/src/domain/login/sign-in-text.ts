/**
 * The text that a wallet signs. The service composes the text from the sealed challenge, once to show it and again when the signature
 * arrives. So no text of the browser is parsed or trusted (ERC-4361). The text names the app, what the app may do, and until when
 * (RFC 6749 §10.2).
 */

import { isSubset, parseScope } from '@grantor/protocol/scope'
import { isRequiredScope } from '../../protocol/oauth/standard-scopes.ts'
import { showUserCode } from '../../protocol/oauth/user-code.ts'
import { composeAccountMessage, composeEndEverythingMessage } from '../../protocol/wallet/account-message.ts'
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import { composeApproval } from '../../protocol/wallet/approval-message.ts'
import { type LimitChoice, lowerLimit } from '../../protocol/wallet/limit-choice.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import type { MessageHeader } from '../../protocol/wallet/message-lines.ts'
import { composeShortConsent } from '../../protocol/wallet/short-consent.ts'
import {
  type Challenge,
  type ConsentPurpose,
  challengeExpiresAt,
  crossDeviceCodeOf,
  isCrossDevice,
  requestIdOf,
  templateWithoutLimit,
} from '../authorization/challenge.ts'
import { clientOfDevice } from '../authorization/device-authorization.ts'
import { clientOfRequest } from '../authorization/redirects.ts'
import type { ApprovalRequest } from '../model/approval-request.ts'
import { limitAmong, withScopes } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, SignedLimit } from '../model/records.ts'
import { textIdOf } from '../model/text-id.ts'
import { LoginError } from './login-error.ts'

/** The wallet and the choices of the user, as the login server sent them. Nothing is proved yet. */
export type WalletClaim = {
  challenge: string
  address: string
  chainId: number
  scope: string | null
  /** null for the limit of the request */
  limit: LimitChoice | null
}

/** The text to sign, and what the user chose. */
export type SignInText = { address: Address; message: string; scopes: string[]; limit: SignedLimit | null }

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
  if (purpose.kind === 'approval') return composeApprovalText(challenge, purpose.approval, header)
  if (!('request' in purpose)) {
    const fields = { ...header, loginUrl: `${loginUrl}/login`, expiresAt: challengeExpiresAt(challenge) }
    const compose = purpose.kind === 'account' ? composeAccountMessage : composeEndEverythingMessage
    return { address, message: requireTemplate(compose(fields)), scopes: [], limit: null }
  }
  const chosen = readScopes(await requireClient(deps, purpose), challenge, purpose.request, claim.scope)
  const { scopes, limit } = readLimit(purpose.request.limit, chosen, claim.limit)
  const { clientName, until } = challenge
  const { clientId, dpopJkt } = purpose.request
  const template = limit === null ? templateWithoutLimit(challenge.template) : challenge.template
  const app = { clientName, clientId: textIdOf(clientId), until, keyThumbprint: dpopJkt ?? undefined }
  const code = isCrossDevice(challenge) ? { userCode: crossDeviceCodeOf(deps.keys, challenge) } : {}
  return {
    address,
    message: requireTemplate(
      composeShortConsent({ ...header, template, ...app, ...allowedBy(purpose, scopes), ...code, limit: limit ?? undefined }),
    ),
    scopes,
    limit: limit && { ...limit, signedAt: challenge.issuedAt },
  }
}

/** The action can be signed by one wallet only: that of the grant. */
function composeApprovalText(
  { clientName, until }: Challenge,
  approval: ApprovalRequest,
  header: Omit<MessageHeader, 'requestId'> & { template: number },
): SignInText {
  const { address } = header
  if (address !== approval.wallet) throw new LoginError('another_wallet', 'approval_of_another_wallet')
  const { resource, scope, summary, digest } = approval
  const app = { clientName, clientId: textIdOf(approval.appId) }
  const message = requireTemplate(composeApproval({ ...header, ...app, resource, scope, summary, digest, until }))
  return { address, message, scopes: [scope], limit: null }
}

/** What the wallet allows, and to which redirect URI or device. */
function allowedBy(purpose: ConsentPurpose, scopes: string[]) {
  if (purpose.kind === 'device') {
    const { resources, userCode } = purpose.request
    return { scopes, resources, userCode: showUserCode(userCode) }
  }
  const { resources, scopesByResource } = withScopes(purpose.request, scopes)
  return { scopes, resources, scopesByResource: scopesByResource ?? undefined, redirectUri: purpose.request.redirectUri }
}

/** The client of a login's request. Throws if the client can no longer make this request. */
export async function requireClient(deps: Deps, purpose: ConsentPurpose): Promise<Client> {
  const client = await clientOfPurpose(deps, purpose)
  if (!client) throw new LoginError('client_not_allowed', 'client_unknown_or_disabled')
  return client
}

/** The client; null if the client is disabled or can no longer make this request. */
export function clientOfPurpose(deps: Deps, purpose: ConsentPurpose): Promise<Client | null> {
  return purpose.kind === 'device' ? clientOfDevice(deps, purpose.request) : clientOfRequest(deps, purpose.request)
}

/** Whether the user may decline single scopes: only if tokens depend on the signed consent, not on the session. */
export function mayChooseScopes(client: Client, challenge: Challenge): boolean {
  // Access for a device or for another browser needs a signed consent, whatever the client's rule is: a session here does not name that device.
  return isDevice(challenge) || hasLimit(challenge) || client.consent === 'signed'
}

const isDevice = (challenge: Challenge): boolean => challenge.purpose.kind === 'device' || isCrossDevice(challenge)

/** A limit is always signed, and the user may decline its scope. */
function hasLimit({ purpose }: Challenge): boolean {
  return 'request' in purpose && Boolean(purpose.request.limit)
}

/** Whether the login server cannot vouch for the wallet: the tokens depend on the signed consent, or the request requires a signature. */
export function needsSignature(client: Client, challenge: Challenge): boolean {
  const { purpose } = challenge
  return mayChooseScopes(client, challenge) || (purpose.kind === 'app' && purpose.request.needsSignature)
}

function readAddress(text: string): Address {
  const parsed = parseAddress(text)
  // An address without a key, such as 0x0, is refused before the signature is checked: a failed recovery could return this address.
  if (parsed.kind === 'keyless') throw new LoginError('address_not_allowed', 'address_keyless')
  if (parsed.kind !== 'address') throw new LoginError('invalid_request', `address_${parsed.kind}`)
  return parsed.address
}

/** The scopes that the user did not decline, in the order of the request. */
function readScopes(client: Client, challenge: Challenge, request: ConsentPurpose['request'], scope: string | null): string[] {
  const chosen = scope === null ? request.scopes : parseScope(scope)
  if (!chosen || !isSubset(chosen, request.scopes)) throw new LoginError('invalid_request', 'scope_not_asked_for')
  if (chosen.length < request.scopes.length && !mayChooseScopes(client, challenge)) {
    throw new LoginError('invalid_request', 'scope_choice_not_offered')
  }
  return request.scopes.filter((each) => chosen.includes(each) || isRequiredScope(each))
}

/** The scopes, and the limit with the numbers that the user chose. Without a use, the scope is declined. */
function readLimit(
  requested: ScopeLimit | null | undefined,
  scopes: string[],
  choice: LimitChoice | null,
): { scopes: string[]; limit: ScopeLimit | null } {
  const left = limitAmong(requested, scopes)
  if (left === null || choice === null) return { scopes, limit: left }
  const lowered = lowerLimit(left.limit, choice)
  if (lowered === null) throw new LoginError('limit_refused', 'limit_not_lower')
  if (lowered !== 'declined') return { scopes, limit: { ...left, limit: lowered } }
  const others = scopes.filter((scope) => scope !== left.scope)
  if (others.length === 0) throw new LoginError('limit_refused', 'limit_declined_alone')
  return { scopes: others, limit: null }
}

/** Older templates are supported for the lifetime of a challenge. If a template is unknown, the login has expired. */
function requireTemplate(message: string | null): string {
  if (message === null) throw new LoginError('expired', 'template_unknown')
  return message
}
