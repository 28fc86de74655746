/**
 * The ID token: what a client is told about the sign-in (OpenID Connect Core §2), and what it hands back as a hint about
 * the person it means (`id_token_hint`).
 */
import { createHash } from 'node:crypto'
import { accessTokenHash, openIdToken, signIdToken } from '../keys/id-token.ts'
import type { SigningKey } from '../keys/key-ring.ts'
import { type Address, parseAddress } from '../wallet/address.ts'
import type { Deps } from './deps.ts'
import type { Client, Grant } from './model.ts'

export type ForIdToken = {
  key: SigningKey
  scopes: string[]
  nonce: string | null
  accessToken: string
  expiresAt: number
}

/** How a sign-in was proved (`acr`): by the wallet's own signature, or by the word of the platform's login server. */
export const ACR = { signature: 'urn:grantor:acr:signature', vouched: 'urn:grantor:acr:vouched' } as const

/**
 * Signed as the client is registered to check it (OpenID Connect Core §10.1). `sub` is nobody else's, ever (§5.7); what has no
 * value is left out (§13.3).
 */
export function makeIdToken(deps: Deps, client: Client, grant: Grant, token: ForIdToken): string {
  const { key } = token
  const { authTime, sessionHash } = grant
  // Every sign-in by signature leaves a signed text; one that was vouched for leaves none.
  const signed = grant.receiptId !== null
  return signIdToken(key, {
    iss: deps.settings.authUrl,
    sub: grant.wallet,
    aud: client.id,
    exp: token.expiresAt,
    iat: deps.now(),
    ...(authTime === null ? {} : { auth_time: authTime }),
    ...(token.nonce === null ? {} : { nonce: token.nonce }),
    at_hash: accessTokenHash(key.algorithm, token.accessToken),
    acr: signed ? ACR.signature : ACR.vouched,
    // RFC 8176: proof of possession of a key
    ...(signed ? { amr: ['pop'] } : {}),
    ...(sessionHash === null ? {} : { sid: sidOf(sessionHash, client.id) }),
    ...walletClaims(grant, token.scopes),
  })
}

/** What scope `wallet` tells, in the ID token and at the userinfo endpoint alike. */
export function walletClaims({ wallet, chainId }: Pick<Grant, 'wallet' | 'chainId'>, scopes: readonly string[]): object {
  if (!scopes.includes('wallet')) return {}
  // CAIP-10: the account on the chain it signed in on
  const onChain = chainId === null ? {} : { chain_id: chainId, account_id: `eip155:${chainId}:${wallet}` }
  return { wallet_address: wallet, ...onChain }
}

/** The name of a session for one client. Nothing can be done with it, and two clients cannot compare theirs. */
export function sidOf(sessionHash: string, clientId: string): string {
  return createHash('sha256').update(`sid ${sessionHash} ${clientId}`).digest().subarray(0, 16).toString('base64url')
}

/** What a hint says, where it is an ID token of this service, of any age (OpenID Connect Core §3.1.2.1, §3.1.2.2, RP-Initiated Logout §2). */
export function openIdTokenHint(deps: Deps, hint: string): { wallet: Address; clientId: string; sid: string | null } | null {
  const claims = openIdToken(deps.keys, deps.settings.authUrl, hint)
  const parsed = claims && parseAddress(claims.sub)
  if (parsed?.kind !== 'address') return null
  return { wallet: parsed.address, clientId: claims?.aud ?? '', sid: claims?.sid ?? null }
}
