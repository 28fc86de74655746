/**
 * Every refusal of the service: the `error` that a client reads, and the reasons that only the log names.
 *
 * These tables are the single source. The types of errors and reasons are derived from them, so a reason without a row
 * does not compile. docs/reference/errors.md is generated from them. A new reason is
 * one line.
 */
import { listOfGrantTypes } from './grant-types.ts'

/** The endpoint at which a reason occurs. `clients`: every endpoint that authenticates clients. `any`: every endpoint. */
export type Endpoint =
  | 'any'
  | 'clients'
  | 'authorize'
  | 'par'
  | 'device-authorization'
  | 'device'
  | 'token'
  | 'introspect'
  | 'approvals'
  | 'approve'
  | 'draw'
  | 'endings'
  | 'revoke'
  | 'userinfo'
  | 'login-api'
  | 'login-complete'
  | 'cross-device'
  | 'logout'
  | 'register'
  | 'admin'

/** The meaning of the reason, and advice if the error's own advice is not enough. */
type ReasonRow = readonly [at: Endpoint | readonly Endpoint[], means: string, act?: string]

type ErrorRow = {
  status: number
  /** the section that defines the code */
  definedIn: string
  /** the fixed `error_description`; `invalid_request` names the parameter instead */
  description: string
  /** what the builder should do */
  act: string
  reasons: Readonly<Record<string, ReasonRow>>
}

/** The parameters of the service. `PARAMETER` in a row's name means each of them. */
export type ParameterName =
  | 'access_token'
  | 'acr_values'
  | 'actor_token'
  | 'actor_token_type'
  | 'address'
  | 'amount'
  | 'approval_id'
  | 'at'
  | 'attempt'
  | 'audience'
  | 'client_assertion'
  | 'client_assertion_type'
  | 'client_id'
  | 'client_secret'
  | 'code'
  | 'code_challenge'
  | 'code_challenge_method'
  | 'code_verifier'
  | 'confirmation'
  | 'cursor'
  | 'decision'
  | 'device_code'
  | 'digest'
  | 'dpop_jkt'
  | 'grant_id'
  | 'grant_type'
  | 'id_token_hint'
  | 'key'
  | 'login_challenge'
  | 'login_hint'
  | 'ui_locales'
  | 'login_verifier'
  | 'max_age'
  | 'nonce'
  | 'post_logout_redirect_uri'
  | 'prompt'
  | 'question'
  | 'redirect_uri'
  | 'refresh_token'
  | 'registration'
  | 'request'
  | 'request_uri'
  | 'requested_token_type'
  | 'resource'
  | 'response_mode'
  | 'response_type'
  | 'scope'
  | 'session'
  | 'signature'
  | 'state'
  | 'subject_token'
  | 'subject_token_type'
  | 'summary'
  | 'token'
  | 'token_type_hint'
  | 'user_code'
  | 'wait'

const AT_REQUEST = ['authorize', 'par'] as const
const AT_REQUEST_OR_DEVICE = [...AT_REQUEST, 'device-authorization'] as const
const AT_REQUEST_OR_TOKEN = [...AT_REQUEST_OR_DEVICE, 'token'] as const
/** Clients that are not registered name themselves at these endpoints. */
const AT_METADATA = AT_REQUEST_OR_TOKEN
const METADATA_NAME = [
  '`client_name` is longer than 80 characters, has invisible characters, reads as another host or as an IP address, or mixes alphabets in one word.',
  'Use a name without dots between letters, or with exactly the host of the client id.',
] as const
const METADATA_MEMBER_TWICE = [
  'An object has two members with one name. One reader would use the first, another the last.',
] as const
const METADATA_REDIRECT_URIS = [
  '`redirect_uris` is missing or empty, has more than 20 entries, or has one that is not allowed.',
] as const
const METADATA_GRANT_TYPES = [
  'The metadata document names neither the authorization code grant nor the device code grant.',
] as const
const METADATA_KEYS = ['`jwks` or `jwks_uri` is malformed, has a private or symmetric key, or both are present.'] as const
const METADATA_AUTH_METHOD = [
  'No authentication method is supported by both sides.',
  'Use `private_key_jwt` with keys, or `none`.',
] as const
const METADATA_VALUES = [
  'A member has a value that the service does not offer: an algorithm, `subject_type`, or a limit such as `dpop_bound_access_tokens`.',
  'Compare the metadata with those of the service. `require_signed_request_object` needs `private_key_jwt`.',
] as const
const AT_PROOF = ['token', 'par', 'device-authorization', 'userinfo'] as const

/** A code is issued, or a device answered, at these endpoints. */
const AT_HOOK = ['authorize', 'login-complete'] as const
const AT_HOOK_OR_TOKEN = [...AT_HOOK, 'token'] as const
const HOOK = 'Operator: `grantor doctor` calls the hook; see docs/operating/hook.md.'
const HOOK_REFUSED = 'Operator: the line `hook_refused` of the audit trail has the words of the hook.'

const CLIENT = 'The client is unknown or disabled.'
const KEYS_AWAY = 'The keys at the client’s `jwks_uri` could not be fetched.'
const KEY_UNUSABLE = 'The key of the client has a type or length that is not accepted.'
const LIMIT = 'Wait for the seconds in `Retry-After`. Correct requests of other clients and users are not affected.'

/**
 * OAuth 2.0 and OpenID Connect. `error_description` never repeats what was sent, and has only characters that RFC 6749
 * §5.2 allows.
 */
