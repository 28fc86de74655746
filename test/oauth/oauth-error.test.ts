import { expect, test } from 'vitest'
import * as errors from '../../src/oauth/oauth-error.ts'

const { OAuthError } = errors
const ALL = [
  errors.invalidRequest('a_reason', 'A description.'),
  errors.invalidClient('a_reason'),
  errors.invalidGrant('a_reason'),
  errors.unauthorizedClient('a_reason'),
  errors.unsupportedGrantType(),
  errors.unsupportedResponseType(),
  errors.invalidScope('a_reason'),
  errors.invalidTarget('a_reason'),
  errors.accessDenied('a_reason'),
  errors.loginRequired(),
  errors.consentRequired(),
  errors.accountSelectionRequired(),
  errors.invalidRequestObject('a_reason'),
  errors.requestNotSupported(),
  errors.requestUriNotSupported(),
  errors.registrationNotSupported(),
  errors.invalidDpopProof('a_reason'),
  errors.wantsDpopNonce(),
  errors.invalidToken('a_reason'),
  errors.insufficientScope(),
  errors.tooManyFailures(30),
  errors.tooManyPushed(30),
  errors.tooManySignIns(30),
  errors.temporarilyUnavailable('a_reason'),
  errors.walletUnavailable('a_reason'),
  errors.signingUnavailable('a_reason'),
  errors.serverError('0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'),
]

test('every maker of an error is in this test', () => {
  const makers = Object.values(errors).filter((each) => typeof each === 'function' && each !== OAuthError)
  expect(makers).toHaveLength(ALL.length)
})

test.each(ALL.map((each) => [each.error, each] as const))(
  '%s: error and description hold only what RFC 6749 §5.2 allows',
  (_, refusal) => {
    for (const text of [refusal.error, refusal.description]) expect(text).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  },
)

test.each([
  ['invalid_request', 400],
  ['invalid_client', 401],
  ['invalid_grant', 400],
  ['unauthorized_client', 400],
  ['unsupported_grant_type', 400],
  ['unsupported_response_type', 400],
  ['invalid_scope', 400],
  ['invalid_target', 400],
  ['access_denied', 400],
  ['login_required', 400],
  ['consent_required', 400],
  ['account_selection_required', 400],
  ['invalid_request_object', 400],
  ['request_not_supported', 400],
  ['request_uri_not_supported', 400],
  ['registration_not_supported', 400],
  ['invalid_token', 401],
  ['insufficient_scope', 403],
  ['too_many_failures', 429],
  ['temporarily_unavailable', 503],
  ['server_error', 500],
])('%s is answered with %i', (code, status) => {
  expect(new Set(ALL.filter((each) => each.error === code).map((each) => each.status))).toEqual(new Set([status]))
})

test('the client reads the code and a fixed wording; the reason stays with us', () => {
  for (const make of [
    errors.invalidClient,
    errors.invalidGrant,
    errors.invalidScope,
    errors.invalidTarget,
    errors.invalidRequestObject,
    errors.unauthorizedClient,
    errors.invalidToken,
  ]) {
    const [one, other] = [make('reason_one'), make('reason_other')]
    expect(one.toBody()).toEqual(other.toBody())
    expect(Object.keys(one.toBody())).toEqual(['error', 'error_description'])
    expect(JSON.stringify(one.toBody())).not.toContain('reason')
    expect([one.reason, other.reason]).toEqual(['reason_one', 'reason_other'])
  }
})

test('only what passes by itself tells when to come again', () => {
  const waiting = ALL.filter((each) => each.retryAfter !== undefined).map((each) => each.error)
  expect(waiting).toEqual([...Array<string>(3).fill('too_many_failures'), ...Array<string>(3).fill('temporarily_unavailable')])
  expect(errors.tooManyFailures(30).retryAfter).toBe(30)
})
