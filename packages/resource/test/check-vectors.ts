/** The inputs of sdks/vectors.json: calls to an API, what the authorization server answers meanwhile, and the decision about each call. */
import { jwks, jws } from './feed/vectors.ts'

export const ISSUER = 'https://auth.example.com'
export const RESOURCE = 'https://api.example.com/notes'
export const NOW = 1_800_000_000
export const CREDENTIALS = { clientId: 'api', clientSecret: 'secret +:%é' }
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const CLIENT = '6f1c2d9e-3b57-4f0a-9a4e-1c2b3d4e5f60'
const THUMBPRINT = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'

export type Answer = { status: number; headers?: Record<string, string>; json: unknown } | 'lost'
/** Those of the authorization server that differ from the usual answers. The lists are sent in their order. */
export type Answers = {
  metadata?: Answer
  jwks?: Answer
  introspection?: Answer
  approvals?: Answer[]
  use?: Answer[]
  draw?: Answer[]
  return?: Answer[]
}
export type Vector = {
  name: string
  options?: { check?: 'local' | 'introspection'; client_tokens?: boolean; clock_tolerance?: number; scopes?: string[] }
  /** `authorization` has one member for each header with this name. */
  request: { authorization: string[]; url?: string }
  needs?: { scopes?: string[]; max_age?: number; acr_values?: string[] }
  answers?: Answers
  approve?: { key: string; summary: string; action: unknown; scope?: string; wait_seconds?: number }
  draw?: { key: string; amount?: number }
  give_back?: { grant_id: string; key: string; amount?: number }
  /** `accepted`, or the `reason` of the refusal, or `unusable`: the program of the API has a fault */
  decision: string
}

const claims = {
  iss: ISSUER,
  sub: WALLET,
  aud: RESOURCE,
  client_id: CLIENT,
  exp: NOW + 600,
  iat: NOW,
  jti: '00000000-0000-4000-9000-000000000001',
  scope: 'notes.read pay',
}
type Changes = Record<string, unknown>
const token = (changes: Changes = {}, header: Changes = {}, key: 'es' | 'ed' | 'rs' | 'foreign' = 'es') =>
  jws('at+jwt', key, { ...claims, ...changes }, header)
const bearer = (text: string) => ({ request: { authorization: [`Bearer ${text}`] } })
const usual = token()
const [head = '', body = '', signature = ''] = usual.split('.')
const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const lastCharacter = (text: string, change: (value: number) => number) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + alphabet[change(alphabet.indexOf(text.at(-1) ?? ''))]
}

const accepted: Vector[] = [
  { name: 'A token that is signed with ES256 is accepted', ...bearer(usual), decision: 'accepted' },
  { name: 'A token that is signed with EdDSA is accepted', ...bearer(token({}, {}, 'ed')), decision: 'accepted' },
  { name: 'A token that is signed with RS256 is accepted', ...bearer(token({}, {}, 'rs')), decision: 'accepted' },
  {
    name: 'The type may be written in full (RFC 9068 §4)',
    ...bearer(token({}, { typ: 'application/at+jwt' })),
    decision: 'accepted',
  },
  {
    name: 'The audience may be one of several',
    ...bearer(token({ aud: ['https://other.example.com/', RESOURCE] })),
    decision: 'accepted',
  },
  {
    name: 'The scheme is case-insensitive (RFC 9110 §11.1)',
    request: { authorization: [`bEARER ${usual}`] },
    decision: 'accepted',
  },
  { name: 'A token without scope has no scopes', ...bearer(token({ scope: undefined })), decision: 'accepted' },
  { name: 'A scope that is not a string gives no scopes', ...bearer(token({ scope: ['notes.read'] })), decision: 'accepted' },
  {
    name: 'A scope outside the grammar gives no scopes (RFC 6749 §3.3)',
    ...bearer(token({ scope: 'notes.read  pay' })),
    decision: 'accepted',
  },
  {
    name: 'The time and the kind of the sign-in are read',
    ...bearer(token({ auth_time: NOW - 30, acr: 'wallet' })),
    decision: 'accepted',
  },
  { name: 'A token is accepted until the second before its exp', ...bearer(token({ exp: NOW + 1 })), decision: 'accepted' },
  {
    name: 'The clock tolerance makes exp later',
    options: { clock_tolerance: 5 },
    ...bearer(token({ exp: NOW - 4 })),
    decision: 'accepted',
  },
  {
    name: 'The token of a client itself is accepted if the API allows such tokens',
    options: { client_tokens: true },
    ...bearer(token({ sub: CLIENT })),
    decision: 'accepted',
  },
]

