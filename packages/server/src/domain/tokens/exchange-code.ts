/**
 * Exchanges an authorization code for tokens (RFC 6749 §4.1.3, OpenID Connect Core §3.1.3.2).
 *
 * The store redeems a code at most once, on any number of nodes (RFC 6749 §10.5, RFC 9700 §4.2.4). If a check before the redemption
 * fails, the code stays usable. The exception is a wrong code verifier, which spends the code.
 */
import { randomUUID } from 'node:crypto'
import { challengeOf, isCodeVerifier } from '../../protocol/oauth/code-challenge.ts'
import {
  invalidGrant,
  invalidRequest,
  invalidTarget,
  type OAuthError,
  unauthorizedClient,
} from '../../protocol/oauth/oauth-error.ts'
import { writeLimit } from '../../protocol/wallet/limit-words.ts'
import { checkReceipts, restsOnContract } from '../consent/check-receipt.ts'
import { refreshIdleLifetime } from '../model/client-lifetimes.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, Grant } from '../model/records.ts'
import type { NewGrant } from '../model/request-store.ts'
import { type Code, openCode } from './code.ts'
import { bindingOf, type DpopProof, requireKey, spendProof } from './dpop.ts'
import { findIdTokenKey, mintTokens, requireScopeLeft, type TokenResponse } from './token-response.ts'