export const oauthErrors = {
  invalid_request: {
    status: 400,
    definedIn: 'RFC 6749 §4.1.2.1, §5.2; RFC 6750 §3.1',
    description: 'The request is malformed.',
    act: 'Correct the request. `error_description` names the parameter. Status 413 for `http_413`, and so on; 403 for `foreign_origin`; 404 for an unknown path.',
    reasons: {
      PARAMETER_missing: ['any', 'A required parameter is missing or empty.'],
      PARAMETER_repeated: ['any', 'A parameter was sent more than once.'],
      PARAMETER_not_utf8: ['any', 'The value of a parameter is not UTF-8.'],
      http_400: ['any', 'The bytes of the request are not a valid HTTP request (RFC 9112).'],
      http_405: ['any', 'The method is `CONNECT`. The service is not a proxy.'],
      http_408: ['any', 'The request did not arrive completely in time.', 'Look for a slow network or a wrong `Content-Length`.'],
      http_413: ['any', 'The body is larger than 16 KiB, or a chunk extension is too long.'],
      http_415: ['any', 'The body is not `application/x-www-form-urlencoded` in UTF-8.'],
      http_417: ['any', 'The header `Expect` has a value other than `100-continue`.'],
      http_431: ['any', 'A header field, or all of them together, are too long.', 'Send fewer or smaller cookies and headers.'],
      host_malformed: ['any', 'The header `Host` is missing, was sent more than once, or is not a host (RFC 9112 §3.2).'],
      foreign_origin: ['any', 'A form was sent from a page of another site.', 'Send the user to the service’s own page.'],
      prefetch: [
        ['authorize', 'login-complete', 'logout', 'device'],
        'A prefetch requested a page that has an effect.',
        'Status 403. Let the user open the page.',
      ],
      subresource_load: [
        ['authorize', 'login-complete', 'logout', 'device'],
        'An image, script or fetch requested a page.',
        'Status 403. Send the browser there.',
      ],
      two_client_auth_methods: ['clients', 'The client authenticated in more than one way.', 'Send credentials in one way only.'],
      client_id_mismatch: ['clients', '`client_id` in the body is not the client of the `Authorization` header.'],
      cursor_malformed: ['endings', '`cursor` is not a cursor of the feed.'],
      nonce_malformed: ['endings', '`nonce` is not 16 bytes in base64url.'],
      wait_malformed: [['endings', 'approvals'], '`wait` is not a number of seconds from 0 to 30.'],
      approval_scope_malformed: ['approvals', '`scope` is not one scope.'],
      key_malformed: [['approvals', 'draw'], '`key` is not 1 to 64 letters, digits, dots, dashes or underscores.'],
      summary_malformed: [
        'approvals',
        '`summary` is not 1 to 120 characters that a text to sign can contain (ERC-4361), or has a quote, or a space at an end or beside another.',
        'Write ASCII without quotes, percent signs and angle brackets, in one line.',
      ],
      digest_malformed: ['approvals', '`digest` is not a SHA-256 in base64url.'],
      draw_amount_missing: ['draw', 'The limit has amounts, and the request has none.'],
      amount_without_limit: ['draw', 'The limit has no amounts, and the request has one.'],
      amount_malformed: ['draw', '`amount` is not a whole number from 1 to 999999999999999.'],
      grant_id_malformed: ['draw', '`grant_id` is not a UUID.'],
      attempt_malformed: ['approvals', '`attempt` is not 1 to 64 letters, digits, dots, dashes or underscores.'],
      token_malformed: ['userinfo', 'The access token was sent twice, or is not a token.'],
      verifier_malformed: ['token', '`code_verifier` is not 43 to 128 unreserved characters. The code stays valid.'],
      verifier_without_challenge: ['token', '`code_verifier` was sent, but the authorization request had no `code_challenge`.'],
      subject_token_type_unknown: ['token', '`subject_token_type` is not that of an access token (RFC 8693 §3).'],
      requested_token_type_unknown: ['token', '`requested_token_type` is not that of an access token (RFC 8693 §3).'],
      actor_token_not_supported: ['token', '`actor_token` or `actor_token_type` was sent. The actor is the client.'],
      subject_token_unknown_or_expired: [
        'token',
        '`subject_token` is not an access token of this service, or has expired.',
        'Send the access token of the call, and exchange it at once.',
      ],
      subject_token_of_another_audience: [
        'token',
        'The audience of `subject_token` is not the resource of the client.',
        'Operator: compare `--resource-server` with the `resource` that the app requests.',
      ],
      subject_token_without_user: ['token', '`subject_token` is of the client credentials grant, which has no user.'],
      subject_token_client_disabled: [
        'token',
        'A client that `subject_token` was issued to or exchanged by is disabled or deleted.',
      ],
      subject_token_grant_ended: ['token', 'The grant of `subject_token` has ended.'],
      subject_token_revoked: ['token', '`subject_token`, or a token that it was exchanged from, was revoked.'],
      subject_token_exchanged_too_often: ['token', '`subject_token` is the result of four exchanges. There is no fifth.'],
      request_too_long: [AT_REQUEST_OR_DEVICE, 'The authorization request is too long.', 'Push it (RFC 9126), or send less.'],
      request_not_signed: [AT_REQUEST, 'The client must sign its requests, and this request is not signed.'],
      request_not_pushed: ['authorize', 'The client must push its requests, and this request was not pushed.'],
      request_twice: ['authorize', '`request` and `request_uri` were both sent.'],
      request_uri_pushed: ['par', '`request_uri` cannot be pushed (RFC 9126 §2.1).'],
      redirect_uri_mismatch: ['par', '`redirect_uri` is not registered for the client, byte for byte.'],
      response_type_missing: [AT_REQUEST, 'The client, or the scope `openid`, requires `response_type=code`.'],
      response_mode_unknown: [AT_REQUEST, '`response_mode` is not offered.'],
      response_mode_not_registered: [AT_REQUEST, 'The client is registered for other response modes.'],
      response_mode_without_form: [AT_REQUEST, 'The redirect URI is of an app on a device, and cannot receive a form.'],
      state_not_text: [AT_REQUEST, '`state` is not UTF-8 or has control characters, which this response mode cannot send.'],
      challenge_missing: [AT_REQUEST, '`code_challenge_method` was sent without `code_challenge`.'],
      challenge_required: [AT_REQUEST, 'The client must use PKCE, and `code_challenge` is missing.'],
      challenge_method: [AT_REQUEST, '`code_challenge_method` is not `S256`.'],
      challenge_malformed: [AT_REQUEST, '`code_challenge` is not 43 base64url characters.'],
      dpop_jkt_malformed: [AT_REQUEST_OR_DEVICE, '`dpop_jkt` is not a SHA-256 thumbprint in base64url.'],
      nonce_too_long: [AT_REQUEST, '`nonce` is longer than 2,000 characters.'],
      max_age_malformed: [AT_REQUEST, '`max_age` is not a whole number of seconds.'],
      prompt_unknown: [AT_REQUEST, '`prompt` is not `none`, `login`, `consent` or `select_account`.'],
      prompt_none_with_others: [AT_REQUEST, '`prompt=none` was combined with another value.'],
    },
  },
  invalid_client: {
    status: 401,
    definedIn: 'RFC 6749 §5.2',
    description: 'Client authentication failed.',
    act: 'Compare client id, credentials and authentication method with `grantor clients show`.',
    reasons: {
      credentials_absent: ['clients', 'No client credentials were sent, or the client is not public.'],
      credentials_malformed: ['clients', 'The `Authorization` header is malformed, or was sent twice.'],
      client_unknown_or_disabled: ['clients', CLIENT],
      metadata_client_id_malformed: [
        AT_METADATA,
        'The client id is a URL that is not accepted as the address of a metadata document.',
        'Use https, the default port, a path, and no query with percent signs, fragment, user name or dot segments.',
      ],
      metadata_host_not_allowed: [
        AT_METADATA,
        'The operator does not accept clients of this host.',
        'Operator: see `GRANTOR_CLIENT_METADATA_HOSTS` and `GRANTOR_CLIENT_METADATA_BLOCKED_HOSTS`.',
      ],
      metadata_unavailable: [
        AT_METADATA,
        'The metadata document could not be fetched: no response in time, a redirect, an address that is not public, or no valid certificate.',
        'Serve the document itself at this URL.',
      ],
      metadata_status: [AT_METADATA, 'The response with the metadata document does not have status 200.'],
      metadata_type: [AT_METADATA, 'The metadata document does not have a JSON media type.'],
      metadata_not_json: [AT_METADATA, 'The metadata document is not a JSON object.'],
      metadata_member_twice: [AT_METADATA, ...METADATA_MEMBER_TWICE],
      metadata_client_id_differs: [AT_METADATA, '`client_id` in the metadata document is not its URL, byte for byte.'],
      metadata_has_secret: [AT_METADATA, 'The metadata document contains a client secret. The document is public.'],
      metadata_name: [AT_METADATA, ...METADATA_NAME],
      metadata_redirect_uris: [AT_METADATA, ...METADATA_REDIRECT_URIS],
      metadata_grant_types: [AT_METADATA, ...METADATA_GRANT_TYPES],
      metadata_keys: [AT_METADATA, ...METADATA_KEYS],
      metadata_auth_method: [AT_METADATA, ...METADATA_AUTH_METHOD],
      metadata_values: [AT_METADATA, ...METADATA_VALUES],
      secret_wrong: ['clients', 'The client secret is wrong.', 'If it was rotated, use the new one.'],
      auth_method_not_registered: ['clients', 'The client is registered for another authentication method.'],
      client_assertion_type_unknown: ['clients', '`client_assertion_type` is not the one of RFC 7523.'],
      assertion_malformed: ['clients', 'The client assertion is not a signed JWT.'],
      assertion_type_wrong: ['clients', 'The header `typ` of the assertion is that of another kind of JWT.'],
      assertion_issuer_is_not_subject: ['clients', '`iss` and `sub` of the assertion differ.'],
      assertion_of_another_client: ['clients', '`iss` of the assertion is not the `client_id` beside it.'],
      assertion_audience_wrong: [
        'clients',
        '`aud` of the assertion is not the issuer, or is a list.',
        'Name the issuer. Operator: `--client-assertion-audience endpoint` also accepts the token endpoint.',
      ],
      assertion_exp_missing: ['clients', 'The assertion has no `exp`.'],
      assertion_expired: ['clients', 'The assertion has expired.', 'Make a new one for each request; check the clock.'],
      assertion_lives_too_long: ['clients', '`exp` of the assertion is too far in the future.'],
      assertion_of_the_future: ['clients', '`iat` or `nbf` of the assertion is in the future.', 'Check the clock.'],
      assertion_jti_missing: ['clients', 'The assertion has no `jti`, or one that is too long.'],
      assertion_signature_wrong: ['clients', 'No registered key of the client made the signature of the assertion.'],
      assertion_replayed: ['clients', 'The assertion was used before.', 'Make a new one for each request, also for a retry.'],
      client_key_unusable: ['clients', KEY_UNUSABLE, '`grantor clients update` names the fault of each key.'],
      not_the_login_server: ['login-api', 'The caller did not present the login secret.', 'Compare `GRANTOR_LOGIN_SECRET`.'],
    },
  },
  invalid_grant: {
    status: 400,
    definedIn: 'RFC 6749 §5.2',
    description:
      'The authorization code or refresh token is invalid, expired, revoked, already used, does not match the authorization request, or was issued to another client.',
    act: 'Discard the code or the tokens and start again with an authorization request.',
    reasons: {
      code_unknown: ['token', 'The code was not made by this service, or is damaged or truncated.'],
      code_of_another_client: ['token', 'The code was issued to another client.'],
      code_expired: ['token', 'The code is older than its lifetime.', 'Exchange the code at once.'],
      code_replayed: ['token', 'The code was used before; its grant was ended.', 'Exchange it once. If you did, it was stolen.'],
      device_code_unknown: ['token', 'The device code was not made by this service, or is damaged or truncated.'],
      device_code_of_another_client: ['token', 'The device code was issued to another client.'],
      redirect_uri_mismatch: ['token', '`redirect_uri` is not that of the authorization request.'],
      verifier_missing: ['token', '`code_verifier` is missing, although `code_challenge` was sent; the code is spent.'],
      verifier_wrong: ['token', '`code_verifier` does not match `code_challenge`; the code is spent.'],
      consent_missing: ['token', 'The client now needs a signed consent, and the code or grant has none.'],
      withdrawn: ['token', 'The user withdrew the consent behind the code.'],
      wallet_changed: ['token', 'The contract wallet has other owners now; the signature no longer holds.'],
      ended_since_code: ['token', 'The user signed out or ended access after the code was issued.'],
      grant_expired: ['token', 'The grant reached its maximum lifetime.'],
      refresh_token_unknown: ['token', 'The refresh token was not made by this service, is damaged, or its grant was cleaned.'],
      refresh_token_foreign: ['token', 'The refresh token was issued to another client.'],
      refresh_token_ended: ['token', 'The grant was ended: by the user, the operator, a revocation or a replay.'],
      refresh_token_expired: ['token', 'The refresh token was idle too long, or the grant reached its maximum lifetime.'],
      refresh_token_wrong_key: ['token', 'The refresh token is bound to another DPoP key.'],
      refresh_replayed: ['token', 'A used refresh token was sent again; the grant was ended.', 'Store each new token at once.'],
      refresh_newer_than_row: [
        'token',
        'The database lost a write that was acknowledged.',
        'Operator: see “Logs” in operations.md.',
      ],
      refresh_key_retired: ['token', 'The key that made the refresh token was retired.'],
      hook_refused: [
        'token',
        'The hook of the operator does not allow this wallet at this client now. The grant and the refresh token stay valid.',
        HOOK_REFUSED,
      ],
      bound_to_another_key: ['token', 'The code is bound to another DPoP key (RFC 9449 §10).'],
      token_of_another_client: ['revoke', 'The token was issued to another client; it stays valid.'],
    },
  },
  unauthorized_client: {
    status: 400,
    definedIn: 'RFC 6749 §4.1.2.1, §5.2',
    description: 'The client is not authorized to use this grant type.',
    act: 'Let the operator register the grant type for the client.',
    reasons: {
      grant_type_not_registered: [AT_REQUEST_OR_TOKEN, 'The client is not registered for this grant type.'],
      not_a_resource_server: [
        'endings',
        'The client is no resource server. Only a resource server may read the feed of endings.',
        'Let the operator register the client of the API with its resource: `--resource-server`.',
      ],
    },
  },
  unsupported_grant_type: {
    status: 400,
    definedIn: 'RFC 6749 §5.2',
    description: `The authorization server does not support this grant type. Use ${listOfGrantTypes()}.`,
    act: 'Correct `grant_type`.',
    reasons: { grant_type_unknown: ['token', 'The value of `grant_type` is not one that the service supports.'] },
  },
  unsupported_response_type: {
    status: 400,
    definedIn: 'RFC 6749 §4.1.2.1',
    description: 'The authorization server does not support this response type. Use response_type=code.',
    act: 'Send `response_type=code`.',
    reasons: { response_type_unknown: [AT_REQUEST, 'The value of `response_type` is not `code`.'] },
  },
  invalid_scope: {
    status: 400,
    definedIn: 'RFC 6749 §4.1.2.1, §5.2',
    description: 'The requested scope is unknown, malformed, or exceeds what was granted or what the client may request.',
    act: 'Request less, or let the operator register the scope for the client.',
    reasons: {
      scope_malformed: [AT_REQUEST_OR_TOKEN, '`scope` is not a list of names with one space between them.'],
      scope_not_allowed: [AT_REQUEST_OR_TOKEN, 'The client is not registered for a scope of the request.'],
      scope_of_another_resource: [
        AT_REQUEST_OR_TOKEN,
        'A scope belongs to no resource of the request, or a resource of the request has none of the scopes.',
      ],
      scope_of_no_resource: [
        AT_REQUEST_OR_TOKEN,
        'The client is registered for a scope that none of its resources has.',
        'Operator: `grantor clients show` warns of such scopes. Add the resource to the client, or the scope to the resource.',
      ],
      resource_missing: [
        AT_REQUEST_OR_TOKEN,
        'The request names no resource, and the default resource does not have its scopes.',
        'Send `resource`.',
      ],
      more_than_one_limit: [
        AT_REQUEST_OR_TOKEN,
        'Two scopes of the request have a limit, or another resource of the request has a scope with the name of the limited one.',
        'Request one limited scope at a time.',
      ],
      scope_unknown: ['token', 'A scope of the refresh is malformed, or the client is not registered for it.'],
      scope_not_granted: ['token', 'A scope was not granted: to the app, at a refresh, or to `subject_token`, at an exchange.'],
      limit_not_signed: [
        'token',
        'A scope has a limit, and the wallet has signed none: always at `client_credentials`, and at an exchange if the grant has none.',
      ],
      scope_about_a_user: ['token', '`client_credentials` cannot have a scope about a user.'],
      scope_with_limit: ['token', '`client_credentials` cannot have a scope with a limit: no wallet signs the limit.'],
      no_scope_left: [
        'token',
        'The client is not registered for any scope that was granted, or the resource no longer has any of them.',
      ],
    },
  },
  invalid_target: {
    status: 400,
    definedIn: 'RFC 8707 §2',
    description: 'The requested resource is unknown, malformed, or exceeds what was granted or what the client may request.',
    act: 'Request a registered resource, one for each token.',
    reasons: {
      resource_malformed: [AT_REQUEST_OR_TOKEN, '`resource` is not an absolute URI without fragment.'],
      resource_not_allowed: [
        AT_REQUEST_OR_TOKEN,
        'The client is not registered for the resource, or the resource is not open to clients of its kind.',
      ],
      resource_unclear: [
        AT_REQUEST,
        'A client that no operator registered named no resource, and its scopes do not belong to exactly one resource that is open to it.',
      ],
      resource_not_granted: ['token', 'The resource was not part of the authorization request.'],
      resource_not_exchangeable: [
        'token',
        'The client is not registered to exchange tokens for the resource.',
        'Operator: `grantor clients update --exchange-resource`.',
      ],
      more_than_one_resource: ['token', 'One token has one resource, and several were requested.'],
    },
  },
  access_denied: {
    status: 400,
    definedIn: 'RFC 6749 §4.1.2.1',
    description: 'The user declined.',
    act: 'Respect the decision. Do not ask again in a loop.',
    reasons: {
      user_declined: [['authorize', 'token'], 'The user declined the request.'],
      hook_refused: [AT_HOOK, 'The hook of the operator does not allow this wallet at this client.', HOOK_REFUSED],
    },
  },
  authorization_pending: {
    status: 400,
    definedIn: 'RFC 8628 §3.5',
    description: 'The user has not answered yet. Repeat the request after the interval.',
    act: 'Poll again after `interval` seconds.',
    reasons: { answer_pending: ['token', 'The user has not answered the request of the device yet. Not in the audit log.'] },
  },
  slow_down: {
    status: 400,
    definedIn: 'RFC 8628 §3.5',
    description: 'The user has not answered yet. Add 5 seconds to the interval, and repeat the request.',
    act: 'Add 5 seconds to the interval of this and all later polls.',
    reasons: { polled_too_soon: ['token', 'The device polled again before the interval had passed.'] },
  },
  expired_token: {
    status: 400,
    definedIn: 'RFC 8628 §3.5',
    description: 'The device code has expired.',
    act: 'Start again with a device authorization request, when the user asks for it.',
    reasons: { device_code_expired: ['token', 'The device code is older than `expires_in` seconds.'] },
  },
  login_required: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'The user must sign in.',
    act: 'Send the request without `prompt=none`, from a click.',
    reasons: {
      no_session: ['authorize', '`prompt=none`, and the browser has no session that is recent and strong enough.'],
      another_wallet_than_hinted: ['authorize', 'The user signed in with another wallet than that of `id_token_hint`.'],
    },
  },
  consent_required: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'The user must consent.',
    act: 'Send the request without `prompt=none`, from a click.',
    reasons: { not_confirmed: ['authorize', '`prompt=none`, and no signed consent covers the request.'] },
  },
  interaction_required: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'The user must confirm the request.',
    act: 'Send the request without `prompt=none`, from a click.',
    reasons: {
      another_port: [
        'authorize',
        '`prompt=none`, and the signed consent names another port of this machine than the redirect URI.',
      ],
    },
  },
  account_selection_required: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'The user must choose an account.',
    act: 'Send the request without `prompt=none`, from a click.',
    reasons: { session_of_another_wallet: ['authorize', '`prompt=none`, and the session is not of the wallet of `login_hint`.'] },
  },
  invalid_request_object: {
    status: 400,
    definedIn: 'RFC 9101 §7; OpenID Connect Core §3.1.2.6',
    description: 'The request object is malformed, expired, not for this server, or not signed with a key of the client.',
    act: 'Make a new request object with the issuer as `aud`, and sign it with a registered key.',
    reasons: {
      request_object_malformed: [
        AT_REQUEST,
        'The request object is not a signed JWT. Unsigned and encrypted ones are not supported.',
      ],
      request_object_type_wrong: [AT_REQUEST, 'The header `typ` is that of another kind of JWT.'],
      request_object_of_another_client: [AT_REQUEST, 'The claim `client_id` is not the client of the request.'],
      request_object_issuer_wrong: [AT_REQUEST, '`iss` is not the client id.'],
      request_object_audience_wrong: [AT_REQUEST, '`aud` does not hold the issuer of this service.'],
      request_object_is_an_assertion: [AT_REQUEST, '`sub` is the client id, as in a client assertion (RFC 9101 §10.8).'],
      request_object_time_malformed: [AT_REQUEST, '`exp`, `nbf` or `iat` is not a time.'],
      request_object_of_the_future: [AT_REQUEST, '`nbf` or `iat` is in the future.', 'Check the clock.'],
      request_object_expired: [AT_REQUEST, '`exp` has passed.'],
      request_object_lives_too_long: [AT_REQUEST, '`exp` is too far in the future.'],
      request_object_too_old: [AT_REQUEST, '`nbf` is more than 60 minutes ago, under profile `fapi2`.'],
      request_object_without_time: [AT_REQUEST, 'The claims hold none of `exp`, `iat` and `nbf`.'],
      request_object_without_exp_or_nbf: [AT_REQUEST, 'Under profile `fapi2`, `exp` and `nbf` are required.'],
      request_object_signature_wrong: [AT_REQUEST, 'No registered key of the client made the signature.'],
      request_object_within_another: [AT_REQUEST, 'The request object holds `request` or `request_uri` (RFC 9101 §4).'],
      request_object_parameter_malformed: [AT_REQUEST, 'A claim is neither a text nor a whole number.'],
      client_key_unusable: [AT_REQUEST, KEY_UNUSABLE],
    },
  },
  request_not_supported: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'This client has registered no keys for request objects.',
    act: 'Register keys for the client, or send plain parameters.',
    reasons: { client_without_keys: [AT_REQUEST, '`request` was sent, and the client has no keys.'] },
  },
  request_uri_not_supported: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'The only request_uri here is that of a pushed request.',
    act: 'Push the request (RFC 9126).',
    reasons: { request_uri_sent: ['authorize', '`request_uri` is a web address. The service fetches none.'] },
  },
  registration_not_supported: {
    status: 400,
    definedIn: 'OpenID Connect Core §3.1.2.6',
    description: 'Clients register beforehand.',
    act: 'Let the operator register the client.',
    reasons: { registration_sent: [AT_REQUEST, 'The parameter `registration` was sent.'] },
  },
  invalid_dpop_proof: {
    status: 400,
    definedIn: 'RFC 9449 §5, §7.1',
    description: 'The DPoP proof is malformed, too old, used, or not for this request.',
    act: 'Make a new proof for each request, also for a retry. At `/oauth/userinfo` the status is 401.',
    reasons: {
      proof_missing: [['token', 'userinfo'], 'The client, the code or the token needs a DPoP proof, and there is none.'],
      proof_repeated: [AT_PROOF, 'The header `DPoP` was sent more than once.'],
      proof_malformed: [AT_PROOF, 'The proof is not a signed JWT.'],
      proof_type_wrong: [AT_PROOF, 'The header `typ` is not `dpop+jwt`.'],
      proof_key_unusable: [AT_PROOF, 'The key in `jwk` is missing, private, or of a kind that is not accepted.'],
      proof_jti_missing: [AT_PROOF, '`jti` is missing, or longer than 256 characters.'],
      proof_method_wrong: [AT_PROOF, '`htm` is not the method of the request.'],
      proof_address_wrong: [AT_PROOF, '`htu` is not the address of the endpoint, as the metadata spells it.'],
      proof_iat_missing: [AT_PROOF, '`iat` is missing, or is not a number.'],
      proof_of_another_token: ['userinfo', '`ath` is not the SHA-256 of the access token beside the proof.'],
      proof_signature_wrong: [AT_PROOF, 'The key in `jwk` did not make the signature.'],
      proof_of_the_future: [AT_PROOF, '`iat` is in the future.', 'Check the clock, or use the nonce.'],
      proof_expired: [AT_PROOF, '`iat` is more than a minute ago.', 'Check the clock, or use the nonce.'],
      proof_replayed: [AT_PROOF, 'The proof was used before.'],
      proof_key_is_not_dpop_jkt: ['par', 'The key of the proof is not the one that `dpop_jkt` names (RFC 9449 §10.1).'],
    },
  },
  use_dpop_nonce: {
    status: 400,
    definedIn: 'RFC 9449 §8',
    description: 'Make the DPoP proof again with the nonce in the header DPoP-Nonce.',
    act: 'Repeat the request with a proof that holds the nonce. At `/oauth/userinfo` the status is 401.',
    reasons: {
      dpop_nonce_missing_or_old: [AT_PROOF, 'The proof holds no nonce of the service, or an old one.'],
    },
  },
  invalid_token: {
    status: 401,
    definedIn: 'RFC 6750 §3.1',
    description: 'The access token is invalid, expired or revoked.',
    act: 'Refresh the access token.',
    reasons: {
      registration_token_wrong: ['register', 'The initial access token of a registration is missing or wrong.'],
      access_token_unknown_or_expired: ['userinfo', 'The access token was not made by this service, or has expired.'],
      access_token_revoked: ['userinfo', 'The access token was revoked.'],
      access_token_not_bound: ['userinfo', 'A DPoP proof came with a token that is bound to no key.'],
      bound_token_as_bearer: ['userinfo', 'A token that is bound to a key was presented as Bearer.'],
      bound_to_another_key: ['userinfo', 'The access token is bound to another DPoP key.'],
      client_unknown_or_disabled: ['userinfo', CLIENT],
      grant_ended: ['userinfo', 'The grant of the access token has ended.'],
      access_token_for_another_resource: ['admin', 'The access token was issued for another resource than the admin API.'],
      client_authenticates_by_secret: [
        'admin',
        'A client that authenticates by a secret presented a token that is bound to no key.',
        'Register the client with private_key_jwt, or use DPoP.',
      ],
    },
  },
  invalid_redirect_uri: {
    status: 400,
    definedIn: 'RFC 7591 §3.2.2',
    description: 'The list redirect_uris is missing, or has a value that is not allowed.',
    act: 'Register https, loopback, or an allowed scheme of the app.',
    reasons: { metadata_redirect_uris: ['register', ...METADATA_REDIRECT_URIS] },
  },
  invalid_client_metadata: {
    status: 400,
    definedIn: 'RFC 7591 §3.2.2',
    description: 'The metadata of the client is malformed or not allowed.',
    act: 'Correct the registration request.',
    reasons: {
      metadata_not_json: ['register', 'The body is not a JSON object.'],
      metadata_member_twice: ['register', ...METADATA_MEMBER_TWICE],
      metadata_name: ['register', ...METADATA_NAME],
      metadata_grant_types: ['register', ...METADATA_GRANT_TYPES],
      metadata_keys: ['register', ...METADATA_KEYS],
      metadata_auth_method: ['register', ...METADATA_AUTH_METHOD],
      metadata_values: ['register', ...METADATA_VALUES],
      metadata_too_long: [
        'register',
        'The registration is too long for a client id.',
        'Send fewer redirect URIs, and `jwks_uri` instead of `jwks`.',
      ],
    },
  },
  insufficient_scope: {
    status: 403,
    definedIn: 'RFC 6750 §3.1',
    description: 'This needs an access token with scope openid.',
    act: 'Request the scope in a new authorization request.',
    reasons: {
      admin_scope_not_granted: ['admin', 'The access token does not have the scope that the operation needs.'],
      not_an_operator: ['admin', 'The wallet or the client is not an operator.', 'Operator: `grantor operators add`.'],
      role_not_sufficient: ['admin', 'The role of the operator does not allow the operation.', 'Let an owner do this.'],
      openid_not_granted: ['userinfo', 'The access token does not have the scope `openid`.'],
      approval_scope_not_granted: ['approvals', 'The access token does not have the scope that the API named.'],
    },
  },
  not_yours: {
    status: 403,
    definedIn: 'approvals.md',
    description: 'The client is not the resource server that the access token is for.',
    act: 'Authenticate as the client of the API that received the token.',
    reasons: {
      token_of_another_audience: [
        ['approvals', 'draw'],
        'The client is no resource server, or the token is for another resource.',
      ],
    },
  },
  token_inactive: {
    status: 403,
    definedIn: 'approvals.md',
    description: 'The access token is not active, or belongs to no user.',
    act: 'Refuse the call with 401, so that the client gets a new token.',
    reasons: {
      access_token_unknown: [['approvals', 'draw'], 'The access token was not made by this service, is damaged, or has expired.'],
      access_token_without_user: [['approvals', 'draw'], 'The access token is of a client itself, so there is no user.'],
      access_token_revoked: ['approvals', 'The access token was revoked.'],
      client_unknown_or_disabled: [['approvals', 'draw'], CLIENT],
      grant_ended: [['approvals', 'draw'], 'The grant of the access token has ended.'],
    },
  },
  key_used: {
    status: 409,
    definedIn: 'approvals.md',
    description: 'The key names an action with other values.',
    act: 'Choose a new key for each action.',
    reasons: {
      approval_values_differ: ['approvals', 'The API asked under the same key for something else.'],
      draw_amount_differs: ['draw', 'The API drew another amount under the same key.'],
    },
  },
  no_limit: {
    status: 403,
    definedIn: 'limits.md',
    description: 'No scope of the access token has a limit.',
    act: 'Draw only for tokens with a limited scope.',
    reasons: { grant_without_limit: ['draw', 'No scope of the token has a limit at this resource.'] },
  },
  limit_not_signed: {
    status: 403,
    definedIn: 'limits.md',
    description: 'The scope has a limit, and the wallet signed none.',
    act: 'Refuse the call with `insufficient_scope`, so that the user can sign the limit.',
    reasons: { grant_before_limit: ['draw', 'The grant is from before the operator limited the scope.'] },
  },
  each_exceeded: {
    status: 403,
    definedIn: 'limits.md',
    description: 'The amount is more than the user allowed for one use.',
    act: 'Draw less, or refuse the call with `insufficient_scope`, so that the user can sign again.',
    reasons: { limit_each_exceeded: ['draw', 'The amount is above the amount of one use.'] },
  },
  uses_exceeded: {
    status: 403,
    definedIn: 'limits.md',
    description: 'No use is left.',
    act: 'Refuse the call with `insufficient_scope`, so that the user can sign again.',
    reasons: { limit_uses_exceeded: ['draw', 'All uses of the period are drawn, or the grant has 10,000 draws.'] },
  },
  amount_exceeded: {
    status: 403,
    definedIn: 'limits.md',
    description: 'The amount is more than what is left.',
    act: 'Draw less, or refuse the call with `insufficient_scope`, so that the user can sign again.',
    reasons: { limit_amount_exceeded: ['draw', 'The amount is above the rest of the period.'] },
  },
  unknown_draw: {
    status: 403,
    definedIn: 'limits.md',
    description: 'There is no such draw of this client.',
    act: 'Send the `grant_id` and the `key` of a draw of this client.',
    reasons: { draw_unknown: ['draw', 'The client has drawn nothing with this key, or the grant was deleted.'] },
  },
  above_draw: {
    status: 409,
    definedIn: 'limits.md',
    description: 'The amount is more than was drawn.',
    act: 'Give back at most the amount of the draw.',
    reasons: { return_above_draw: ['draw', 'The amount is above that of the draw, or one of both has no amount.'] },
  },
  already_returned: {
    status: 409,
    definedIn: 'limits.md',
    description: 'Another amount of this draw was given back before.',
    act: 'Give back once. The same amount gets the same answer again.',
    reasons: { draw_returned_otherwise: ['draw', 'The draw was given back before, with another amount.'] },
  },
  too_many_approvals: {
    status: 429,
    definedIn: 'approvals.md',
    description: 'The user was asked too often. Wait and try again.',
    act: 'Send the same request again after `Retry-After`.',
    reasons: {
      approvals_waiting: ['approvals', 'Five approvals of the grant wait for an answer.'],
      approvals_hourly: ['approvals', 'The grant has asked 60 times within an hour.'],
      approvals_declined_twice: ['approvals', 'The user declined twice within an hour.'],
      approvals_wallet_waiting: ['approvals', 'Twenty approvals of the wallet wait for an answer.'],
    },
  },
  approvals_declined: {
    status: 403,
    definedIn: 'approvals.md',
    description: 'The user wants no more questions from this app.',
    act: 'Do not ask again. The user can allow the app anew.',
    reasons: { approvals_declined_for_good: ['approvals', 'The user chose never to be asked again for this app.'] },
  },
  unknown_approval: {
    status: 404,
    definedIn: 'approvals.md',
    description: 'There is no such approval.',
    act: 'Use the `approval_id` that this API received. It is kept for a day after its end.',
    reasons: { approval_unknown: ['approvals', 'The id names no approval of this API.'] },
  },
  not_approved: {
    status: 403,
    definedIn: 'approvals.md',
    description: 'The approval cannot be used now. The member state has the reason.',
    act: 'Do not act. Wait for the user, or ask again under a new key.',
    reasons: {
      approval_waiting: ['approvals', 'The user has not answered.'],
      approval_declined: ['approvals', 'The user declined.'],
      approval_expired: [
        'approvals',
        'The user did not answer within ten minutes, or the API did not use the signed approval within ten minutes.',
      ],
      approval_ended: ['approvals', 'The grant has ended, and its approvals with it.'],
    },
  },
  already_used: {
    status: 409,
    definedIn: 'approvals.md',
    description: 'Another attempt used the approval.',
    act: 'Do not act a second time. The same attempt gets the same answer again.',
    reasons: { approval_used_before: ['approvals', 'The approval was used with another `attempt`.'] },
  },
  temporarily_unavailable: {
    status: 503,
    definedIn: 'RFC 6749 §4.1.2.1; with 429: RFC 6585 §4, RFC 9126 §2.3',
    description: 'The authorization server cannot handle the request at the moment.',
    act: 'Nothing is lost. Send the same request again after `Retry-After`.',
    reasons: {
      failure_limit: [['clients', 'login-api'], 'Status 429: too many failures from this network for this client.', LIMIT],
      code_limit: [
        'authorize',
        'Too many codes for this wallet, or for this network. Status 429, or at the redirect URI.',
        LIMIT,
      ],
      pushed_too_often: [['par', 'device-authorization'], 'Status 429: too many pushed requests.', LIMIT],
      feed_reads: ['endings', 'Status 429: too many requests for the feed, or too many open connections, of one client.', LIMIT],
      client_limit: [
        ['token', 'introspect', 'revoke'],
        'Status 429: the client sent more requests in a minute than its registration allows.',
        'Wait for the seconds in `Retry-After`. The operator sets the limit: `grantor clients show`.',
      ],
      revoked_too_often: ['revoke', 'Status 429: too many revocations of tokens without a grant by one client.', LIMIT],
      registered_too_often: ['register', 'Status 429: too many registrations from this network.', LIMIT],
      client_fetches: [
        ['authorize', 'clients'],
        'Status 429: this network caused too many fetches of documents and keys of clients that are not registered.',
        LIMIT,
      ],
      host_fetches: [
        ['authorize', 'clients'],
        'Too many documents and keys of clients that are not registered were fetched from this host.',
        LIMIT,
      ],
      client_calls: [
        ['authorize', 'clients'],
        'Too many fetches of documents or keys of clients were under way, in total or from this host.',
      ],
      client_keys_unavailable: [
        ['authorize', 'clients'],
        KEYS_AWAY,
        'Check that the server of Grantor can fetch this address over https.',
      ],
      uses_too_often: [
        ['clients', 'userinfo'],
        'Status 429: too many client assertions and DPoP proofs from this network, of clients that are not registered or do not authenticate.',
        LIMIT,
      ],
      client_metadata_unavailable: [
        ['token', 'par', 'device-authorization', 'introspect', 'revoke'],
        'The metadata document of the client could not be fetched, and no copy of the last day is in memory.',
        'Operator: check that this server can fetch the address.',
      ],
      sign_in_limit: ['login-api', 'Status 429: too many sign-ins from this network.', LIMIT],
      contract_checks: ['login-api', 'Status 429: too many checks of this contract wallet.', LIMIT],
      store_unavailable: ['any', 'The database cannot be reached, or accepts no writes.', 'Operator: check the database.'],
      contract_could_not_be_checked: [
        ['token', 'login-api'],
        'The chain that checks the wallet did not respond.',
        'Operator: check it.',
      ],
      hook_timed_out: [AT_HOOK_OR_TOKEN, 'The hook of the operator did not respond in time.', HOOK],
      hook_unreachable: [AT_HOOK_OR_TOKEN, 'No connection to the hook of the operator, or the connection broke.', HOOK],
      hook_certificate: [AT_HOOK_OR_TOKEN, 'The certificate of the hook is not valid for its name.', HOOK],
      hook_address: [AT_HOOK_OR_TOKEN, 'The hook has an http address whose name does not resolve to this machine.', HOOK],
      hook_redirect: [AT_HOOK_OR_TOKEN, 'The hook responded with a redirect, which is not followed.', HOOK],
      hook_status: [AT_HOOK_OR_TOKEN, 'The hook responded with a status other than 200.', HOOK],
      hook_content_type: [AT_HOOK_OR_TOKEN, 'The response of the hook is not `application/json`.', HOOK],
      hook_answer_too_long: [AT_HOOK_OR_TOKEN, 'The response of the hook is longer than 8,192 bytes.', HOOK],
      hook_answer_malformed: [
        AT_HOOK_OR_TOKEN,
        'The response of the hook is no JSON object with one known `answer`, or its members contradict each other.',
        HOOK,
      ],
      hook_claims_refused: [
        AT_HOOK_OR_TOKEN,
        'The answer of the hook has claims for a resource that the question does not have, claims whose name is no https URL, or more than 1,024 bytes of claims.',
        HOOK,
      ],
      hook_scope_not_asked: [AT_HOOK_OR_TOKEN, 'The answer of the hook names a scope that the question does not have.', HOOK],
      hook_busy: [
        AT_HOOK_OR_TOKEN,
        'Too many questions to the hook were under way, in total, for the client or for the wallet.',
        HOOK,
      ],
      hook_paused: [
        AT_HOOK_OR_TOKEN,
        'The hook did not respond several times in a row, and is not called for some seconds.',
        HOOK,
      ],
      signing_key_announced: [
        ['token', 'introspect'],
        'The first key in the client’s algorithm is published, and does not sign for another minute.',
      ],
      signing_algorithm_not_of_the_profile: ['token', 'The next signing key has not started yet; two minutes at most.'],
    },
  },
  server_error: {
    status: 500,
    definedIn: 'RFC 6749 §4.1.2.1',
    description: 'Something went wrong on our side.',
    act: 'Try again, then report the request id.',
    reasons: { defect: ['any', 'A defect of the service. The log has the error under the request id.'] },
  },
} as const satisfies Record<string, ErrorRow>