const refusedHeaders: Vector[] = [
  {
    name: 'A call without a token is refused without an error code (RFC 6750 §3.1)',
    request: { authorization: [] },
    needs: { scopes: ['notes.read'] },
    decision: 'no_credentials',
  },
  { name: 'Another scheme is no token', request: { authorization: ['Basic YXBpOnNlY3JldA=='] }, decision: 'no_credentials' },
  {
    name: 'The scheme DPoP is no token for an API that takes bearer tokens only',
    request: { authorization: [`DPoP ${usual}`] },
    decision: 'no_credentials',
  },
  {
    name: 'Two headers are refused',
    request: { authorization: [`Bearer ${usual}`, `Bearer ${usual}`] },
    decision: 'header_repeated',
  },
  {
    name: 'A header with a word behind the token is refused',
    request: { authorization: [`Bearer ${usual} more`] },
    decision: 'header_malformed',
  },
  { name: 'A header without a token is refused', request: { authorization: ['Bearer '] }, decision: 'header_malformed' },
  {
    name: 'A token in the header and in the query is refused (RFC 6750 §2)',
    request: { authorization: [`Bearer ${usual}`], url: `/notes?a=1&access_token=${usual}` },
    decision: 'two_methods',
  },
  {
    name: 'A token in the query alone is no token (RFC 6750 §5.3)',
    request: { authorization: [], url: `/notes?access_token=${usual}` },
    decision: 'no_credentials',
  },
]

const refusedTokens: Vector[] = [
  { name: 'A text that is no JWT is refused', ...bearer('opaque'), decision: 'malformed' },
  {
    name: 'An unsigned token is refused',
    ...bearer(`${base64url({ alg: 'none', typ: 'at+jwt' })}.${body}.`),
    decision: 'algorithm',
  },
  { name: 'A token with an HMAC algorithm is refused', ...bearer(token({}, { alg: 'HS256', kid: 'rs' })), decision: 'algorithm' },
  {
    name: 'A token whose algorithm is not that of its key is refused',
    ...bearer(token({}, { kid: 'rs' })),
    decision: 'unknown_key',
  },
  { name: 'A token of an unknown key is refused', ...bearer(token({}, { kid: 'another' })), decision: 'unknown_key' },
  {
    name: 'A token with the kid of a known key and the signature of another is refused',
    ...bearer(token({}, {}, 'foreign')),
    decision: 'signature',
  },
  {
    name: 'A token whose claims were changed is refused',
    ...bearer(`${head}.${base64url({ ...claims, scope: 'notes.write' })}.${signature}`),
    decision: 'signature',
  },
  {
    name: 'A second spelling of the signature is refused',
    ...bearer(lastCharacter(usual, (value) => value + 1)),
    decision: 'malformed',
  },
  {
    name: 'A token with a critical header parameter is refused (RFC 7515 §4.1.11)',
    ...bearer(token({}, { crit: ['b64'], b64: false })),
    decision: 'malformed',
  },
  { name: 'An ID token is no access token (RFC 9068 §4)', ...bearer(token({}, { typ: 'JWT' })), decision: 'claim_typ' },
  { name: 'A token without typ is refused (RFC 9068 §4)', ...bearer(token({}, { typ: undefined })), decision: 'claim_typ' },
  { name: 'A token of another issuer is refused', ...bearer(token({ iss: `${ISSUER}/` })), decision: 'claim_iss' },
  {
    name: 'A token for another API is refused',
    ...bearer(token({ aud: 'https://api.example.com/other' })),
    decision: 'claim_aud',
  },
  {
    name: 'A token for an address below the resource is refused',
    ...bearer(token({ aud: `${RESOURCE}/` })),
    decision: 'claim_aud',
  },
  { name: 'An expired token is refused', ...bearer(token({ exp: NOW })), decision: 'expired' },
  { name: 'The clock tolerance ends', options: { clock_tolerance: 5 }, ...bearer(token({ exp: NOW - 5 })), decision: 'expired' },
  { name: 'A token that is not valid yet is refused', ...bearer(token({ nbf: NOW + 1 })), decision: 'claim_nbf' },
  ...Object.keys(claims)
    .filter((claim) => claim !== 'scope')
    .flatMap((claim): Vector[] => [
      {
        name: `A token without ${claim} is refused (RFC 9068 §2.2)`,
        ...bearer(token({ [claim]: undefined })),
        decision: `claim_${claim}`,
      },
      { name: `A token whose ${claim} is an object is refused`, ...bearer(token({ [claim]: {} })), decision: `claim_${claim}` },
    ]),
  { name: 'A token whose auth_time is a string is refused', ...bearer(token({ auth_time: 'now' })), decision: 'claim_auth_time' },
  { name: 'A token whose acr is a number is refused', ...bearer(token({ acr: 1 })), decision: 'claim_acr' },
  {
    name: 'A token that is bound to a key is refused as a bearer token (RFC 9449 §7.2)',
    ...bearer(token({ cnf: { jkt: THUMBPRINT } })),
    decision: 'sender_constrained',
  },
  {
    name: 'A token that is bound to a certificate is refused',
    ...bearer(token({ cnf: { 'x5t#S256': THUMBPRINT } })),
    decision: 'claim_cnf',
  },
  { name: 'The token of a client itself is refused', ...bearer(token({ sub: CLIENT })), decision: 'no_wallet' },
]

