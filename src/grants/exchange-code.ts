/**
 * Exchanges an authorization code for tokens (RFC 6749 §4.1.3).
 *
 * The store redeems a code at most once, on any number of nodes, and a failure before leaves the code unused (RFC 6749 §10.5,
 * RFC 9700 §4.2.4, OpenID Connect Core §3.1.3.2).
 */
import { randomUUID } from 'node:crypto'
import { challengeOf, isCodeVerifier } from '../oauth/code-challenge.ts'
import { invalidGrant, invalidRequest, invalidTarget, unauthorizedClient } from '../oauth/oauth-error.ts'
import { checkReceipts, restsOnContract } from './check-receipt.ts'
import { type Code, openCode } from './code.ts'
import type { Deps } from './deps.ts'
import { bindingOf, type DpopProof, requireKey, spendProof } from './dpop.ts'
import type { Client } from './model.ts'
import type { NewGrant } from './ports.ts'
import { findIdTokenKey, mintTokens, requireScopeLeft, type TokenResponse } from './token-response.ts'

/** The body of the request, parsed (RFC 6749 §4.1.3, RFC 7636 §4.5, RFC 8707 §2.2). */
export type CodeExchange = {
  code: string
  redirectUri: string
  codeVerifier: string | null
  resources: string[]
  /** of the key that the tokens are to be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

export async function exchangeCode(deps: Deps, client: Client, request: CodeExchange): Promise<TokenResponse> {
  if (!client.grantTypes.includes('authorization_code')) throw unauthorizedClient('grant_type_not_registered')
  const code = openCode(deps.keys, request.code)
  // RFC 6749 §4.1.3: "ensure that the authorization code was issued to the authenticated confidential client"
  if (!code) throw invalidGrant('code_unknown')
  if (code.clientId !== client.id) throw invalidGrant('code_of_another_client')
  // "ensure that the redirect_uri parameter is present [and] identical" (and RFC 6749 §10.6)
  if (code.redirectUri !== request.redirectUri) throw invalidGrant('redirect_uri_mismatch')

  // RFC 9449 §10, before anything is spent: whoever has the code but not the key changes nothing
  requireKey(code.dpopJkt, request.proof)

  const at = deps.now()
  if (code.expiresAt <= at || code.grantExpiresAt <= at) throw invalidGrant('code_expired')
  // Everything that can fail comes before the redemption: afterwards the client could only repeat a used code.
  requireScopeLeft(client, code.scopes)
  const idTokenKey = findIdTokenKey(deps, client, code.scopes)
  const resource = resourceOf(code, request.resources)
  const attemptId = randomUUID()
  const grant = grantOf(deps, client, code, request.proof, at)

  const proof = verifierProof(code, request.codeVerifier)
  if (proof !== 'holds') {
    // Somebody has the code but not the verifier: spend it, so that guessing ends here. A grant that lives is not theirs to end.
    await deps.store.grants.spendCode(grant, attemptId, at)
    throw invalidGrant(proof)
  }

  // The client's rule may have changed since the code was issued.
  if (client.consent === 'signed' && !code.consented) throw invalidGrant('consent_missing')
  if (restsOnContract(code)) {
    // Told before the chain is asked: a second use ends what the first one gave, whatever the chain says today.
    if (await deps.store.grants.readGrant(code.grantId)) {
      if (request.proof) await spendProof(deps, request.proof)
      throw await secondUse(deps, client, code, at)
    }
    const verdict = await checkReceipts(deps, code)
    if (verdict !== 'holds') throw invalidGrant(verdict)
  }

  // Just before the code: a captured request, sent again as it was, is no second use and ends nothing.
  if (request.proof) await spendProof(deps, request.proof)
  const redemption = await deps.store.grants.redeemCode(grant, attemptId, at)
  if (redemption.kind === 'taken') throw await secondUse(deps, client, code, at)
  if (redemption.kind !== 'redeemed') throw invalidGrant('ended_since_code')
  deps.audit({ event: 'code_redeemed', client_id: client.id, grant_id: code.grantId })
  deps.bounds.noteGrant(redemption.grant)
  const { scopes } = redemption.grant
  const { nonce } = code
  return mintTokens(deps, client, redemption.grant, { scopes, resource, binding: bindingOf(request.proof), nonce, idTokenKey })
}

/** RFC 6749 §4.1.2: on a second use the server "SHOULD revoke (when possible) all tokens previously issued based on that code". */
async function secondUse(deps: Deps, client: Client, code: Code, at: number): Promise<Error> {
  const ended = await deps.store.grants.endGrant(code.grantId, 'code_replayed', at)
  if (ended === 'ended')
    deps.audit({ event: 'grant_ended', reason: 'code_replayed', client_id: client.id, grant_id: code.grantId })
  return invalidGrant('code_replayed')
}

/** RFC 7636 §4.6. A malformed verifier is a mistake, not a guess: it spends nothing. */
function verifierProof(code: Code, verifier: string | null): 'holds' | 'verifier_missing' | 'verifier_wrong' {
  if (verifier !== null && !isCodeVerifier(verifier)) {
    throw invalidRequest('verifier_malformed', 'code_verifier must be 43 to 128 unreserved characters.')
  }
  if (code.codeChallenge === null) {
    // RFC 9700 §2.1.1, §4.8.2: a verifier where no challenge was sent is the mark of a PKCE downgrade.
    if (verifier !== null)
      throw invalidRequest(
        'verifier_without_challenge',
        'code_verifier was sent, but the authorization request had no code_challenge.',
      )
    return 'holds'
  }
  if (verifier === null) return 'verifier_missing'
  return challengeOf(verifier) === code.codeChallenge ? 'holds' : 'verifier_wrong'
}

/** RFC 8707 §2.2: one of the resources the code was issued for; the first of them when the request names none. */
function resourceOf(code: Code, asked: string[]): string | null {
  if (asked.length > 1) throw invalidTarget('more_than_one_resource')
  const [resource = null] = asked
  if (resource !== null && !code.resources.includes(resource)) throw invalidTarget('resource_not_granted')
  return resource
}

function grantOf(deps: Deps, client: Client, code: Code, proof: DpopProof | null, at: number): NewGrant {
  return {
    id: code.grantId,
    clientId: code.clientId,
    wallet: code.wallet,
    walletKind: code.walletKind,
    receiptId: code.receiptId,
    consented: code.consented,
    scopes: code.scopes,
    resources: code.resources,
    expiresAt: code.grantExpiresAt,
    refreshExpiresAt: Math.min(at + deps.settings.lifetimes.refreshIdle, code.grantExpiresAt),
    refreshKeyId: deps.keys.maker('mac').id,
    // RFC 9449 §5: refresh tokens of public clients are bound to the key; those of others are bound to the client already
    dpopJkt: client.authMethod === 'none' && proof ? proof.jkt : null,
    authTime: code.authTime,
    chainId: code.chainId,
    sessionHash: code.sessionHash,
    sessionReceiptId: code.sessionReceiptId,
    epoch: code.epoch,
  }
}
