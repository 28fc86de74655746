import { ParsedMessage as SiweParsedMessage } from '@signinwithethereum/siwe-parser'
import { ParsedMessage as SpruceParsedMessage } from '@spruceid/siwe-parser'
import { expect } from 'vitest'

/** What both parsers read in a text to sign; fails where either refuses it, warns about it, or the two differ. */
export function parseWithBoth(text: string): Omit<SiweParsedMessage, 'warnings'> {
  const { warnings, ...siwe } = new SiweParsedMessage(text)
  expect(warnings).toEqual(warningsOf(siwe.address))
  expect(new SpruceParsedMessage(text)).toMatchObject(siwe)
  return siwe
}

/**
 * One wallet in some thousands has an address whose EIP-55 form holds no capital, or no small letter. That form is right, but one
 * parser cannot tell it from an address without a checksum, and says so; it does not refuse it.
 */
function warningsOf(address: string): unknown[] {
  const digits = address.slice(2)
  const oneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return oneCase ? [expect.stringContaining('address is not EIP-55 checksummed')] : []
}