const needs: Vector[] = [
  {
    name: 'A token with the scopes of the call is accepted',
    ...bearer(usual),
    needs: { scopes: ['pay', 'notes.read'] },
    decision: 'accepted',
  },
  {
    name: 'A token without a scope of the call is refused with 403 and the scopes (RFC 6750 §3.1)',
    options: { scopes: ['notes.read'] },
    ...bearer(usual),
    needs: { scopes: ['notes.write', 'notes.read'] },
    decision: 'scope_missing',
  },
  {
    name: 'A sign-in that is recent enough is accepted',
    ...bearer(token({ auth_time: NOW - 60 })),
    needs: { max_age: 60 },
    decision: 'accepted',
  },
  {
    name: 'An older sign-in is refused with the age and the scopes (RFC 9470 §3)',
    ...bearer(token({ auth_time: NOW - 61 })),
    needs: { max_age: 60, scopes: ['pay'] },
    decision: 'authentication_too_old',
  },
  {
    name: 'A sign-in of an unknown time is refused (RFC 9470 §3)',
    ...bearer(usual),
    needs: { max_age: 60 },
    decision: 'authentication_time_unknown',
  },
  {
    name: 'Another kind of sign-in is refused with the accepted ones (RFC 9470 §3)',
    ...bearer(token({ acr: 'wallet' })),
    needs: { acr_values: ['hardware', 'passkey'] },
    decision: 'acr_unmet',
  },
]

const { sub, client_id, jti, exp, iat, iss } = claims
const activeAnswer = (changes: Changes = {}): Answer => ({
  status: 200,
  json: { active: true, client_id, exp, iat, iss, jti, scope: claims.scope, sub, token_type: 'Bearer', ...changes },
})
const introspected = (name: string, introspection: Answer, decision: string): Vector => ({
  name,
  options: { check: 'introspection' },
  ...bearer(usual),
  answers: { introspection },
  decision,
})

const LIMIT = { scope: 'pay', uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5000 }
const LEFT = { uses: 19, amount: 45_000, until: NOW + 604_800 }

