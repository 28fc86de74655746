/**
 * User codes of device authorization (RFC 8628 §6.1): eight consonants, so that no code is a word and none has look-alikes of digits.
 * 20^8 codes are 34.6 bits. The verification page limits guesses (§5.1).
 */
import { randomInt } from 'node:crypto'

const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8
/** Characters of an entry that are read. A person may type spaces or dashes between the letters. */
const ENTRY_AT_MOST = 64
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/

export function newUserCode(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

/** The user code that random bytes determine: one byte a letter, from the first eight bytes below 240 (a multiple of 20, so all letters are equally likely). */
export function userCodeOf(bytes: Buffer): string {
  return [...bytes]
    .filter((byte) => byte < 240)
    .slice(0, LENGTH)
    .map((byte) => LETTERS[byte % LETTERS.length])
    .join('')
}

/** `WDJB-MJHT`: as a device and the pages show a code. */
export function showUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** The code that a person typed; null if the entry cannot be a code. §6.1: characters outside of the set are ignored. */
export function readUserCode(entry: string): string | null {
  if (entry.length > ENTRY_AT_MOST) return null
  const code = entry.toUpperCase().replace(/[^A-Z0-9]/g, '')
  return USER_CODE.test(code) ? code : null
}
