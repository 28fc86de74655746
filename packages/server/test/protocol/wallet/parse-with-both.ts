import { ParsedMessage as SiweParsedMessage } from '@signinwithethereum/siwe-parser'
import { ParsedMessage as SpruceParsedMessage } from '@spruceid/siwe-parser'
import { expect } from 'vitest'

/** Parses a text to sign with both parsers. Fails if one of them refuses the text or warns about it, or if their results differ. */
export function parseWithBoth(text: string): Omit<SiweParsedMessage, 'warnings'> {
  const { warnings, ...siwe } = new SiweParsedMessage(text)
  expect(warnings).toEqual(warningsOf(siwe.address))
  expect(new SpruceParsedMessage(text)).toMatchObject(siwe)
  return siwe
}

/**
 * One address in some thousands has an EIP-55 form without capitals or without small letters. This form is correct, but one
 * parser cannot distinguish it from an address without a checksum. The parser accepts it with a warning.
 */
function warningsOf(address: string): unknown[] {
  const digits = address.slice(2)
  const oneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return oneCase ? [expect.stringContaining('address is not EIP-55 checksummed')] : []
}
