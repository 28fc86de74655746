/**
 * Functions that read text of an anonymous caller must take time in proportion to the text's length. Each text has a million
 * characters: with quadratic time, one text would take many minutes.
 */

import { normalizeHttpUri } from '@grantor/protocol/http-uri'
import { parseScope } from '@grantor/protocol/scope'
import { describe, expect, test } from 'vitest'
import { parseBasicCredentials } from '../../../src/protocol/oauth/basic-credentials.ts'
import { presentedToken } from '../../../src/protocol/oauth/bearer-token.ts'
import { parseForm } from '../../../src/protocol/oauth/form.ts'
import { redirectUriFault } from '../../../src/protocol/oauth/redirect-uri.ts'
import { parseRequestUri } from '../../../src/protocol/oauth/request-uri.ts'
import { isResourceUri } from '../../../src/protocol/oauth/resource-uri.ts'

const LENGTH = 1_000_000
const repeatToLength = (part: string): string => part.repeat(LENGTH / part.length)

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

describe.each(Object.entries(READERS))('%s with a million characters', (_, read) => {
  test.each([' ', '=', '&', '%', '%f', '%ff', '%41', '+', '.', '/', '/..', '/../', ':', ';', '@', 'a', 'a ', '\0', '\xff', '-_'])(
    'A reader of anonymous text reads a million characters of repeated %j without an error',
    (part) => {
      expect(() => read(repeatToLength(part))).not.toThrow()
    },
  )
})

test('Parsing a form with thousands of escapes that are not UTF-8 throws at most once inside', () => {
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
