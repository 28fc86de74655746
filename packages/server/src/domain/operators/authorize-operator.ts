/**
 * Authorizes a call of the admin API.
 *
 * The token names a wallet or a client, and the list of operators has its role. The list is read for each request, so a removed operator
 * loses access with the next request, and with each request whose body has not arrived. A scope is granted only if both the token and the
 * role have it.
 */

import { openLiveAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import { insufficientScope, invalidToken } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { ListStore } from '../model/operator-store.ts'
import type { Operator } from '../model/records.ts'
import { type PresentedAccessToken, readProofOfToken, spendProof } from '../tokens/dpop.ts'
import { isStillValid } from '../tokens/introspect.ts'
import { readOperators } from './operators.ts'
import { type AdminScope, roleAllows } from './roles.ts'

/** The resource identifier of the admin API (RFC 8707), and the audience of its tokens. */
export function adminResourceOf(adminUrl: string): string {
  return `${adminUrl}/`
}

type OperatorDeps = { deps: Deps; lists: ListStore; adminUrl: string }

export type Authorized = {
  operator: Operator
  /** those of the access token */
  scopes: readonly string[]
  /** Checks the same again when the body has arrived: a caller who sends the body slowly may have lost access meanwhile. */
  checkAgain: () => Promise<Operator>
}

/** Throws `OAuthError` with the errors for access tokens (RFC 6750 §3.1) unless the operator of the token has this scope. */
export async function authorizeOperator(
  { deps, lists, adminUrl }: OperatorDeps,
  presented: PresentedAccessToken,
  scope: AdminScope,
): Promise<Authorized> {
  const claims = openLiveAccessToken(deps.keys, presented.token, { issuer: deps.settings.authUrl, now: deps.now() })
  if (!claims) throw invalidToken('access_token_unknown_or_expired')
  if (claims.aud !== adminResourceOf(adminUrl)) throw invalidToken('access_token_for_another_resource')
  const check = () => requireAccess({ deps, lists }, claims, scope)
  const proof = readProofOfToken(deps, claims, presented)
  const operator = await check()
  if (proof) await spendProof(deps, proof, claims.client_id)
  return { operator, scopes: claims.scope.split(' '), checkAgain: check }
}

async function requireAccess(
  { deps, lists }: Pick<OperatorDeps, 'deps' | 'lists'>,
  claims: AccessTokenClaims,
  scope: AdminScope,
): Promise<Operator> {
  if (claims.exp <= deps.now()) throw invalidToken('access_token_unknown_or_expired')
  if (!(await deps.clients.isEnabled(claims.client_id))) throw invalidToken('client_unknown_or_disabled')
  if (!(await isStillValid(deps, claims))) throw invalidToken('grant_ended')
  await requireStrongClient(deps, claims)
  const operator = (await readOperators({ lists })).find(({ id }) => id === claims.sub)
  if (!operator) throw insufficientScope('not_an_operator')
  if (!claims.scope.split(' ').includes(scope)) throw insufficientScope('admin_scope_not_granted')
  if (!roleAllows(operator.role, scope)) throw insufficientScope('role_not_sufficient')
  return operator
}

/**
 * A client's own token needs a private key, of the client or of the token, so a stolen token alone is of no use. A stolen secret is: its
 * holder can bind a token to a new key. Only private_key_jwt protects against a stolen secret.
 */
async function requireStrongClient({ clients }: Deps, { client_id: clientId, grant_id: grantId, cnf }: AccessTokenClaims) {
  if (grantId !== undefined || cnf !== undefined) return
  const client = await clients.findRegistered(clientId)
  if (client?.authMethod !== 'private_key_jwt') throw invalidToken('client_authenticates_by_secret')
}
