import { expect, test } from 'vitest'
import * as errors from '../../../src/protocol/oauth/oauth-error.ts'

const { OAuthError } = errors
const ALL = [
  errors.invalidRequest('request_twice', 'A description.'),
  errors.invalidClient('secret_wrong'),
  errors.wrongAuthMethod('client_secret_post'),
  errors.invalidGrant('code_expired'),
  errors.unauthorizedClient('grant_type_not_registered'),
  errors.unsupportedGrantType(),
  errors.unsupportedResponseType(),
  errors.invalidScope('scope_malformed'),
  errors.scopeOfNoResource('notes.read'),
  errors.invalidTarget('resource_malformed'),
  errors.accessDenied('user_declined'),
  errors.authorizationPending(),
  errors.slowDown(),
  errors.expiredToken(),
  errors.loginRequired(),
  errors.consentRequired(),
  errors.interactionRequired(),
  errors.accountSelectionRequired(),
  errors.invalidRequestObject('request_object_expired'),
  errors.requestNotSupported(),
  errors.requestUriNotSupported(),
  errors.registrationNotSupported(),
  errors.invalidDpopProof('proof_expired'),
  errors.wantsDpopNonce(),
  errors.invalidToken('grant_ended'),
  errors.insufficientScope('openid_not_granted'),
  errors.tooManyFailures(30),
  errors.tooManyCodes(30),
  errors.tooManyPushed(30),
  errors.tooManyRevocations(30),
  errors.tooManyOfClient(30),
  errors.tooManyReaders(30),
  errors.notAResourceServer(),
  errors.tooManySignIns(30),
  errors.tooManyContractChecks(30),
  errors.tooManyClientFetches(30),
  errors.tooManyUses(30),
  errors.hostFetchedTooOften(30),
  errors.tooManyClientCalls(),
  errors.clientKeysUnavailable(),
  errors.clientUnavailable(),
  errors.tooManyRegistrations(30),
  errors.invalidRedirectUri(),
  errors.invalidClientMetadata('metadata_name'),
  errors.storeUnavailable(),
  errors.walletUnavailable('rpc.example.org: timed_out'),
  errors.hookUnavailable('hook_timed_out', { retryAfter: 5 }),
  errors.signingUnavailable('signing_algorithm_not_of_the_profile'),
  errors.notYours(),
  errors.tokenInactive('grant_ended'),
  errors.keyUsed(),
  errors.tooManyApprovals('hourly', 30),
  errors.approvalsDeclined(),
  errors.unknownApproval(),
  errors.alreadyUsed(),
  errors.notApproved('waiting'),
  errors.drawAmountMissing(),
  errors.amountWithoutLimit(),
  errors.drawKeyUsed(),
  errors.noLimit(),
  errors.limitNotSigned('enhancement'),
  errors.limitExceeded('uses_exceeded', 'enhancement'),
  errors.unknownDraw(),
  errors.aboveDraw(),
  errors.alreadyReturned(),
  errors.serverError('0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'),
]

test('This test covers every function that creates an OAuth error', () => {
  const makers = Object.values(errors).filter((each) => typeof each === 'function' && each !== OAuthError)
  expect(makers).toHaveLength(ALL.length)
})

test.each(ALL.map((each) => [each.error, each] as const))(
  'Error code and description of %s have only the characters that RFC 6749 §5.2 allows',
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
  ['not_yours', 403],
  ['token_inactive', 403],
  ['key_used', 409],
  ['no_limit', 403],
  ['limit_not_signed', 403],
  ['uses_exceeded', 403],
  ['unknown_draw', 403],
  ['above_draw', 409],
  ['already_returned', 409],
  ['too_many_approvals', 429],
  ['approvals_declined', 403],
  ['unknown_approval', 404],
  ['not_approved', 403],
  ['already_used', 409],
  ['server_error', 500],
])('The error %s has status %i', (code, status) => {
  expect(new Set(ALL.filter((each) => each.error === code).map((each) => each.status))).toEqual(new Set([status]))
})

test('Different reasons for one error give the client the same response; the reason is not in it', () => {
  const pairs = [
    [errors.invalidClient('secret_wrong'), errors.invalidClient('client_unknown_or_disabled')],
    [errors.invalidGrant('code_replayed'), errors.invalidGrant('verifier_wrong')],
    [errors.invalidScope('scope_malformed'), errors.invalidScope('scope_not_allowed')],
    [errors.invalidTarget('resource_malformed'), errors.invalidTarget('resource_not_allowed')],
    [errors.invalidRequestObject('request_object_expired'), errors.invalidRequestObject('client_key_unusable')],
    [errors.invalidToken('grant_ended'), errors.invalidToken('access_token_revoked')],
    [errors.walletUnavailable('one.example.org'), errors.walletUnavailable('other.example.org')],
  ]
  for (const [one, other] of pairs) {
    expect(one?.toBody()).toEqual(other?.toBody())
    expect(Object.keys(one?.toBody() ?? {})).toEqual(['error', 'error_description'])
    for (const each of [one, other]) expect(JSON.stringify(each?.toBody())).not.toContain(each?.reason)
  }
})

test('A limit is answered 429 and an outage 503, both with temporarily_unavailable (RFC 6585 §4, RFC 6749 §4.1.2.1)', () => {
  const limits = [
    errors.tooManyFailures(30),
    errors.tooManySignIns(30),
    errors.tooManyContractChecks(30),
    errors.tooManyCodes(30),
    errors.tooManyPushed(30),
    errors.tooManyRevocations(30),
    errors.tooManyReaders(30),
    errors.tooManyOfClient(30),
  ]
  const unavailable = [
    errors.storeUnavailable(),
    errors.walletUnavailable(),
    errors.hookUnavailable('hook_timed_out', { retryAfter: 5 }),
    errors.signingUnavailable('signing_algorithm_not_of_the_profile'),
  ]
  expect(new Set(limits.map(({ error, status }) => `${status} ${error}`))).toEqual(new Set(['429 temporarily_unavailable']))
  expect(new Set(unavailable.map(({ error, status }) => `${status} ${error}`))).toEqual(new Set(['503 temporarily_unavailable']))
})

test('Only limits and outages have Retry-After', () => {
  const waiting = ALL.filter((each) => each.retryAfter !== undefined).map((each) => each.error)
  expect(waiting.toSorted()).toEqual([...Array<string>(19).fill('temporarily_unavailable'), 'too_many_approvals'])
  expect(errors.tooManyFailures(30).retryAfter).toBe(30)
})
