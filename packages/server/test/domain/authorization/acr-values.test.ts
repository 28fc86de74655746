/** Which sign-ins meet `acr_values` and `max_age` (RFC 9470 §5). */
import { expect, test } from 'vitest'
import { readNeedsSignature } from '../../../src/domain/authorization/openid-parameters.ts'
import { meetsRequest } from '../../../src/domain/consent/session.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import type { Session } from '../../../src/domain/model/records.ts'

test.each([
  [null, false],
  ['urn:grantor:acr:signature', true],
  ['urn:example:other urn:grantor:acr:signature', true],
  ['urn:grantor:acr:signature urn:grantor:acr:vouched', false],
  ['urn:grantor:acr:vouched', false],
  ['urn:grantor:acr:Signature', false],
])('acr_values %j require a signature: %s (RFC 9470 §5)', (acrValues, isRequired) => {
  expect(readNeedsSignature(acrValues)).toBe(isRequired)
})

test.each([
  ['vouched', 10, { maxAge: null, needsSignature: false }, true],
  ['vouched', 10, { maxAge: null, needsSignature: true }, false],
  ['signature', 10, { maxAge: null, needsSignature: true }, true],
  ['signature', 10, { maxAge: 10, needsSignature: true }, true],
  ['signature', 11, { maxAge: 10, needsSignature: true }, false],
  ['signature', 0, { maxAge: 0, needsSignature: false }, false],
] as const)('A session by %s of %d seconds ago meets %o: %s (RFC 9470 §5)', (method, age, request, isMet) => {
  const deps = { now: () => 1000 } as Deps
  expect(meetsRequest(deps, { method, authTime: 1000 - age } as Session, request)).toBe(isMet)
})
