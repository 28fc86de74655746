import type { ProofFault } from '@grantor/protocol/dpop-proof'

/**
 * Why a resource API refuses a call: each error with its reasons and their meaning. docs/reference/errors.md is generated from
 * this table.
 */
export const resourceReasons = {
  no_error: {
    no_credentials: 'The call has no access token.',
    foreign_origin: 'An MCP server was called by a page whose origin is not in `origins` (403).',
    foreign_host: 'An MCP server was called under a host name that is not in `hosts` (403). A proxy may have changed it.',
  },
  invalid_request: {
    header_repeated: 'The header with the access token was sent more than once.',
    header_malformed: 'The header with the access token is malformed.',
    two_methods: 'The access token was sent in the query as well.',
  },
  invalid_token: {
    malformed: 'The access token is not a signed JWT.',
    expired: 'The access token has expired. The app refreshes it.',
    signature: 'The signature is wrong.',
    algorithm: 'The algorithm is not one that Grantor signs with.',
    unknown_key: 'The key set of the issuer has no such key.',
    claim_CLAIM: 'A claim is missing or wrong. `claim_aud`: the token is for another API.',
    not_bound: 'The API requires a token that is bound to a DPoP key, and this token is not bound.',
    sender_constrained: 'The token is bound to a DPoP key and was presented without a proof.',
    bound_to_another_key: 'The DPoP proof is of another key than the token.',
    no_wallet: 'The token belongs to a client itself, and the API accepts tokens of users only.',
    inactive: 'The authorization server reports that the token is not active.',
    ended: 'The feed of endings has the token or its grant.',
    introspection_sub: 'Token and introspection name different wallets.',
    introspection_client_id: 'Token and introspection name different clients.',
    introspection_jti: 'Token and introspection have different ids.',
    introspection_cnf: 'Token and introspection name different DPoP keys.',
  },
  insufficient_scope: {
    scope_missing: 'The token does not have a scope that the call needs.',
    limit_not_signed: 'The scope has a limit, and the user signed before it had one.',
    uses_exceeded: 'No use is left of the limit that the user signed.',
    amount_exceeded: 'Less is left of the limit that the user signed than the call draws.',
    each_exceeded: 'The call draws more than one use may cost in the limit that the user signed.',
  },
  insufficient_user_authentication: {
    authentication_too_old: 'The user signed in longer ago than the call allows (`max_age`).',
    authentication_time_unknown: 'The call limits the age of the sign-in, and the token has no `auth_time`.',
    acr_unmet: 'The token has no `acr`, or one that the call does not accept.',
  },
  temporarily_unavailable: {
    issuer_unreachable: 'The authorization server did not answer.',
    issuer_answered_STATUS: 'The authorization server answered with an unexpected status.',
    issuer_answer_malformed: 'The answer of the authorization server is not a JSON object.',
    issuer_mismatch: 'The metadata name another issuer than the one that is configured.',
    jwks_uri_unusable: 'The metadata name no usable `jwks_uri`.',
    jwks_unreachable: 'The key set could not be fetched.',
    introspection_endpoint_unusable: 'The metadata name no usable introspection endpoint.',
    introspection_malformed: 'The answer of introspection has no `active`.',
    proof_replays_unavailable: 'The store of used DPoP proofs did not answer.',
    approval_malformed: 'An answer about an approval has a member that is missing or wrong.',
    draw_malformed: 'An answer about a draw has a member that is missing or wrong.',
    approval_not_yours: 'The client of the API is not registered as the resource server of the audience of the token.',
  },
  approval_required: {
    approval_waiting: 'The user has not signed the action yet.',
    approval_declined: 'The user declined the action.',
    approval_expired: 'The user did not sign in time, or the signed approval was not used in time.',
    approval_used: 'The approval was used by another call, or by an earlier call whose answer was lost.',
    approval_ended: 'The grant ended before the approval was used.',
  },
  approval_key_used: {
    approval_key_used: 'The API asked with the same key for another action, summary or scope.',
  },
  approvals_declined: {
    approvals_declined: 'The user wants no more questions from this app.',
  },
  draw_key_used: {
    draw_key_used: 'The API drew with the same key before, for another amount.',
  },
  server_error: {
    draw_not_yours: 'The client of the API is not registered as the resource server of the audience of the token.',
    draw_no_limit:
      'No scope of the token has a limit at this API. The scope has no limit at the authorization server, or was not required of the call.',
    draw_amount_unfit: 'The limit has an amount and the API sent none, or the limit has none and the API sent one.',
    return_unknown: 'The client of the API has no draw with this grant and this key.',
    return_above_draw: 'The API gave back more than it drew.',
    return_differs: 'The API gave back the same draw before, with another amount.',
  },
  too_many_approvals: {
    too_many_approvals: 'Too many approvals wait for this user, or the user declined several. The answer has `Retry-After`.',
  },
} as const

type Table = typeof resourceReasons
type Spelled<Name> = Name extends 'claim_CLAIM'
  ? `claim_${string}`
  : Name extends 'issuer_answered_STATUS'
    ? `issuer_answered_${number}`
    : Name

export type ResourceReasonOf<Code extends keyof Table> = Spelled<keyof Table[Code]>
/** A DPoP proof is refused for the same reasons as at the authorization server. */
export type ProofReason = ProofFault | 'proof_missing' | 'proof_replayed' | 'nonce_wanted'
export type ResourceReason = { [Code in keyof Table]: ResourceReasonOf<Code> }[keyof Table] | ProofReason