const introspections: Vector[] = [
  introspected('An active token is accepted by introspection (RFC 7662 §2.2)', activeAnswer(), 'accepted'),
  introspected('An introspected token has its limit and what is left', activeAnswer({ limit: LIMIT, left: LEFT }), 'accepted'),
  introspected(
    'A limit may have uses only, and no period',
    activeAnswer({ limit: { scope: 'pay', uses: 10_000 }, left: { uses: 0 } }),
    'accepted',
  ),
  introspected(
    'A limit of an unknown period is left out',
    activeAnswer({ limit: { ...LIMIT, per: 'month' }, left: LEFT }),
    'accepted',
  ),
  introspected(
    'A limit with an amount and without a unit is left out',
    activeAnswer({ limit: { ...LIMIT, unit: undefined }, left: LEFT }),
    'accepted',
  ),
  introspected('A limit without what is left is left out', activeAnswer({ limit: LIMIT }), 'accepted'),
  introspected('Introspection can take scopes away', activeAnswer({ scope: 'pay' }), 'accepted'),
  introspected('Introspection can add no scope', activeAnswer({ scope: 'notes.write notes.read' }), 'accepted'),
  introspected('A token that is not active is refused', { status: 200, json: { active: false } }, 'inactive'),
  introspected('An answer about another wallet is refused', activeAnswer({ sub: '0x' }), 'introspection_sub'),
  introspected('An answer about another client is refused', activeAnswer({ client_id: 'x' }), 'introspection_client_id'),
  introspected('An answer about another token is refused', activeAnswer({ jti: 'x' }), 'introspection_jti'),
  introspected('An answer that binds the token is refused', activeAnswer({ cnf: { jkt: THUMBPRINT } }), 'sender_constrained'),
  introspected('An answer whose active is a string is 503', activeAnswer({ active: 'true' }), 'introspection_malformed'),
  introspected('An answer that is an array is 503', { status: 200, json: [] }, 'issuer_answer_malformed'),
  introspected('A refusal of the credentials is 503', { status: 401, json: { error: 'invalid_client' } }, 'issuer_answered_401'),
  introspected(
    'A redirect is not followed',
    { status: 302, headers: { location: `${ISSUER}/elsewhere` }, json: {} },
    'issuer_answered_302',
  ),
  introspected('Retry-After is passed on', { status: 429, headers: { 'retry-after': '17' }, json: {} }, 'issuer_answered_429'),
  introspected('Introspection that does not answer is 503', 'lost', 'issuer_unreachable'),
]

const unavailable: Vector[] = [
  {
    name: 'Metadata of another issuer are 503 (RFC 8414 §3.3)',
    ...bearer(usual),
    answers: { metadata: { status: 200, json: { issuer: 'https://other.example.com', jwks_uri: `${ISSUER}/oauth/jwks` } } },
    decision: 'issuer_mismatch',
  },
  {
    name: 'Keys at an address without TLS are 503',
    ...bearer(usual),
    answers: { metadata: { status: 200, json: { issuer: ISSUER, jwks_uri: 'http://auth.example.com/jwks' } } },
    decision: 'jwks_uri_unusable',
  },
  {
    name: 'Metadata that do not arrive are 503',
    ...bearer(usual),
    answers: { metadata: 'lost' },
    decision: 'issuer_unreachable',
  },
  {
    name: 'Keys that do not arrive are 503',
    ...bearer(usual),
    answers: { jwks: { status: 500, json: {} } },
    decision: 'jwks_unreachable',
  },
  {
    name: 'Without an introspection endpoint the call is 503',
    options: { check: 'introspection' },
    ...bearer(usual),
    answers: { metadata: { status: 200, json: { issuer: ISSUER, jwks_uri: `${ISSUER}/oauth/jwks` } } },
    decision: 'introspection_endpoint_unusable',
  },
]