/**
 * The API between the two servers is not an OAuth endpoint and has separate error codes
 * (docs/guides/own-login-server.md).
 */
export const loginErrors = {
  invalid_request: {
    status: 400,
    definedIn: 'RFC 6749 §5.2',
    description: 'The request is malformed.',
    act: 'Correct the login server; the user starts again at the app.',
    reasons: {
      PARAMETER_missing: ['login-api', 'A required member is missing, empty, or not a string.'],
      PARAMETER_malformed: ['login-api', 'A member is not a string.'],
      body_not_an_object: ['login-api', 'The body is not a JSON object.'],
      limit_malformed: ['login-api', '`limit` is not an object of texts.'],
      chain_id_malformed: ['login-api', '`chain_id` is not a whole number.'],
      challenge_unknown: ['login-api', '`login_challenge` was not made by this service, or is damaged.'],
      address_malformed: ['login-api', '`address` is not an address.'],
      address_wrong_checksum: ['login-api', 'The upper and lower case of `address` is not its EIP-55 checksum.'],
      scope_not_asked_for: ['login-api', '`scope` holds a scope that the app did not request.'],
      scope_choice_not_offered: ['login-api', 'A scope was left out, and this client does not let the user choose.'],
      signature_malformed: ['login-api', '`signature` is not a signature.'],
    },
  },
  limit_refused: {
    status: 400,
    definedIn: 'own-login-server.md',
    description: 'A number of the limit cannot be signed.',
    act: 'The user chooses numbers that are at most those of the request.',
    reasons: {
      limit_not_lower: ['login-api', 'A number of `limit` is missing, is not a number, or is above that of the request.'],
      limit_declined_alone: ['login-api', '`limit` allows no use, and the request has no other scope.'],
    },
  },
  not_proven: {
    status: 401,
    definedIn: 'own-login-server.md',
    description: 'The signature does not prove this address.',
    act: 'The user signs with the account that was chosen.',
    reasons: {
      key_switched_off: ['login-api', 'The account has switched its key off, so a signature of the key proves nothing.'],
      signature_of_another: ['login-api', 'The signature is of another account, or over another text.'],
    },
  },
  another_wallet: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: 'Another wallet must sign this.',
    act: 'The user signs with the account that gave the app its access.',
    reasons: { approval_of_another_wallet: ['login-api', 'The approval is for another address.'] },
  },
  chain_not_allowed: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: 'Sign-in is not offered on this chain.',
    act: 'The user chooses another chain.',
    reasons: { chain_not_allowed: ['login-api', '`chain_id` is not one of `GRANTOR_CHAIN_IDS`.'] },
  },
  address_not_allowed: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: 'This address cannot sign in.',
    act: 'The user uses another account.',
    reasons: { address_keyless: ['login-api', 'No key can belong to this address, such as the zero address.'] },
  },
  client_not_allowed: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: 'The app may not ask for sign-in any more.',
    act: 'Operator: the client was disabled, or the redirect URI was removed.',
    reasons: { client_unknown_or_disabled: ['login-api', CLIENT] },
  },
  vouching_off: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: 'A sign-in needs a signature.',
    act: 'Send a signature, or set `GRANTOR_LOGIN_MAY_VOUCH`.',
    reasons: { vouching_off: ['login-api', 'There was no signature, and vouching is off.'] },
  },
  consent_needs_signature: {
    status: 403,
    definedIn: 'own-login-server.md',
    description: "Only the wallet's own signature will do here.",
    act: 'Let the wallet sign.',
    reasons: {
      approval_needs_signature: ['login-api', 'The login server vouched, and an approval needs a signature.'],
      end_everything_needs_signature: ['login-api', 'The login server vouched, and ending everything needs a signature.'],
      signed_consent_needs_signature: [
        'login-api',
        'The login server vouched, and the client has the rule `signed`, or the request requires a signature (`acr_values`).',
      ],
    },
  },
  already_used: {
    status: 409,
    definedIn: 'own-login-server.md',
    description: 'This sign-in was used already.',
    act: 'The user starts again at the app.',
    reasons: {
      challenge_already_used: ['login-api', 'The sign-in was finished before.'],
      receipt_taken: ['login-api', 'A signature over this very text was accepted before.'],
    },
  },
  continued_elsewhere: {
    status: 409,
    definedIn: 'own-login-server.md',
    description: 'This sign-in was continued on another device.',
    act: 'The user continues on the other device.',
    reasons: { challenge_continued_elsewhere: ['login-api', 'The sign-in was finished on another device.'] },
  },
  signed_on_other_device: {
    status: 409,
    definedIn: 'own-login-server.md',
    description: 'Another device signed this sign-in.',
    act: 'The browser that began the sign-in goes on at `continue_url`.',
    reasons: {
      challenge_signed_on_other_device: ['login-api', 'Another device signed, and the browser can finish the sign-in.'],
    },
  },
  expired: {
    status: 410,
    definedIn: 'own-login-server.md',
    description: 'This sign-in took too long. Start again at the app.',
    act: 'The user starts again at the app.',
    reasons: {
      challenge_expired: ['login-api', 'The sign-in was begun more than ten minutes ago.'],
      ended_since_proof: ['login-api', 'The user signed out or ended access while the sign-in was in progress.'],
      session_key_retired: ['login-api', 'The key that would make the session was retired.'],
      challenge_cross_device_off: ['login-api', '`GRANTOR_CROSS_DEVICE` was switched off meanwhile.'],
      template_unknown: ['login-api', 'The text to sign is of a version that is no longer composed.'],
    },
  },
  too_large: {
    status: 413,
    definedIn: 'own-login-server.md',
    description: 'The request is too large.',
    act: 'Send at most 16 KiB, and a signature of at most 8,192 characters.',
    reasons: {
      body_too_large: ['login-api', 'The body is larger than 16 KiB.'],
      signature_too_large: ['login-api', 'The signature is longer than 8,192 characters.'],
    },
  },
  unsupported_media_type: {
    status: 415,
    definedIn: 'own-login-server.md',
    description: 'The body must be application/json.',
    act: 'Send `Content-Type: application/json`.',
    reasons: { body_not_json: ['login-api', 'The body is of another type.'] },
  },
} as const satisfies Record<string, ErrorRow>

