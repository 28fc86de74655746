/**
 * A wallet's address (EIP-55).
 *
 * Wallets give addresses in lower case. Tokens and texts contain the EIP-55 form only, so that one wallet has exactly
 * one `sub`.
 */

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** An address in its EIP-55 form. Only `parseAddress` makes one. */
export type Address = `0x${string}`

export type ParsedAddress =
  | { kind: 'address'; address: Address }
  | { kind: 'malformed' }
  | { kind: 'wrong_checksum' }
  | { kind: 'keyless' }

/**
 * Parses an address from a request, a wallet or a receipt.
 *
 * - `malformed`: not `0x` and 40 hexadecimal digits.
 * - `keyless`: `0x0` to `0xff`, addresses without a key. Some libraries return the zero address if recovery fails, so a
 *   claim of `0x0` with any signature would be a login. Such a claim is refused before any cryptography.
 * - `wrong_checksum`: mixed case that is not the EIP-55 form, that is, a typing error (EIP-55). All-lower and all-upper
 *   case contain no checksum.
 */
export function parseAddress(text: string): ParsedAddress {
  if (typeof text !== 'string' || !/^0x[0-9A-Fa-f]{40}$/.test(text)) return { kind: 'malformed' }
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  if (lower.startsWith('0'.repeat(38))) return { kind: 'keyless' }

  const checksummed = applyChecksum(lower)
  const carriesChecksum = digits !== lower && digits !== digits.toUpperCase()
  if (carriesChecksum && digits !== checksummed) return { kind: 'wrong_checksum' }
  return { kind: 'address', address: `0x${checksummed}` }
}

/** EIP-55: a letter is a capital if the digit at the same position in the hash of the lower-case text is 8 or more. */
function applyChecksum(lower: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(lower)))
  return Array.from(lower, (digit, i) => (hash.charAt(i) >= '8' ? digit.toUpperCase() : digit)).join('')
}

/** `0xf39F…2266`, for logs and pages. A text that is not an address becomes `…`, and so is never logged. */
export function shortenAddress(address: string): string {
  return /^0x[0-9A-Fa-f]{40}$/.test(address) ? `${address.slice(0, 6)}…${address.slice(-4)}` : '…'
}