const ID = 'AaIlnergcACk96B64LcH730AZULCnqUhekKageM8_gU'
const asked = (state: string, changes: Changes = {}): Answer => ({
  status: 200,
  json: {
    approval_id: ID,
    approval_uri: `${ISSUER}/approve/${ID}`,
    user_code: 'WDJB-MJHT',
    state,
    expires_in: 600,
    interval: 5,
    ...changes,
  },
})
const used = (changes: Changes = {}): Answer => ({
  status: 200,
  json: {
    approval_id: ID,
    state: 'used',
    used_at: NOW,
    receipt: { message: 'the signed text', signature: '0x01', address: WALLET, chain_id: 1 },
    ...changes,
  },
})
const problem = (status: number, error: string, more: Changes = {}, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json: { error, ...more },
})
const ORDER = { key: 'order-7', summary: 'Pay 20 USDC to Alice', action: { to: 'alice', amount: '20' } }
type Approvals = {
  name: string
  approvals?: Answer[]
  use?: Answer[]
  approve?: Partial<typeof ORDER> & { scope?: string; wait_seconds?: number }
  scopes?: string[]
  decision: string
}
const approval = ({ name, approvals = [], use = [], approve, scopes = ['pay'], decision }: Approvals): Vector => ({
  name,
  ...bearer(usual),
  needs: { scopes },
  answers: { approvals, use },
  approve: { ...ORDER, ...approve },
  decision,
})

const approvals: Vector[] = [
  approval({
    name: 'The first call is refused with the link and the letters',
    approvals: [asked('waiting')],
    decision: 'approval_waiting',
  }),
  approval({
    name: 'A signed approval is used, and the call passes',
    approvals: [asked('signed')],
    use: [used()],
    decision: 'accepted',
  }),
  approval({
    name: 'The seconds to wait are sent',
    approve: { wait_seconds: 30 },
    approvals: [asked('signed')],
    use: [used()],
    decision: 'accepted',
  }),
  approval({
    name: 'The scope of the request replaces that of the call',
    scopes: ['pay', 'notes.read'],
    approve: { scope: 'pay' },
    approvals: [asked('signed')],
    use: [used()],
    decision: 'accepted',
  }),
  approval({
    name: 'A use whose answer is lost is sent again with the same attempt',
    approvals: [asked('signed')],
    use: ['lost', used()],
    decision: 'accepted',
  }),
  approval({
    name: 'A use that gets a server error is sent again with the same attempt',
    approvals: [asked('signed')],
    use: [problem(502, 'bad_gateway'), used()],
    decision: 'accepted',
  }),
  approval({
    name: 'A use whose answer is lost twice is 503',
    approvals: [asked('signed')],
    use: ['lost', 'lost'],
    decision: 'issuer_unreachable',
  }),
  ...(['declined', 'expired', 'used', 'ended'] as const).map((state) =>
    approval({
      name: `An approval with the state ${state} refuses the call`,
      approvals: [asked(state, { expires_in: 0 })],
      decision: `approval_${state}`,
    }),
  ),
  approval({
    name: 'An approval that another call used refuses this one',
    approvals: [asked('signed')],
    use: [problem(409, 'already_used')],
    decision: 'approval_used',
  }),
  approval({
    name: 'An approval that ended before its use refuses the call',
    approvals: [asked('signed')],
    use: [problem(403, 'not_approved', { state: 'ended' })],
    decision: 'approval_ended',
  }),
  approval({
    name: 'A key of another action is refused with 409',
    approvals: [problem(409, 'key_used')],
    decision: 'approval_key_used',
  }),
  approval({
    name: 'A user who wants no more questions is not asked',
    approvals: [problem(403, 'approvals_declined')],
    decision: 'approvals_declined',
  }),
  approval({
    name: 'Too many questions are refused with Retry-After',
    approvals: [problem(429, 'too_many_approvals', {}, { 'retry-after': '30' })],
    decision: 'too_many_approvals',
  }),
  approval({
    name: 'A token that has ended is refused with 401',
    approvals: [problem(403, 'token_inactive')],
    decision: 'inactive',
  }),
  approval({
    name: 'A scope that was taken away is refused with 403',
    approvals: [problem(403, 'insufficient_scope')],
    decision: 'scope_missing',
  }),
  approval({ name: 'A token of another API is 503', approvals: [problem(403, 'not_yours')], decision: 'approval_not_yours' }),
  approval({
    name: 'Too many requests of the API are 503',
    approvals: [problem(429, 'temporarily_unavailable', {}, { 'retry-after': '9' })],
    decision: 'issuer_answered_429',
  }),
  approval({ name: 'An approval that cannot be asked for is 503', approvals: ['lost'], decision: 'issuer_unreachable' }),
  approval({
    name: 'A link without TLS is 503',
    approvals: [asked('waiting', { approval_uri: 'http://auth.example.com/approve' })],
    decision: 'approval_malformed',
  }),
  approval({
    name: 'A receipt of another wallet is 503',
    approvals: [asked('signed')],
    use: [used({ receipt: { message: 'm', signature: '0x01', address: '0x', chain_id: 1 } })],
    decision: 'approval_malformed',
  }),
  approval({
    name: 'An answer about another approval is 503',
    approvals: [asked('signed')],
    use: [used({ approval_id: 'x' })],
    decision: 'approval_malformed',
  }),
  approval({
    name: 'A token without the scope of the approval is refused before the question',
    approve: { scope: 'notes.write' },
    decision: 'scope_missing',
  }),
  approval({ name: 'One scope of several must be named', scopes: ['pay', 'notes.read'], decision: 'unusable' }),
  approval({ name: 'A key with a space is unusable', approve: { key: 'order 7' }, decision: 'unusable' }),
  approval({ name: 'A key of 65 characters is unusable', approve: { key: 'k'.repeat(65) }, decision: 'unusable' }),
  approval({ name: 'A summary with a line break is unusable', approve: { summary: 'Pay\nBob' }, decision: 'unusable' }),
  approval({
    name: 'A summary with a line break at its end is unusable',
    approve: { summary: 'Pay Bob\n' },
    decision: 'unusable',
  }),
  approval({ name: 'A summary with two spaces is unusable', approve: { summary: 'Pay  Bob' }, decision: 'unusable' }),
  approval({
    name: 'A summary with a letter outside ASCII is unusable',
    approve: { summary: 'Pay Müller' },
    decision: 'unusable',
  }),
  approval({ name: 'A summary of 121 characters is unusable', approve: { summary: 's'.repeat(121) }, decision: 'unusable' }),
  approval({ name: 'More than 30 seconds to wait are unusable', approve: { wait_seconds: 31 }, decision: 'unusable' }),
]

