/** Receipts: the texts that wallets signed, stored sealed. */

import { isSubset } from '@grantor/protocol/scope'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { PREFIXES, type SealContext, sealBytes, unsealBytes } from '../../protocol/keys/sealed.ts'
import { redirectUriMatches } from '../../protocol/oauth/redirect-uri.ts'
import { readConsent } from '../../protocol/wallet/read-consent.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import { grantedAt } from '../model/granted-scopes.ts'
import type { Client, Receipt, ScopesByResource, Session } from '../model/records.ts'
import { portRuleOf } from '../model/redirect-rules.ts'
import { packSigned, type ReceiptColumns, type SignedMessage, unpackSigned } from './receipt-form.ts'

export type { SignedMessage } from './receipt-form.ts'

/** Signatures are stored sealed, so that a leaked database reveals none. */
export function sealSignedMessage(ring: KeyRing, columns: ReceiptColumns, signed: SignedMessage): Uint8Array {
  return sealBytes(ring, contextOf(columns), packSigned(signed, columns))
}

/** The signed text and the signature; undefined if the key that sealed them is retired, or if a column of the receipt was changed. */
export function openReceipt(ring: KeyRing, receipt: Receipt): SignedMessage | undefined {
  const packed = unsealBytes(ring, contextOf(receipt), receipt.sealed)
  return packed && unpackSigned(packed, receipt)
}

/** A seal opens only with the columns that it was made with, so a row that was copied to another wallet does not open. */
function contextOf(columns: ReceiptColumns): SealContext {
  const { wallet, id, chainId, clientId, redirectUri, scopes, resources, issuedAt, expiresAt } = columns
  const bound = JSON.stringify([wallet, id, chainId, clientId, redirectUri, scopes, resources, issuedAt, expiresAt])
  return { purpose: PREFIXES.receipt, bound }
}

/**
 * How many receipts of a wallet at a client are read to find one that covers a request, and how many older ones are kept
 * (`../maintenance/bounds.ts`). Withdrawn receipts are not read: if a node's clock was ahead, they would come before newer ones.
 */
export const RECEIPTS_READ = 20

/**
 * A valid receipt of the session's wallet that covers the request: the newest receipt with exactly this redirect URI, otherwise the
 * newest receipt with another loopback port (`isForAnotherPort`).
 */
export async function findCoveringReceipt(
  deps: Deps,
  session: Session,
  client: Client,
  request: AuthorizationRequest,
): Promise<Receipt | null> {
  const { redirectUri, scopes, resources } = request
  const receipts = await deps.store.receipts.listReceipts(session.wallet, { clientId: client.id, limit: RECEIPTS_READ })
  const candidates = receipts.filter(
    (receipt) =>
      receipt.expiresAt > deps.now() &&
      // ERC-5573: the user authorized this redirect URI and read the host. A consent does not cover the client's other redirect URIs.
      redirectUriMatches([receipt.redirectUri], redirectUri, portRuleOf(client)) &&
      isSubset(scopes, receipt.scopes) &&
      isSubset(resources, receipt.resources),
  )
  const isExact = (receipt: Receipt) => receipt.redirectUri === redirectUri
  const ordered = [...candidates.filter(isExact), ...candidates.filter((receipt) => !isExact(receipt))]
  // Opening a receipt takes longer than all other conditions, so the search ends at the first that covers the request.
  return ordered.find((receipt) => coversText(deps.keys, receipt, request)) ?? null
}

/**
 * RFC 8252 §7.3, §8.6: the port of an app on the device may differ from the port in the consent, but any program on the device can
 * listen on another port. If the client does not authenticate, such a program could redeem the code, so the user must confirm the request.
 */
export function isForAnotherPort(receipt: Receipt, client: Client, { redirectUri }: AuthorizationRequest): boolean {
  return client.authMethod === 'none' && receipt.redirectUri !== redirectUri
}

/**
 * A consent covers each resource with the scopes that the text names for it. A consent that names a key (RFC 9449) covers only requests
 * with that key. An unreadable receipt may name a key, so nothing is covered. A consent with a limit covers no later request: each signature over a
 * limit has one grant and one count.
 */
function coversText(ring: KeyRing, receipt: Receipt, request: AuthorizationRequest): boolean {
  const signed = openReceipt(ring, receipt)
  const consent = signed ? readConsent(signed.message) : null
  if (consent === null || consent.limit !== undefined) return false
  if (consent.keyThumbprint !== undefined && consent.keyThumbprint !== request.dpopJkt) return false
  return request.resources.every((resource) => {
    const allowed = consent.grants.find((each) => each.resource === resource)?.scopes ?? []
    return isSubset(grantedAt(request, resource), allowed)
  })
}

/** The scopes of each resource in the signed text; null if every resource has every scope. */
export function scopesByResourceOf(ring: KeyRing, receipt: Receipt): ScopesByResource | null {
  // A receipt of one resource need not be opened.
  const signed = receipt.resources.length > 1 ? openReceipt(ring, receipt) : undefined
  const grants = signed ? (readConsent(signed.message)?.grants ?? []) : []
  return grants.some(({ scopes }) => scopes.length < receipt.scopes.length)
    ? Object.fromEntries(grants.map(({ resource, scopes }) => [resource, scopes]))
    : null
}
