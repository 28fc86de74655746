/**
 * What reads text of an anonymous caller takes time in proportion to the text's length. Each text here has a million characters:
 * a reader whose time grew with the square of the length would need many minutes for one of them.
 */
import { describe, expect, test } from 'vitest'
import { parseBasicCredentials } from '../../src/oauth/basic-credentials.ts'
import { presentedToken } from '../../src/oauth/bearer-token.ts'
import { parseForm } from '../../src/oauth/form.ts'
import { normalizeHttpUri } from '../../src/oauth/http-uri.ts'
import { redirectUriFault } from '../../src/oauth/redirect-uri.ts'
import { parseRequestUri } from '../../src/oauth/request-uri.ts'
import { isResourceUri } from '../../src/oauth/resource-uri.ts'
import { parseScope } from '../../src/oauth/scope.ts'

const LENGTH = 1_000_000
const pumped = (part: string): string => part.repeat(LENGTH / part.length)

const READERS: Record<string, (text: string) => unknown> = {
  parseBasicCredentials: (text) => parseBasicCredentials(`Basic ${text}`),
  'parseBasicCredentials, decoded': (text) => parseBasicCredentials(`Basic ${Buffer.from(`${text}:x`).toString('base64')}`),
  presentedToken: (text) => presentedToken([`Bearer ${text}`, `DPoP ${text}`], null),
  parseForm,
  'parseForm, a value': (text) => parseForm(`a=${text}`),
  normalizeHttpUri: (text) => normalizeHttpUri(`https://a/${text}`),
  parseRequestUri,
  isResourceUri: (text) => isResourceUri(`https://a/${text}`),
  parseScope,
  redirectUriFault: (text) => redirectUriFault(`https://a/${text}`, 'private_use'),
}

describe.each(Object.entries(READERS))('%s reads a million characters in one pass', (_, read) => {
  test.each([' ', '=', '&', '%', '%f', '%ff', '%41', '+', '.', '/', '/..', '/../', ':', ';', '@', 'a', 'a ', '\0', '\xff', '-_'])(
    'of %j',
    (part) => {
      expect(() => read(pumped(part))).not.toThrow()
    },
  )
})

test('a form whose escapes are not UTF-8 throws at most once, however many parameters it has', () => {
  const original = globalThis.decodeURIComponent
  let thrown = 0
  globalThis.decodeURIComponent = (text) => {
    try {
      return original(text)
    } catch (error) {
      thrown++
      throw error
    }
  }
  try {
    expect(parseForm('%ff=%ff&'.repeat(2000)).get('%FF')).toHaveLength(2000)
  } finally {
    globalThis.decodeURIComponent = original
  }
  expect(thrown).toBe(1)
})
