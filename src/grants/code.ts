/**
 * Authorization codes (RFC 6749 §1.3.1): sealed, so that issuing one writes nothing, and the challenge in it is nobody else's to
 * read (RFC 7636 §4.4, §7.2). A code has a time, and a short one (OpenID Connect Core §16.9).
 */
import type { KeyRing } from '../keys/key-ring.ts'
import { seal, unseal } from '../keys/sealed.ts'
import type { Address } from '../wallet/address.ts'
import { newGrantId } from './grant-id.ts'
import type { WalletKind } from './model.ts'

/** What a code carries; everything its redemption will need, the grant's own id included. */
export type Code = {
  grantId: string
  clientId: string
  redirectUri: string
  wallet: Address
  walletKind: WalletKind
  /** the signed text it rests on, and whether that is the consent to this request rather than the session's sign-in */
  receiptId: string | null
  consented: boolean
  /** the signed text that a contract wallet's session began with, if that is another one */
  sessionReceiptId: string | null
  /** of the wallet when the code was issued; raised since means the code is void */
  epoch: number
  scopes: string[]
  resources: string[]
  codeChallenge: string | null
  sessionHash: string
  expiresAt: number
  grantExpiresAt: number
  /** when the wallet was proved, and on which chain; null in a code that a node of an earlier version made */
  authTime: number | null
  chainId: number | null
  /** for the ID token (OpenID Connect Core §3.1.2.1) */
  nonce: string | null
  /** the key that alone may redeem it (RFC 9449 §10) */
  dpopJkt: string | null
}

export function sealCode(ring: KeyRing, code: Omit<Code, 'grantId'>): string {
  return seal(ring, 'grc', pack({ ...code, grantId: newGrantId(code.expiresAt) }))
}

export function openCode(ring: KeyRing, text: string): Code | undefined {
  const packed = unseal(ring, 'grc', text)
  return packed === undefined ? undefined : unpack(packed as Packed)
}

// Packed as an array: the names would cost a third of the URL.
type Packed = [
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
  // left out from the end where there is none
  (number | null)?,
  (number | null)?,
  (string | null)?,
  (string | null)?,
  (string | null)?,
]

function pack(code: Code): Packed {
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
    ...withoutLastNulls([code.nonce, code.dpopJkt, code.sessionReceiptId]),
  ]
}

function unpack(packed: Packed): Code {
  const [grantId, clientId, redirectUri, wallet, contract, receiptId, consented, epoch, scopes, resources, ...rest] = packed
  const [codeChallenge, sessionHash, expiresAt, grantExpiresAt, authTime = null, chainId = null, ...rare] = rest
  const [nonce = null, dpopJkt = null, sessionReceiptId = null] = rare
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
    codeChallenge,
    sessionHash,
    expiresAt,
    grantExpiresAt,
    authTime,
    chainId,
    nonce,
    dpopJkt,
    sessionReceiptId,
  }
}

/** What is mostly absent stands last, and then takes no place. */
function withoutLastNulls<Value>(values: [Value, Value, Value]): [Value?, Value?, Value?] {
  const last = values.findLastIndex((value) => value !== null)
  return values.slice(0, last + 1) as [Value?, Value?, Value?]
}
