/**
 * Refreshes an access token (RFC 6749 §6, §10.4, OpenID Connect Core §12.1), rotating the refresh token (RFC 9700 §2.2.2, §4.14.2).
 *
 * One conditional update of one row decides every race: simultaneous refreshes of one token all get the one same
 * successor, a lost answer can be asked for again, and a token that was used before that ends the grant.
 */
import { randomUUID } from 'node:crypto'
import {
  invalidDpopProof,
  invalidGrant,
  invalidScope,
  invalidTarget,
  type OAuthError,
  unauthorizedClient,
} from '../oauth/oauth-error.ts'
import { isSubset, parseScope } from '../oauth/scope.ts'
import { checkReceipts } from './check-receipt.ts'
import type { Deps } from './deps.ts'
import { bindingOf, type DpopProof, spendProof } from './dpop.ts'
import type { Client, Grant } from './model.ts'
import type { RotateOutcome, Rotation } from './ports.ts'
import { openRefreshToken } from './refresh-token.ts'
import { findIdTokenKey, mintTokens, type TokenResponse } from './token-response.ts'
import { understoodScopes } from './understood-scopes.ts'

/** The body of the request, parsed. */
export type RefreshRequest = {
  refreshToken: string
  scope: string | null
  resources: string[]
  /** of the key that the access token is to be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

export async function refresh(deps: Deps, client: Client, request: RefreshRequest): Promise<TokenResponse> {
  if (!client.grantTypes.includes('refresh_token')) throw unauthorizedClient('grant_type_not_registered')
  const token = openRefreshToken(deps.keys, request.refreshToken)
  if (!token) throw invalidGrant('refresh_token_unknown')
  const asked = request.scope === null ? null : parseScope(request.scope)
  const scopes = asked && understoodScopes(deps, client, asked)
  if (request.scope !== null && (scopes === null || !isSubset(scopes, client.scopes))) throw invalidScope('scope_unknown')
  if (request.resources.length > 1) throw invalidTarget('more_than_one_resource')

  const at = deps.now()
  const { lifetimes } = deps.settings
  const { proof } = request
  const bound = proof && (await deps.store.grants.readGrant(token.grantId))
  const rotation: Rotation = {
    grantId: token.grantId,
    clientId: client.id,
    generation: token.generation,
    refreshKeyId: deps.keys.maker('mac').id,
    refreshExpiresAt: at + lifetimes.refreshIdle,
    // A token that is bound to a key is as safe in a public client's hands as in another's.
    retryWindow:
      client.authMethod === 'none' && !bound?.dpopJkt ? lifetimes.refreshRetryWindowPublic : lifetimes.refreshRetryWindow,
    scopes: scopes ?? [],
    clientScopes: client.scopes,
    resources: request.resources,
    walletChecked: false,
    dpopJkt: proof?.jkt ?? null,
    // FAPI 2.0 Security Profile §5.3.2.1: "shall not use refresh token rotation"; the token is bound to the client's key anyway
    keepsToken: client.profile === 'fapi2',
    attemptId: randomUUID(),
    at,
  }
  // Everything that can fail comes before the row moves. Afterwards a client that repeats its refused request would present
  // a used token, and would lose its grant.
  const idTokenKey = findIdTokenKey(deps, client, scopes ?? client.scopes)
  if (proof && bound && mayMove(bound, rotation)) await spendProof(deps, proof)
  const outcome = await rotate(deps, client, rotation)
  if (outcome.kind !== 'rotated' && outcome.kind !== 'repeated') throw refusalOf(deps, client, rotation, outcome)
  // The client's rule may be stricter now than when the grant was made.
  if (client.consent === 'signed' && !outcome.grant.consented) throw await endFor(deps, outcome.grant, 'consent_missing')
  // OpenID Connect Core §12.2: an ID token of a refresh has no nonce
  const minted = {
    scopes: scopes ?? outcome.grant.scopes,
    resource: request.resources[0] ?? null,
    binding: bindingOf(proof),
    nonce: null,
    idTokenKey,
  }
  return mintTokens(deps, client, outcome.grant, minted)
}

/**
 * Whether this rotation may move or end the grant. Only then is its proof spent: a refused request leaves its proof unused.
 * Expiry does not count here, because the store compares it with a clock of its own.
 */
function mayMove(grant: Grant, { clientId, dpopJkt, scopes, clientScopes, resources }: Rotation): boolean {
  return (
    grant.clientId === clientId &&
    grant.endedAt === null &&
    (grant.dpopJkt === null || grant.dpopJkt === dpopJkt) &&
    isSubset(scopes, grant.scopes) &&
    grant.scopes.some((scope) => clientScopes.includes(scope)) &&
    isSubset(resources, grant.resources)
  )
}

/** Moves the row on; a contract wallet's only once its signature was found to hold still. */
async function rotate(
  deps: Deps,
  client: Client,
  rotation: Rotation,
): Promise<Exclude<RotateOutcome, { kind: 'wallet_unchecked' }>> {
  const outcome = await deps.store.grants.rotateRefreshToken(rotation)
  if (outcome.kind !== 'wallet_unchecked') return outcome
  const verdict = await checkReceipts(deps, outcome.grant)
  if (verdict !== 'holds') throw await endFor(deps, outcome.grant, verdict === 'wallet_changed' ? verdict : 'consent_missing')
  const checked = await deps.store.grants.rotateRefreshToken({ ...rotation, walletChecked: true })
  if (checked.kind === 'wallet_unchecked') throw new Error(`a checked wallet of client ${client.id} was not taken as checked`)
  return checked
}

async function endFor(deps: Deps, grant: Grant, reason: 'wallet_changed' | 'consent_missing'): Promise<OAuthError> {
  await deps.store.grants.endGrant(grant.id, reason, deps.now())
  deps.audit({ event: 'grant_ended', reason, client_id: grant.clientId, grant_id: grant.id })
  return invalidGrant(reason)
}

type Refused = Exclude<RotateOutcome, { kind: 'rotated' | 'repeated' | 'wallet_unchecked' }>

function refusalOf(deps: Deps, client: Client, { grantId, dpopJkt }: Rotation, outcome: Refused): OAuthError {
  switch (outcome.kind) {
    case 'no_scope_left':
      return invalidScope('no_scope_left')
    // RFC 6749 §6: "The requested scope MUST NOT include any scope not originally granted"
    case 'scope_not_granted':
      return invalidScope('scope_not_granted')
    case 'resource_not_granted':
      return invalidTarget('resource_not_granted')
    case 'replayed':
      deps.audit({ event: 'grant_ended', reason: 'refresh_replayed', client_id: client.id, grant_id: grantId })
      return invalidGrant('refresh_replayed')
    case 'newer_than_row':
      // Only a store that lost an acknowledged write can be behind a token that we made.
      deps.audit({
        event: 'store_lost_a_write',
        reason: 'refresh_newer_than_row',
        client_id: client.id,
        grant_id: grantId,
        alarm: true,
      })
      return invalidGrant('refresh_newer_than_row')
    case 'wrong_key':
      return dpopJkt === null ? invalidDpopProof('proof_missing') : invalidGrant('refresh_token_wrong_key')
    default:
      return invalidGrant(`refresh_token_${outcome.kind}`)
  }
}
