/**
 * ENS names: which names are shown, and the hash of a name (ENSIP-1).
 *
 * ENSIP-15 normalises names of all scripts with tables of Unicode. This file accepts only a subset of the names that ENSIP-15 leaves
 * unchanged: lower-case ASCII letters, digits, hyphens, underscores and full stops. So a name with look-alike or invisible characters is
 * never shown, and no table must follow new versions of Unicode.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Address } from './address.ts'

/** A longer name would not fit beside the address. */
const NAME_AT_MOST = 60

/**
 * Whether the name can be shown beside its address. All names for which this is true are normalised (ENSIP-15):
 *
 * - underscores are at the start of a label only;
 * - no label has hyphens as its third and fourth character, as an encoded label (`xn--…`) has.
 *
 * A name of one label belongs to the owner of a top-level domain, and a label such as `0x7099-79c8` could be read as an address: neither is
 * shown.
 */
export function isShownName(name: string): boolean {
  if (name.length > NAME_AT_MOST) return false
  const labels = name.split('.')
  return labels.length >= 2 && labels.every((label) => LABEL.test(label) && !NOT_A_LABEL.test(label))
}

const LABEL = /^_*[a-z0-9-]+$/
const NOT_A_LABEL = /^(?:..--|_*0x[0-9a-f]{4})/

/** ENSIP-1: the hash of a normalised name, `0x` and 64 digits. */
export function hashName(name: string): string {
  const labels = name === '' ? [] : name.split('.')
  const root: Uint8Array = new Uint8Array(32)
  return `0x${bytesToHex(labels.reduceRight((node, label) => keccak_256(concatBytes(node, keccak_256(utf8ToBytes(label)))), root))}`
}

/** ENSIP-3: the hash of the name under which an address names itself. */
export function hashOfReverseName(address: Address): string {
  return hashName(`${address.slice(2).toLowerCase()}.addr.reverse`)
}
