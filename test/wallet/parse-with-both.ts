import { ParsedMessage as SiweParsedMessage } from '@signinwithethereum/siwe-parser'
import { ParsedMessage as SpruceParsedMessage } from '@spruceid/siwe-parser'
import { expect } from 'vitest'

/** What both parsers read in a text to sign; fails where either refuses it, warns about it, or the two differ. */
export function parseWithBoth(text: string): Omit<SiweParsedMessage, 'warnings'> {
  const { warnings, ...siwe } = new SiweParsedMessage(text)
  expect(warnings).toEqual([])
  expect(new SpruceParsedMessage(text)).toMatchObject(siwe)
  return siwe
}
