/**
 * A receipt: a consent, or the approval of one action, with the signature that proves it. Anyone can check a receipt without a server.
 *
 * Only the signed text counts. The other fields must repeat what the text contains, so that a genuine signature cannot
 * be presented with other claims.
 */

import { parseAddress } from './address.ts'
import type { ContractClaim, ContractVerdict } from './contract-signature.ts'
import { type ApprovedAction, approvalContradicts, readApproval } from './read-approval.ts'
import { type Consent, readConsent, recapContradicts } from './read-consent.ts'
import { NOT_SIGNED, parseServerWord, type ServerWord } from './server-word.ts'
import { verifyPlainSignature } from './signature.ts'

/** A receipt as it is downloaded: these four members, and for a consent with a limit `not_signed`, which is not part of what is proven. */
export type SignedReceipt = {
  /** the text, byte for byte as it was signed */
  message: string
  /** `0x` and hexadecimal digits: 65 bytes from an ordinary wallet, any number from a contract */
  signature: string
  /** EIP-55 */
  address: string
  chain_id: number
  [NOT_SIGNED]?: ServerWord
}

/** What the text of a receipt says. */
export type Signed = ({ kind: 'consent' } & Consent) | ({ kind: 'approval' } & ApprovedAction)

export type ReceiptVerdict =
  /** The owner of the address signed this. `expired`: its time has passed. `notSigned`: what the file has besides, which nothing proves. */
  | { kind: 'holds'; signed: Signed; expired: boolean; wallet: 'ordinary' | 'contract'; notSigned?: ServerWord }
  | { kind: 'does_not_hold'; why: ReceiptFault }
  /** The signature can only be that of a contract wallet, and its chain did not respond: neither proven nor refuted. */
  | { kind: 'could_not_check'; why: string }
  /** Not a receipt. */
  | { kind: 'malformed'; why: ReceiptMalformation }

export type ReceiptFault =
  /** The text has the form of a consent or an approval, but its sentence and its ReCap differ. */
  | 'recap_contradicts'
  /** The text is not, byte for byte, a consent or an approval as this service composes it. */
  | 'not_a_consent'
  /** The receipt names another address, or another chain, than its text. */
  | 'address_differs'
  | 'chain_differs'
  /** The receipt is compared with an action, and is a consent, or the approval of another action. */
  | 'not_an_approval'
  | 'action_differs'
  /** The signature was made by another key, or over another text, or is not a signature. */
  | 'not_signed'

export type ReceiptMalformation = 'not_a_receipt' | 'bad_address' | 'bad_signature'

/** Checks with the chain whether a contract wallet accepts a signature (ERC-1271). */
export type VerifyContract = (claim: ContractClaim) => Promise<ContractVerdict>

export type ReceiptCheck = {
  /** epoch seconds */
  now: number
  /** if absent, no chain is called; a receipt of an ordinary wallet never needs a chain */
  verifyContract?: VerifyContract | undefined
  /** SHA-256 of an action, base64url: the receipt then holds only if it is the approval of this action */
  actionDigest?: string | undefined
}

/** Checks a value that may be a receipt. Accepts any value; throws only what `verifyContract` throws. */
export async function checkReceipt(
  receipt: unknown,
  { now, verifyContract, actionDigest }: ReceiptCheck,
): Promise<ReceiptVerdict> {
  if (!isReceipt(receipt)) return { kind: 'malformed', why: 'not_a_receipt' }
  const { message, signature } = receipt
  const claimed = parseAddress(receipt.address)
  // Only the EIP-55 spelling is accepted: a mistyped address, or another spelling, is not the address that the text
  // names.
  if (claimed.kind !== 'address' || claimed.address !== receipt.address) return { kind: 'malformed', why: 'bad_address' }
  if (!signatureForm.test(signature) || signature.length > longestSignature) return { kind: 'malformed', why: 'bad_signature' }

  const signed = readSigned(message)
  if (signed === null) return { kind: 'does_not_hold', why: contradicts(message) ? 'recap_contradicts' : 'not_a_consent' }
  if (signed.address !== claimed.address) return { kind: 'does_not_hold', why: 'address_differs' }
  if (signed.chainId !== receipt.chain_id) return { kind: 'does_not_hold', why: 'chain_differs' }
  if (actionDigest !== undefined) {
    if (signed.kind !== 'approval') return { kind: 'does_not_hold', why: 'not_an_approval' }
    if (signed.digest !== actionDigest) return { kind: 'does_not_hold', why: 'action_differs' }
  }
  const notSigned = receipt[NOT_SIGNED]
  // Only uses of a limit are counted.
  if (notSigned && !(signed.kind === 'consent' && signed.limit)) return { kind: 'malformed', why: 'not_a_receipt' }

  const holds = { kind: 'holds', signed, expired: signed.until <= now, ...(notSigned && { notSigned }) } as const
  // First and without any network, so that no chain is called for an ordinary wallet.
  const plain = verifyPlainSignature(message, signature, signed.address)
  if (plain.kind === 'valid') return { ...holds, wallet: 'ordinary' }

  if (verifyContract === undefined) {
    // Ordinary wallets give 65 bytes, and the key of this address did not make these 65 bytes.
    if (plain.kind === 'not_proven') return { kind: 'does_not_hold', why: 'not_signed' }
    return { kind: 'could_not_check', why: 'no_chain' }
  }
  const { address, chainId } = signed
  const answer = await verifyContract({ message, signature, address, chainId })
  if (answer.kind === 'could_not_check') return answer
  if (answer.kind === 'malformed') return { kind: 'malformed', why: 'bad_signature' }
  return answer.kind === 'valid' ? { ...holds, wallet: 'contract' } : { kind: 'does_not_hold', why: 'not_signed' }
}

function readSigned(message: string): Signed | null {
  const consent = readConsent(message)
  if (consent !== null) return { kind: 'consent', ...consent }
  const action = readApproval(message)
  return action && { kind: 'approval', ...action }
}

function contradicts(message: string): boolean {
  return recapContradicts(message) || approvalContradicts(message)
}

/** A contract may accept any bytes, even none. */
const signatureForm = /^0x(?:[0-9A-Fa-f]{2})*$/
/** In characters; the login refuses longer signatures too. */
const longestSignature = 8192

function isReceipt(receipt: unknown): receipt is SignedReceipt {
  if (typeof receipt !== 'object' || receipt === null || Array.isArray(receipt)) return false
  const { [NOT_SIGNED]: notSigned, ...signed } = receipt as Record<keyof SignedReceipt, unknown>
  // Any other member is refused: a reader could believe that it was signed too.
  if (Object.keys(signed).sort().join() !== 'address,chain_id,message,signature') return false
  if (NOT_SIGNED in receipt && parseServerWord(notSigned) === null) return false
  const { message, signature, address, chain_id: chainId } = signed
  return [message, signature, address].every((text) => typeof text === 'string') && Number.isSafeInteger(chainId)
}