/** Refusals that only a page shows, because no redirect URI is known to belong to the client (RFC 6749 §4.1.2.1). */
export const pageReasons = {
  PARAMETER_repeated: [['authorize', 'logout'], 'A parameter was sent more than once.'],
  PARAMETER_not_utf8: ['logout', 'The value of a parameter is not UTF-8.'],
  client_id_missing: ['authorize', '`client_id` is missing.'],
  client_unknown_or_disabled: [['authorize', 'logout'], CLIENT],
  redirect_uri_missing: ['authorize', '`redirect_uri` is missing.'],
  redirect_uri_not_registered: ['authorize', '`redirect_uri` is not registered for the client, byte for byte.'],
  request_uri_malformed: ['authorize', '`request_uri` is neither a pushed request nor a web address.'],
  pushed_unknown: ['authorize', 'The pushed request is unknown: damaged, or cleaned after it expired.'],
  pushed_by_another_client: ['authorize', 'Another client pushed the request.'],
  pushed_expired: ['authorize', 'The pushed request is older than 60 seconds.', 'Push again, then send the browser at once.'],
  pushed_spent_before: ['authorize', 'Another request redeemed the pushed request for a code at the same moment.'],
  pushed_spent: ['authorize', 'The pushed request was already redeemed for a code.', 'Push again for each authorization.'],
  client_id_not_of_the_hint: ['logout', '`client_id` is not the client of `id_token_hint`.'],
  post_logout_redirect_uri_not_registered: [
    'logout',
    '`post_logout_redirect_uri` is not registered for the client, byte for byte.',
  ],
  id_token_hint_invalid: [
    'logout',
    '`id_token_hint` is forged or signed with a key that was deleted, and nothing else names the client.',
  ],
  id_token_hint_and_client_id_missing: [
    'logout',
    '`post_logout_redirect_uri` was sent without a client.',
    'Send `id_token_hint` or `client_id`.',
  ],
  complete_broken: ['login-complete', 'Challenge or verifier is damaged, or they do not belong together.'],
  complete_wrong_browser: ['login-complete', 'The sign-in was begun in another browser, or the cookie was deleted.'],
  complete_expired: ['login-complete', 'The verifier is older than 60 seconds.'],
  complete_cross_device_off: ['login-complete', '`GRANTOR_CROSS_DEVICE` was switched off meanwhile.'],
  complete_already_used: ['login-complete', 'The sign-in was finished before.'],
  complete_request_spent: ['login-complete', 'The pushed request was already redeemed for a code.'],
  complete_continued_elsewhere: ['login-complete', 'The sign-in was finished on another device.'],
  complete_signed_on_other_device: ['login-complete', 'Another device signed, and the browser can finish the sign-in.'],
  complete_not_signed_yet: ['login-complete', 'No verifier was sent, and no other device has signed yet.'],
  cross_device_broken: ['cross-device', 'The link or the form is damaged, or the sign-in cannot be signed on another device.'],
  cross_device_off: ['cross-device', '`GRANTOR_CROSS_DEVICE` is off.'],
  cross_device_expired: ['cross-device', 'The sign-in was begun more than ten minutes ago.'],
  cross_device_already_used: ['cross-device', 'The sign-in was finished before.'],
  cross_device_continued_elsewhere: ['cross-device', 'The sign-in was finished on another device.'],
  cross_device_signed_on_other_device: ['cross-device', 'Another device signed before.'],
  cross_device_unknown_client: ['cross-device', 'The client was disabled, or its redirect URI removed.'],
  complete_ended: ['login-complete', 'The user signed out or ended access meanwhile, or the client now needs a signature.'],
  complete_unknown_client: ['login-complete', 'The client was disabled, or the redirect URI was removed.'],
  complete_device_answered: ['login-complete', 'The request of the device was answered before.'],
  complete_device_refused_by_hook: [
    'login-complete',
    'The hook of the operator does not allow this wallet at the client of the device.',
    HOOK_REFUSED,
  ],
  complete_approval_answered: ['login-complete', 'The approval was answered before, perhaps in another browser.'],
  complete_approval_too_late: ['login-complete', 'The approval expired before the signature arrived.'],
  approval_unknown: ['approve', 'The link is damaged, or the approval was deleted a day after its end.'],
  approval_signed: ['approve', 'The approval was signed before.'],
  approval_declined: ['approve', 'The user declined before.'],
  approval_used: ['approve', 'The approval was signed, and the API has used it.'],
  approval_expired: ['approve', 'The approval has expired.'],
  approval_ended: ['approve', 'The grant has ended, and its approvals with it.'],
  approval_client_unknown: ['approve', 'The client of the API, or of an app, was disabled.'],
  user_code_wrong: ['device', 'The user code is wrong, or has expired.'],
  user_code_answered: ['device', 'The request of the device was answered before.'],
  user_code_limit: ['device', 'Too many wrong user codes came from this network.', 'Wait a minute.'],
  device_request_broken: ['device', 'The form of the page is damaged.'],
  device_request_expired: ['device', 'The code of the device has expired.'],
  device_client_unknown: ['device', 'The client was disabled, or may no longer use device authorization.'],
} as const satisfies Record<string, ReasonRow>

export type OAuthErrorCode = keyof typeof oauthErrors
export type LoginErrorCode = keyof typeof loginErrors

/** A row whose name begins with PARAMETER means one reason for each parameter. */
type Spelled<Name> = Name extends `PARAMETER_${infer Fault}` ? `${ParameterName}_${Fault}` : Name

/** The reasons of one `error`. */
export type ReasonOf<Code extends OAuthErrorCode> = Spelled<keyof (typeof oauthErrors)[Code]['reasons']>
export type LoginReasonOf<Code extends LoginErrorCode> = Spelled<keyof (typeof loginErrors)[Code]['reasons']>
export type PageReason = Spelled<keyof typeof pageReasons>

type OAuthReason = { [Code in OAuthErrorCode]: ReasonOf<Code> }[OAuthErrorCode]
type LoginReason = { [Code in LoginErrorCode]: LoginReasonOf<Code> }[LoginErrorCode]

/** Why a request was refused; for the log, never for a client. */
export type Reason = OAuthReason | LoginReason | PageReason
