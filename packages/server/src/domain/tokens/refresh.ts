/**
 * Refreshes an access token (RFC 6749 §6, §10.4, OpenID Connect Core §12.1) and rotates the refresh token (RFC 9700 §2.2.2, §4.14.2).
 *
 * One atomic step on one row decides every race. Simultaneous refreshes with one token all get the same successor. A client
 * that lost the response can repeat the request. If an older token is presented, the grant ends.
 */
import { randomUUID } from 'node:crypto'
import { parseScope } from '@grantor/protocol/scope'
import type { ClaimsByResource } from '../../protocol/keys/platform-claims.ts'
import {
  invalidDpopProof,
  invalidGrant,
  invalidScope,
  invalidTarget,
  type OAuthError,
  unauthorizedClient,
} from '../../protocol/oauth/oauth-error.ts'
import { requireScopes } from '../../protocol/oauth/require-scopes.ts'
import { understoodScopes } from '../clients/understood-scopes.ts'
import { checkReceipts } from '../consent/check-receipt.ts'
import { refreshIdleLifetime } from '../model/client-lifetimes.ts'
import type { Deps, Hook } from '../model/deps.ts'
import type { Client, Grant } from '../model/records.ts'
import type { RotateOutcome, Rotation } from '../model/request-store.ts'
import { decideRotation } from '../model/rotation.ts'
import { mayHave, scopesAt } from '../resources/scopes-at.ts'
import { bindingOf, type DpopProof, spendProof } from './dpop.ts'
import { openRefreshToken, type RefreshToken } from './refresh-token.ts'
import { findIdTokenKey, mintTokens, requireScopeLeft, type TokenResponse } from './token-response.ts'

