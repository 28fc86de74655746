/**
 * A receipt: a consent with the signature that proves it, checkable by anybody, anywhere, with no server.
 *
 * The signed text alone says what was agreed. The fields beside it may only repeat what it says, so nobody can dress a genuine signature
 * in other claims.
 */

import { parseAddress } from './address.ts'
import type { ContractClaim, ContractVerdict } from './contract-signature.ts'
import { type Consent, readConsent, recapContradicts } from './read-consent.ts'
import { verifyPlainSignature } from './signature.ts'

/** As it is stored and downloaded: these four members and nothing else. */
export type Receipt = {
  /** the text, byte for byte as it was signed */
  message: string
  /** `0x` and hexadecimal digits: 65 bytes from an ordinary wallet, any number from a contract */
  signature: string
  /** EIP-55 */
  address: string
  chain_id: number
}

export type ReceiptVerdict =
  /** The owner of the address did agree to `consent`. `expired`: and it is over. */
  | { kind: 'holds'; consent: Consent; expired: boolean; wallet: 'ordinary' | 'contract' }
  | { kind: 'does_not_hold'; why: ReceiptFault }
  /** Signed by a contract wallet, if at all, and its chain gave no answer: neither proven nor refuted. */
  | { kind: 'could_not_check'; why: string }
  /** Not a receipt at all. */
  | { kind: 'malformed'; why: ReceiptMalformation }

export type ReceiptFault =
  /** The text is genuine in form, but its sentence and its ReCap say different things. */
  | 'recap_contradicts'
  /** The text is not, byte for byte, a consent as this service composes it. */
  | 'not_a_consent'
  /** The receipt names another address, or another chain, than its text. */
  | 'address_differs'
  | 'chain_differs'
  /** The signature is another's, or of another text, or of nothing. */
  | 'not_signed'

export type ReceiptMalformation = 'not_a_receipt' | 'bad_address' | 'bad_signature'

/** Asks the chain whether a contract wallet stands behind a signature (ERC-1271). */
export type VerifyContract = (claim: ContractClaim) => Promise<ContractVerdict>

export type ReceiptCheck = {
  /** epoch seconds */
  now: number
  /** without it no chain is asked, and an ordinary wallet's receipt never needs one */
  verifyContract?: VerifyContract | undefined
}

/** Checks what somebody hands over as a receipt. Takes anything; throws only what `verifyContract` throws. */
export async function checkReceipt(receipt: unknown, { now, verifyContract }: ReceiptCheck): Promise<ReceiptVerdict> {
  if (!isReceipt(receipt)) return { kind: 'malformed', why: 'not_a_receipt' }
  const { message, signature } = receipt
  const claimed = parseAddress(receipt.address)
  // EIP-55 and nothing else: a mistyped address, or one in another spelling, is not the one that the text names.
  if (claimed.kind !== 'address' || claimed.address !== receipt.address) return { kind: 'malformed', why: 'bad_address' }
  if (!signatureForm.test(signature) || signature.length > longestSignature) return { kind: 'malformed', why: 'bad_signature' }

  const consent = readConsent(message)
  if (consent === null) return { kind: 'does_not_hold', why: recapContradicts(message) ? 'recap_contradicts' : 'not_a_consent' }
  if (consent.address !== claimed.address) return { kind: 'does_not_hold', why: 'address_differs' }
  if (consent.chainId !== receipt.chain_id) return { kind: 'does_not_hold', why: 'chain_differs' }

  const holds = { kind: 'holds', consent, expired: consent.until <= now } as const
  // First and without any network, so that no chain is ever asked about an ordinary wallet.
  const plain = verifyPlainSignature(message, signature, consent.address)
  if (plain.kind === 'valid') return { ...holds, wallet: 'ordinary' }

  if (verifyContract === undefined) {
    // 65 bytes are what an ordinary wallet gives, and no ordinary wallet of this address gave these.
    if (plain.kind === 'not_proven') return { kind: 'does_not_hold', why: 'not_signed' }
    return { kind: 'could_not_check', why: 'no_chain' }
  }
  const { address, chainId } = consent
  const answer = await verifyContract({ message, signature, address, chainId })
  if (answer.kind === 'could_not_check') return answer
  if (answer.kind === 'malformed') return { kind: 'malformed', why: 'bad_signature' }
  return answer.kind === 'valid' ? { ...holds, wallet: 'contract' } : { kind: 'does_not_hold', why: 'not_signed' }
}

/** A contract may accept any bytes, even none. */
const signatureForm = /^0x(?:[0-9A-Fa-f]{2})*$/
/** In characters; the login refuses longer ones too. */
const longestSignature = 8192

function isReceipt(receipt: unknown): receipt is Receipt {
  if (typeof receipt !== 'object' || receipt === null || Array.isArray(receipt)) return false
  // Nothing else: a claim beside the signed text would be read as if it were signed too.
  if (Object.keys(receipt).sort().join() !== 'address,chain_id,message,signature') return false
  const { message, signature, address, chain_id: chainId } = receipt as Record<keyof Receipt, unknown>
  return [message, signature, address].every((text) => typeof text === 'string') && Number.isSafeInteger(chainId)
}
