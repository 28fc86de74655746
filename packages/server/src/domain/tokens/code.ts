/**
 * Authorization codes (RFC 6749 §1.3.1). A code is sealed: issuing a code writes nothing, and only the service can read the code
 * challenge in it (RFC 7636 §4.4, §7.2). A code expires after a short time (OpenID Connect Core §16.9).
 */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import type { ClaimsByResource } from '../../protocol/keys/platform-claims.ts'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { grantIdOfReceipt, newGrantId } from '../model/grant-id.ts'
import type { ScopesByResource, SignedLimit, WalletKind } from '../model/records.ts'

/** The contents of a code: everything that the redemption needs, including the id of the new grant. */
export type Code = {
  grantId: string
  clientId: string
  redirectUri: string
  wallet: Address
  walletKind: WalletKind
  /** the receipt of the text that the wallet signed */
  receiptId: string | null
  /** true if that text is the consent to this request; false if the text is only the sign-in of the session */
  consented: boolean
  /** for a contract wallet: the receipt of the session's sign-in, unless that is `receiptId` */
  sessionReceiptId: string | null
  /** the wallet's epoch when the code was issued; if the epoch was raised since, the code is void */
  epoch: number
  scopes: string[]
  resources: string[]
  /** the scopes of each resource; null if every resource has every scope */
  scopesByResource: ScopesByResource | null
  codeChallenge: string | null
  sessionHash: string
  expiresAt: number
  grantExpiresAt: number
  /** when the wallet signed in */
  authTime: number
  /** the chain on which the wallet signed in */
  chainId: number
  /** for the ID token (OpenID Connect Core §3.1.2.1) */
  nonce: string | null
  /** the thumbprint of the key that the code is bound to (RFC 9449 §10) */
  dpopJkt: string | null
  /** the scopes of the first tokens, if the operator's hook allows fewer than the wallet did; otherwise null */
  firstScopes: string[] | null
  /** the claims of the first tokens, from the operator's hook; absent in what an earlier version stored */
  firstClaims?: ClaimsByResource | null
  /** what the wallet signed of a limited scope; absent if no scope has a limit */
  limit?: SignedLimit
}

export function sealCode(ring: KeyRing, code: Omit<Code, 'grantId'>): string {
  const packed = pack({ ...code, grantId: grantIdFor(code) ?? newGrantId(code.expiresAt) })
  return code.limit ? LIMITED_CODE.seal(ring, [packed, code.limit]) : PACKED_CODE.seal(ring, packed)
}

/** The id of the one grant that the signature over a limit can create; null without a limit. */
export function grantIdFor({ limit, receiptId }: Pick<Code, 'limit' | 'receiptId'>): string | null {
  if (!limit) return null
  if (receiptId === null) throw new Error('a limit without a signature')
  return grantIdOfReceipt(receiptId, limit.signedAt)
}

export function openCode(ring: KeyRing, text: string): Code | undefined {
  const packed = PACKED_CODE.open(ring, text)
  if (packed !== undefined) return unpack(packed)
  const limited = LIMITED_CODE.open(ring, text)
  return limited === undefined ? undefined : { ...unpack(limited[0]), limit: limited[1] }
}

// A packed code is an array: member names would make the URL a third longer.
type PackedCode = [
  string,
  string,
  string,
  string,
  0 | 1,
  string | null,
  0 | 1,
  number,
  string,
  string[],
  string | null,
  string,
  number,
  number,
  number,
  number,
  // trailing nulls are omitted
  (string | null)?,
  (string | null)?,
  (string | null)?,
  (ScopesByResource | null)?,
  (string | null)?,
  (ClaimsByResource | null)?,
]

const PACKED_CODE = sealedFormat<PackedCode>('authorizationCode')
/** A node of a version without limits does not open this code, so it cannot create the grant without the limit. */
const LIMITED_CODE = sealedFormat<[PackedCode, SignedLimit]>('limitedCode')

function pack(code: Code): PackedCode {
  return [
    code.grantId,
    code.clientId,
    code.redirectUri,
    code.wallet,
    code.walletKind === 'contract' ? 1 : 0,
    code.receiptId,
    code.consented ? 1 : 0,
    code.epoch,
    code.scopes.join(' '),
    code.resources,
    code.codeChallenge,
    code.sessionHash,
    code.expiresAt,
    code.grantExpiresAt,
    code.authTime,
    code.chainId,
    ...withoutLastNulls([
      code.nonce,
      code.dpopJkt,
      code.sessionReceiptId,
      code.scopesByResource,
      code.firstScopes?.join(' ') ?? null,
      code.firstClaims ?? null,
    ]),
  ]
}

function unpack(packed: PackedCode): Code {
  const [grantId, clientId, redirectUri, wallet, contract, receiptId, consented, epoch, scopes, resources, ...rest] = packed
  const [codeChallenge, sessionHash, expiresAt, grantExpiresAt, authTime, chainId, ...rare] = rest
  const [nonce = null, dpopJkt = null, sessionReceiptId = null, scopesByResource = null, firstScopes = null, firstClaims = null] =
    rare
  return {
    grantId,
    clientId,
    redirectUri,
    wallet: wallet as Address,
    walletKind: contract === 1 ? 'contract' : 'ordinary',
    receiptId,
    consented: consented === 1,
    epoch,
    scopes: scopes.split(' '),
    resources,
    scopesByResource,
    codeChallenge,
    sessionHash,
    expiresAt,
    grantExpiresAt,
    authTime,
    chainId,
    nonce,
    dpopJkt,
    sessionReceiptId,
    firstScopes: firstScopes?.split(' ') ?? null,
    firstClaims,
  }
}

/** Removes trailing nulls. The values that are usually null come last, so that most codes omit them. */
function withoutLastNulls<Values extends unknown[]>(values: [...Values]): Partial<Values> {
  const last = values.findLastIndex((value) => value !== null)
  return values.slice(0, last + 1) as Partial<Values>
}