/** The parsed body of the request. */
export type RefreshRequest = {
  refreshToken: string
  scope: string | null
  resources: string[]
  /** a proof of the key that the access token will be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

export async function refresh(deps: Deps, client: Client, request: RefreshRequest): Promise<TokenResponse> {
  if (!client.grantTypes.includes('refresh_token')) throw unauthorizedClient('grant_type_not_registered')

  // 1. Open the refresh token.
  const token = openRefreshToken(deps.keys, request.refreshToken)
  if (!token) throw invalidGrant('refresh_token_unknown')

  // 2. Check everything that can fail. After the rotation, a repeated request would present a used token and end the grant.
  const scopes = readScopes(deps, client, request.scope)
  const { proof, resources } = request
  if (resources.length > 1) throw invalidTarget('more_than_one_resource')
  const idTokenKey = findIdTokenKey(deps, client, scopes ?? client.scopes)

  // 3. Spend the proof.
  const grantBefore = proof && (await deps.store.grants.readGrant(token.grantId))
  const rotation = rotationOf(deps, client, { token, scopes: scopes ?? [], resources, proof, grantBefore })
  if (proof && grantBefore && mayChangeGrant(grantBefore, rotation)) await spendProof(deps, proof, client.id)

  // 4. Call the hook of the operator. A refresh that the hook does not allow leaves the refresh token as it is.
  const permitted = deps.hook === null ? null : await askHook(deps, deps.hook, { client, rotation, scopes })

  // 5. Rotate the token.
  const grant = await rotateOrRefuse(deps, client, rotation)

  // 6. Issue the tokens. OpenID Connect Core §12.2: the ID token of a refresh has no nonce.
  return mintTokens(deps, client, grant, {
    scopes: permitted?.scopes ?? scopes ?? grant.scopes,
    resource: permitted?.resource ?? resources[0] ?? null,
    claims: permitted?.claims ?? null,
    binding: bindingOf(proof),
    nonce: null,
    idTokenKey,
  })
}

/** The scopes that the request names; null without a `scope` parameter. */
function readScopes(deps: Deps, client: Client, scope: string | null): string[] | null {
  if (scope === null) return null
  const requested = parseScope(scope)
  if (!requested) throw invalidScope('scope_unknown')
  const scopes = understoodScopes(deps, client, requested)
  requireScopes(scopes, (each) => mayHave(deps, client, each), 'scope_unknown')
  return scopes
}

type RotationInput = Pick<Rotation, 'scopes' | 'resources'> & {
  token: RefreshToken
  proof: DpopProof | null
  /** null also if the request has no proof: then nothing depends on the grant's key */
  grantBefore: Grant | null
}

function rotationOf(deps: Deps, client: Client, { token, scopes, resources, proof, grantBefore }: RotationInput): Rotation {
  const { lifetimes } = deps.settings
  const at = deps.now()
  // A refresh token that is bound to a key is as safe at a public client as at a confidential one.
  const isUnbound = client.authMethod === 'none' && !grantBefore?.dpopJkt
  return {
    grantId: token.grantId,
    clientId: client.id,
    generation: token.generation,
    refreshKeyId: deps.keys.maker('mac').id,
    refreshExpiresAt: at + refreshIdleLifetime(lifetimes, client),
    retryWindow: isUnbound ? lifetimes.refreshRetryWindowPublic : lifetimes.refreshRetryWindow,
    scopes,
    // If the request names a resource that has none of the client's scopes now, nothing is rotated.
    clientScopes: resources[0] === undefined ? client.scopes : scopesAt(deps, client, resources[0], client.scopes),
    resources,
    walletChecked: false,
    dpopJkt: proof?.jkt ?? null,
    // FAPI 2.0 Security Profile §5.3.2.1: "shall not use refresh token rotation". The token is bound to the client's key instead.
    keepsToken: client.profile === 'fapi2',
    attemptId: randomUUID(),
    at,
  }
}

/** After these outcomes the row stays as it is. The others rotate or end the grant, or can do so by the clock of the store or after a check of the wallet. */
const REFUSED_AT_ONCE: ReadonlySet<RotateOutcome['kind']> = new Set([
  'foreign',
  'ended',
  'wrong_key',
  'resource_not_granted',
  'no_scope_left',
  'scope_not_granted',
])

/** The rule for the DPoP proof of a refresh: the proof is spent if the rotation can rotate or end the grant. Otherwise the proof stays unused. */
function mayChangeGrant(grant: Grant, rotation: Rotation): boolean {
  const decision = decideRotation(grant, null, rotation)
  return decision.change !== 'none' || !REFUSED_AT_ONCE.has(decision.outcome.kind)
}

type AskedRefresh = {
  client: Client
  rotation: Rotation
  /** the scopes that the request names; null without a `scope` parameter */
  scopes: string[] | null
}

/**
 * Sends the hook a question about the next access token, if the refresh token can be rotated. A token that cannot be rotated is refused before: the hook is not
 * called for it, and a replay ends the grant even if the hook does not respond.
 */
async function askHook(
  deps: Deps,
  hook: Hook,
  { client, rotation, scopes: named }: AskedRefresh,
): Promise<{ resource: string; scopes: string[]; claims: ClaimsByResource | null }> {
  // The receipts of a contract wallet are checked at the rotation.
  const outcome = await deps.store.grants.rotateRefreshToken({ ...rotation, walletChecked: true, onlyChecks: true })
  if (outcome.kind === 'rotated' || outcome.kind === 'repeated' || outcome.kind === 'wallet_unchecked')
    throw new Error(`the store did not only check a rotation for client ${client.id}`)
  if (outcome.kind !== 'may_rotate') throw await refusalOf(deps, client, rotation, outcome)
  const { grant } = outcome
  const [asked = null] = rotation.resources
  const { resource, scopes } = requireScopeLeft(deps, client, grant, { scopes: named ?? grant.scopes, resource: asked })
  const permission = await hook.ask({
    occasion: 'refresh',
    client,
    account: grant,
    scopes,
    resources: [resource],
    grant: { id: grant.id, generation: rotation.keepsToken ? null : rotation.generation },
  })
  if (permission.kind === 'failed') throw permission.error
  // One wording for every refused refresh token: the client starts again, and the hook then decides about a code.
  if (permission.kind === 'refused') throw invalidGrant('hook_refused')
  return { resource, scopes: permission.scopes ?? scopes, claims: permission.claims }
}

/** Rotates the refresh token and returns the grant, or throws the refusal. */
async function rotateOrRefuse(deps: Deps, client: Client, rotation: Rotation): Promise<Grant> {
  const outcome = await rotate(deps, client, rotation)
  if (outcome.kind !== 'rotated' && outcome.kind !== 'repeated') throw await refusalOf(deps, client, rotation, outcome)
  // The client's consent rule may have become stricter since the grant was created.
  if (client.consent === 'signed' && !outcome.grant.consented) throw await endGrant(deps, outcome.grant, 'consent_missing')
  return outcome.grant
}

/** The grant of a contract wallet is rotated only after the chain has checked the wallet's signatures again. */
async function rotate(
  deps: Deps,
  client: Client,
  rotation: Rotation,
): Promise<Extract<RotateOutcome, { kind: 'rotated' | 'repeated' }> | RefusedRotation> {
  const outcome = await deps.store.grants.rotateRefreshToken(rotation)
  if (outcome.kind === 'may_rotate') throw new Error('the store only checked a rotation')
  if (outcome.kind !== 'wallet_unchecked') return outcome
  const verdict = await checkReceipts(deps, outcome.grant)
  if (verdict !== 'holds') {
    throw await endGrant(deps, outcome.grant, verdict === 'wallet_changed' ? verdict : 'consent_missing')
  }
  const checked = await deps.store.grants.rotateRefreshToken({ ...rotation, walletChecked: true })
  if (checked.kind === 'wallet_unchecked' || checked.kind === 'may_rotate')
    throw new Error(`the store did not accept the wallet check for client ${client.id}`)
  return checked
}

async function endGrant(deps: Deps, grant: Grant, reason: 'wallet_changed' | 'consent_missing'): Promise<OAuthError> {
  const outcome = await deps.store.grants.endGrant(grant.id, reason, deps.now())
  if (outcome === 'ended')
    await deps.audit({ event: 'grant_ended', reason, client_id: grant.clientId, grant_id: grant.id, wallet: grant.wallet })
  return invalidGrant(reason)
}

type RefusedRotation = Exclude<RotateOutcome, { kind: 'rotated' | 'repeated' | 'wallet_unchecked' | 'may_rotate' }>

async function refusalOf(
  deps: Deps,
  client: Client,
  { grantId, dpopJkt, scopes }: Rotation,
  outcome: RefusedRotation,
): Promise<OAuthError> {
  switch (outcome.kind) {
    case 'no_scope_left':
      return invalidScope('no_scope_left')
    // RFC 6749 §6: "The requested scope MUST NOT include any scope not originally granted"
    case 'scope_not_granted':
      return invalidScope('scope_not_granted', scopes)
    case 'resource_not_granted':
      return invalidTarget('resource_not_granted')
    case 'replayed':
      await deps.audit({
        event: 'grant_ended',
        reason: 'refresh_replayed',
        client_id: client.id,
        grant_id: grantId,
        wallet: outcome.grant.wallet,
      })
      return invalidGrant('refresh_replayed')
    case 'newer_than_row':
      // The token was issued after the row was written. An older row means that the store lost an acknowledged write.
      await deps.audit({
        event: 'store_lost_a_write',
        reason: 'refresh_newer_than_row',
        client_id: client.id,
        grant_id: grantId,
      })
      return invalidGrant('refresh_newer_than_row')
    case 'wrong_key':
      return dpopJkt === null ? invalidDpopProof('proof_missing') : invalidGrant('refresh_token_wrong_key')
    default:
      return invalidGrant(`refresh_token_${outcome.kind}`)
  }
}