/** The parsed body of the request (RFC 6749 §4.1.3, RFC 7636 §4.5, RFC 8707 §2.2). */
export type CodeExchange = {
  code: string
  redirectUri: string
  codeVerifier: string | null
  resources: string[]
  /** a proof of the key that the tokens will be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

/** An opened code, with the grant that the redemption creates. */
type Redemption = {
  code: Code
  grant: NewGrant
  proof: DpopProof | null
  attemptId: string
  at: number
}

export async function exchangeCode(deps: Deps, client: Client, request: CodeExchange): Promise<TokenResponse> {
  if (!client.grantTypes.includes('authorization_code')) throw unauthorizedClient('grant_type_not_registered')

  // 1. Open the code.
  const at = deps.now()
  const code = openIssuedCode(deps, client, request, at)

  // 2. Check everything that can fail. After the redemption, a repeated request would present a used code.
  const resource = chooseResource(code, request.resources)
  const scopes = code.firstScopes ?? code.scopes
  requireScopeLeft(deps, client, code, { scopes, resource })
  const idTokenKey = findIdTokenKey(deps, client, scopes)
  const { proof } = request
  const redemption = { code, grant: newGrantOf(deps, client, { code, proof, at }), proof, attemptId: randomUUID(), at }
  await requireCodeVerifier(deps, redemption, request.codeVerifier)
  // The client's consent rule may have changed since the code was issued.
  if (client.consent === 'signed' && !code.consented) throw invalidGrant('consent_missing')

  // 3. Redeem the code.
  const grant = await redeem(deps, client, redemption)

  // 4. Issue the tokens.
  const { nonce, firstClaims: claims = null } = code
  return mintTokens(deps, client, grant, { scopes, resource, claims, binding: bindingOf(proof), nonce, idTokenKey })
}

function openIssuedCode(deps: Deps, client: Client, request: CodeExchange, at: number): Code {
  const code = openCode(deps.keys, request.code)
  // RFC 6749 §4.1.3: "ensure that the authorization code was issued to the authenticated confidential client"
  if (!code) throw invalidGrant('code_unknown')
  if (code.clientId !== client.id) throw invalidGrant('code_of_another_client')
  // "ensure that the redirect_uri parameter is present [and] identical" (and RFC 6749 §10.6)
  if (code.redirectUri !== request.redirectUri) throw invalidGrant('redirect_uri_mismatch')
  // RFC 9449 §10. This check precedes all writes: a request that has the code but not the key changes nothing.
  requireKey(code.dpopJkt, request.proof)
  if (code.expiresAt <= at || code.grantExpiresAt <= at) throw invalidGrant('code_expired')
  return code
}

/** RFC 8707 §2.2: one of the resources that the code was issued for, or null if the request names none. */
export function chooseResource(code: Code, requested: string[]): string | null {
  if (requested.length > 1) throw invalidTarget('more_than_one_resource')
  const [resource = null] = requested
  if (resource !== null && !code.resources.includes(resource)) throw invalidTarget('resource_not_granted')
  return resource
}

/** Refuses a wrong or missing verifier, and spends the code: a client that has the code but not the verifier gets one guess. */
async function requireCodeVerifier(
  deps: Deps,
  { code, grant, attemptId, at }: Redemption,
  codeVerifier: string | null,
): Promise<void> {
  const verdict = checkCodeVerifier(code, codeVerifier)
  if (verdict === 'holds') return
  // If the code was already redeemed, the grant stays valid: otherwise an attacker without the verifier could revoke the grant.
  await deps.store.grants.spendCode(grant, attemptId, at)
  throw invalidGrant(verdict)
}

/** RFC 7636 §4.6. A malformed verifier is an error of the client, not a guess: the code stays usable. */
function checkCodeVerifier(code: Code, codeVerifier: string | null): 'holds' | 'verifier_missing' | 'verifier_wrong' {
  if (codeVerifier !== null && !isCodeVerifier(codeVerifier)) {
    throw invalidRequest('verifier_malformed', 'code_verifier must be 43 to 128 unreserved characters.')
  }
  if (code.codeChallenge === null) {
    // RFC 9700 §2.1.1, §4.8.2: a verifier without a challenge is the sign of a PKCE downgrade attack.
    if (codeVerifier !== null)
      throw invalidRequest(
        'verifier_without_challenge',
        'code_verifier was sent, but the authorization request had no code_challenge.',
      )
    return 'holds'
  }
  if (codeVerifier === null) return 'verifier_missing'
  return challengeOf(codeVerifier) === code.codeChallenge ? 'holds' : 'verifier_wrong'
}

/**
 * Redeems the code once. The owners of a contract wallet can change, so the chain checks the wallet's signatures again first. For a
 * code that was redeemed before, the chain is not called: a replay revokes the grant even if the chain cannot be reached.
 */
export async function redeem(deps: Deps, client: Client, { code, grant, proof, attemptId, at }: Redemption): Promise<Grant> {
  const isReplay = restsOnContract(code) && (await deps.store.grants.readGrant(code.grantId)) !== null
  const verdict = isReplay ? 'holds' : await checkReceipts(deps, code)
  if (verdict !== 'holds') throw invalidGrant(verdict)

  // The proof is spent immediately before the code: a captured request that is sent again is refused here, and does not count as a
  // second use of the code.
  if (proof) await spendProof(deps, proof, client.id)
  const outcome = isReplay ? ({ kind: 'taken' } as const) : await deps.store.grants.redeemCode(grant, attemptId, at)
  if (outcome.kind === 'taken') throw await endReplayed(deps, client, code, at)
  if (outcome.kind !== 'redeemed') throw invalidGrant('ended_since_code')
  deps.audit({ event: 'code_redeemed', client_id: client.id, grant_id: code.grantId, ...limitDetails(outcome.grant) })
  deps.bounds.noteGrant(outcome.grant)
  return outcome.grant
}

/** The draws have no lines of their own. */
function limitDetails({ signedLimit }: Grant): { details?: { limit: string } } {
  return signedLimit === null ? {} : { details: { limit: `${signedLimit.scope} ${writeLimit(signedLimit.limit)}` } }
}

/** RFC 6749 §4.1.2: if a code is used twice, the server "SHOULD revoke (when possible) all tokens previously issued based on that code". */
async function endReplayed(deps: Deps, client: Client, { grantId, wallet }: Code, at: number): Promise<OAuthError> {
  const ended = await deps.store.grants.endGrant(grantId, 'code_replayed', at)
  if (ended === 'ended')
    await deps.audit({ event: 'grant_ended', reason: 'code_replayed', client_id: client.id, grant_id: grantId, wallet })
  return invalidGrant('code_replayed')
}

export function newGrantOf(deps: Deps, client: Client, { code, proof, at }: Pick<Redemption, 'code' | 'proof' | 'at'>): NewGrant {
  return {
    id: code.grantId,
    clientId: code.clientId,
    wallet: code.wallet,
    walletKind: code.walletKind,
    receiptId: code.receiptId,
    consented: code.consented,
    scopes: code.scopes,
    resources: code.resources,
    scopesByResource: code.scopesByResource,
    expiresAt: code.grantExpiresAt,
    refreshExpiresAt: Math.min(at + refreshIdleLifetime(deps.settings.lifetimes, client), code.grantExpiresAt),
    refreshKeyId: deps.keys.maker('mac').id,
    // RFC 9449 §5: only refresh tokens of public clients are bound to the key. Other clients authenticate at each refresh.
    dpopJkt: client.authMethod === 'none' && proof ? proof.jkt : null,
    authTime: code.authTime,
    chainId: code.chainId,
    sessionHash: code.sessionHash,
    sessionReceiptId: code.sessionReceiptId,
    epoch: code.epoch,
    signedLimit: code.limit ?? null,
  }
}
