/**
 * A signature of a contract wallet that may not be deployed yet (ERC-6492).
 *
 * The wrapper of such a signature contains how to deploy the wallet: the factory and its calldata.
 */

export type UnwrappedSignature =
  | { kind: 'bare'; signature: string }
  | { kind: 'wrapped'; factory: string; factoryCall: string; signature: string }
  | { kind: 'malformed' }

/** ERC-6492: the end of a wrapped signature: 32 bytes that no bare signature has by chance. */
const suffix = '6492'.repeat(16)
/** The head of a canonical encoding has three words: the address, the first offset, the second offset. */
const headSize = 3 * 32

/**
 * Removes the wrapper, if there is one: `abi.encode(address factory, bytes factoryCall, bytes signature)` and the
 * suffix.
 *
 * Only the canonical encoding is accepted. The ABI would also allow fields that overlap, lie outside, or leave gaps. No
 * wallet writes such encodings, and refusing them avoids parsing differences.
 *
 * @param signature `0x` and whole bytes in hexadecimal. All results are lower case with `0x`.
 */
export function unwrapSignature(signature: string): UnwrappedSignature {
  const digits = signature.slice(2).toLowerCase()
  if (!digits.endsWith(suffix)) return { kind: 'bare', signature: `0x${digits}` }
  const encoded = digits.slice(0, -suffix.length)

  const factory = /^0{24}([0-9a-f]{40})/.exec(encoded)?.[1]
  const factoryCall = readBytes(encoded, headSize)
  if (factory === undefined || factoryCall === null) return { kind: 'malformed' }
  const inner = readBytes(encoded, headSize + sizeOfBytes(factoryCall))
  if (inner === null || encodeWrapped(factory, factoryCall, inner) !== encoded) return { kind: 'malformed' }
  return { kind: 'wrapped', factory: `0x${factory}`, factoryCall: `0x${factoryCall}`, signature: `0x${inner}` }
}

/** The `bytes` whose length is at `offset`, or null if they would reach beyond the end. */
function readBytes(encoded: string, offset: number): string | null {
  const start = (offset + 32) * 2
  const lengthWord = encoded.slice(offset * 2, start)
  // Four digits are enough for the longest signature: a longer length is wrong.
  if (!/^0{60}[0-9a-f]{4}$/.test(lengthWord)) return null
  const end = start + Number.parseInt(lengthWord, 16) * 2
  return end <= encoded.length ? encoded.slice(start, end) : null
}

function encodeWrapped(factory: string, factoryCall: string, signature: string): string {
  const offsets = writeWord(headSize) + writeWord(headSize + sizeOfBytes(factoryCall))
  return factory.padStart(64, '0') + offsets + encodeBytes(factoryCall) + encodeBytes(signature)
}

/** ABI `bytes`: a word with the length, then the bytes, padded with zeros to whole words. Digits in, digits out. */
export function encodeBytes(digits: string): string {
  return writeWord(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
}

function sizeOfBytes(digits: string): number {
  return encodeBytes(digits).length / 2
}

/** A number as a word of 32 bytes. */
export function writeWord(number: number): string {
  return number.toString(16).padStart(64, '0')
}
