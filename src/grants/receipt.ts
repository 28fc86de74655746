/** Receipts: what a wallet signed, kept sealed, and what may rest on it. */
import type { KeyRing } from '../keys/key-ring.ts'
import { seal, unseal } from '../keys/sealed.ts'
import { redirectUriMatches } from '../oauth/redirect-uri.ts'
import { isSubset } from '../oauth/scope.ts'
import { readConsent } from '../wallet/read-consent.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import type { Client, Receipt, Session } from './model.ts'

export type SignedMessage = { message: string; signature: string }

/** A store that leaks must not hand out signatures: they are kept like codes are sent. */
export function sealSignedMessage(ring: KeyRing, signed: SignedMessage): string {
  return seal(ring, 'grx', signed)
}

/** What was signed; undefined where the key it was sealed with is retired. */
export function openReceipt(ring: KeyRing, receipt: Receipt): SignedMessage | undefined {
  return unseal(ring, 'grx', receipt.sealed) as SignedMessage | undefined
}

/**
 * How many of a client's receipts are looked at for one that covers a request. Not counted are withdrawn ones: of a node
 * whose clock was ahead they would pass for younger.
 */
const LOOKED_AT = 50

/** The youngest receipt of this session's wallet that allows at least what is asked for, and still holds. */
export async function findCoveringReceipt(
  deps: Deps,
  session: Session,
  client: Client,
  request: AuthorizationRequest,
): Promise<Receipt | null> {
  const { redirectUri, scopes, resources, dpopJkt } = request
  const of = { clientId: client.id, limit: LOOKED_AT }
  const receipts = await deps.store.receipts.listReceipts(session.wallet, of)
  const covering = receipts.find(
    (receipt) =>
      receipt.expiresAt > deps.now() &&
      // ERC-5573: the URI is the one who was authorized, and its host the one the person read. A client's other one was not.
      redirectUriMatches([receipt.redirectUri], redirectUri, client.type === 'native') &&
      isSubset(scopes, receipt.scopes) &&
      isSubset(resources, receipt.resources) &&
      coversKey(deps.keys, receipt, dpopJkt),
  )
  return covering ?? null
}

/** A text that names a key (RFC 9449) allows what is bound to that key, and nothing else. One that cannot be read may name one. */
function coversKey(ring: KeyRing, receipt: Receipt, dpopJkt: string | null): boolean {
  const signed = openReceipt(ring, receipt)
  const consent = signed ? readConsent(signed.message) : null
  return consent !== null && (consent.keyThumbprint === undefined || consent.keyThumbprint === dpopJkt)
}