const GRANT = '01a2259d-eae0-8000-a4f7-a07ae0b707ef'
const limited = token({ grant_id: GRANT })
const USE = { key: 'picture-7', amount: 5000 }
const drawn = (changes: Changes = {}): Answer => ({
  status: 200,
  json: { draw: 1, left: { uses: 19, amount: 45_000 }, until: NOW + 604_800, ...changes },
})
type Drawing = { name: string; answers?: Answer[]; draw?: Changes; scopes?: string[]; decision: string }
const drawing = ({ name, answers = [], draw, scopes = ['pay'], decision }: Drawing): Vector => ({
  name,
  ...bearer(limited),
  needs: { scopes },
  answers: { draw: answers },
  draw: { ...USE, ...draw },
  decision,
})
const givenBack = (changes: Changes = {}): Answer => ({ status: 200, json: { draw: 1, returned: 4500, ...changes } })
type Returning = { name: string; answers?: Answer[]; give_back?: Changes; decision: string }
const returning = ({ name, answers = [], give_back, decision }: Returning): Vector => ({
  name,
  ...bearer(limited),
  answers: { return: answers },
  give_back: { grant_id: GRANT, key: 'picture-7', amount: 4500, ...give_back },
  decision,
})

const draws: Vector[] = [
  drawing({ name: 'A draw passes with what is left and the end of the period', answers: [drawn()], decision: 'accepted' }),
  drawing({
    name: 'A draw from a limit without amount and period passes with the uses that are left',
    draw: { amount: undefined },
    answers: [drawn({ left: { uses: 0 }, until: undefined })],
    decision: 'accepted',
  }),
  drawing({
    name: 'The largest amount is sent and read exactly',
    draw: { amount: 999_999_999_999_999 },
    answers: [drawn({ left: { uses: 10_000, amount: 999_999_999_999_999 } })],
    decision: 'accepted',
  }),
  drawing({
    name: 'A draw whose answer is lost is sent again with the same key',
    answers: ['lost', drawn()],
    decision: 'accepted',
  }),
  drawing({
    name: 'A draw that gets a server error is sent again with the same key',
    answers: [problem(503, 'temporarily_unavailable'), drawn()],
    decision: 'accepted',
  }),
  drawing({
    name: 'A draw that gets an array is sent again with the same key',
    answers: [{ status: 200, json: [] }, drawn()],
    decision: 'accepted',
  }),
  drawing({ name: 'A draw whose answer is lost twice is 503', answers: ['lost', 'lost'], decision: 'issuer_unreachable' }),
  drawing({
    name: 'A draw that gets two server errors is 503',
    answers: [problem(502, 'x'), problem(503, 'temporarily_unavailable', {}, { 'retry-after': '9' })],
    decision: 'issuer_answered_503',
  }),
  ...(['limit_not_signed', 'uses_exceeded', 'amount_exceeded', 'each_exceeded'] as const).map((reason) =>
    drawing({
      name: `${reason} is refused with 403 insufficient_scope and the scope (RFC 6750 §3.1)`,
      answers: [problem(403, reason, { scope: 'pay' })],
      decision: reason,
    }),
  ),
  drawing({
    name: 'The challenge has the scopes of the call and the scope of the limit',
    scopes: ['notes.read'],
    answers: [problem(403, 'uses_exceeded', { scope: 'pay' })],
    decision: 'uses_exceeded',
  }),
  drawing({
    name: 'A limit that is used up, without its scope, is 503',
    answers: [problem(403, 'uses_exceeded')],
    decision: 'draw_malformed',
  }),
  drawing({
    name: 'A limit that is used up, with two scopes, is 503',
    answers: [problem(403, 'uses_exceeded', { scope: 'pay notes.read' })],
    decision: 'draw_malformed',
  }),
  drawing({
    name: 'A draw with a token that has ended is refused with 401',
    answers: [problem(403, 'token_inactive')],
    decision: 'inactive',
  }),
  drawing({ name: 'A draw with a key of another amount is 409', answers: [problem(409, 'key_used')], decision: 'draw_key_used' }),
  drawing({
    name: 'A draw with a token of another API is a fault of the API',
    answers: [problem(403, 'not_yours')],
    decision: 'draw_not_yours',
  }),
  drawing({
    name: 'A draw with a token without a limited scope is a fault of the API',
    answers: [problem(403, 'no_limit')],
    decision: 'draw_no_limit',
  }),
  drawing({
    name: 'An amount that does not fit the limit is a fault of the API',
    answers: [problem(400, 'invalid_request')],
    decision: 'draw_amount_unfit',
  }),
  drawing({
    name: 'A draw with refused credentials is 503',
    answers: [problem(401, 'invalid_client')],
    decision: 'issuer_answered_401',
  }),
  drawing({ name: 'An unknown refusal of a draw is 503', answers: [problem(403, 'new')], decision: 'issuer_answered_403' }),
  drawing({
    name: 'Too many draws of the API are 503',
    answers: [problem(429, 'temporarily_unavailable', {}, { 'retry-after': '9' })],
    decision: 'issuer_answered_429',
  }),
  ...[
    { draw: 0 },
    { draw: '1' },
    { draw: true },
    { draw: 1.5 },
    { left: undefined },
    { left: { uses: 19 } },
    { left: { uses: -1, amount: 1 } },
    { left: { uses: 10_001, amount: 1 } },
    { left: { uses: 19, amount: 1e15 } },
    { left: { uses: 19, amount: '1' } },
    { until: '1800000000' },
    { until: null },
  ].map((changes) =>
    drawing({
      name: `A draw whose answer has ${JSON.stringify(changes)} is 503`,
      answers: [drawn(changes)],
      decision: 'draw_malformed',
    }),
  ),
  drawing({
    name: 'An answer with an amount to a draw without one is 503',
    draw: { amount: undefined },
    answers: [drawn()],
    decision: 'draw_malformed',
  }),
  drawing({ name: 'A key of a draw with a line break is unusable', draw: { key: 'picture\n' }, decision: 'unusable' }),
  drawing({ name: 'A key of a draw of 65 characters is unusable', draw: { key: 'k'.repeat(65) }, decision: 'unusable' }),
  drawing({ name: 'A negative amount is unusable', draw: { amount: -1 }, decision: 'unusable' }),
  drawing({ name: 'An amount of 16 digits is unusable', draw: { amount: 1e15 }, decision: 'unusable' }),
  returning({ name: 'A part of a draw is given back', answers: [givenBack()], decision: 'accepted' }),
  returning({
    name: 'A use without an amount is given back',
    give_back: { amount: undefined },
    answers: [givenBack({ returned: 0 })],
    decision: 'accepted',
  }),
  returning({ name: 'A return whose answer is lost is sent again', answers: ['lost', givenBack()], decision: 'accepted' }),
  returning({ name: 'A return whose answer is lost twice is 503', answers: ['lost', 'lost'], decision: 'issuer_unreachable' }),
  returning({
    name: 'A return of an unknown draw is a fault of the API',
    answers: [problem(403, 'unknown_draw')],
    decision: 'return_unknown',
  }),
  returning({
    name: 'A return above the draw is a fault of the API',
    answers: [problem(409, 'above_draw')],
    decision: 'return_above_draw',
  }),
  returning({
    name: 'A second return of another amount is a fault of the API',
    answers: [problem(409, 'already_returned')],
    decision: 'return_differs',
  }),
  returning({
    name: 'A return whose amount does not fit the limit is a fault of the API',
    answers: [problem(400, 'invalid_request')],
    decision: 'draw_amount_unfit',
  }),
  returning({ name: 'An unknown refusal of a return is 503', answers: [problem(403, 'new')], decision: 'issuer_answered_403' }),
  returning({
    name: 'An answer about another amount is 503',
    answers: [givenBack({ returned: 4501 })],
    decision: 'draw_malformed',
  }),
  returning({
    name: 'A return whose answer has no draw is 503',
    answers: [givenBack({ draw: undefined })],
    decision: 'draw_malformed',
  }),
  returning({ name: 'A grant id that is no UUID is unusable', give_back: { grant_id: 'grant' }, decision: 'unusable' }),
  returning({ name: 'A return with a key with a space is unusable', give_back: { key: 'a b' }, decision: 'unusable' }),
  returning({ name: 'A return of a negative amount is unusable', give_back: { amount: -1 }, decision: 'unusable' }),
]

/** The digest of each is SHA-256 of the canonical form (RFC 8785), in base64url. */
export const actions: unknown[] = [
  { to: 'Bob', pay: 'payment-8', currency: 'USDC', amount: '5' },
  { numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, 1e21, 1e20, 1e-6, 1e-7, 123456789012345, 5e-324, 0.1, -1.5, 100, 0] },
  { string: '€$\u000f\nA\'B"\\\\"/\u007f\u2028' },
  { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 },
  [null, true, false, [], {}],
]

export const usualAnswers = {
  metadata: {
    status: 200,
    json: {
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/oauth/jwks`,
      introspection_endpoint: `${ISSUER}/oauth/introspect`,
      endings_endpoint: `${ISSUER}/oauth/endings`,
      approvals_endpoint: `${ISSUER}/oauth/approvals`,
    },
  },
  jwks: { status: 200, json: jwks() },
}

export const vectors = [
  ...accepted,
  ...refusedHeaders,
  ...refusedTokens,
  ...needs,
  ...introspections,
  ...unavailable,
  ...approvals,
  ...draws,
]
