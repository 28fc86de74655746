/** The ID token: the claims about the sign-in (OpenID Connect Core §2). A client can send the token back as `id_token_hint`. */
import { createHash } from 'node:crypto'
import { accessTokenHash, openIdToken, signIdToken } from '../../protocol/keys/id-token.ts'
import type { SigningKey } from '../../protocol/keys/signing-key.ts'
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, Grant } from '../model/records.ts'
import { readAccountClaims } from './account-claims.ts'

export type ForIdToken = {
  key: SigningKey
  scopes: string[]
  nonce: string | null
  accessToken: string
  expiresAt: number
}

/** The values of `acr`: the wallet signed, or the platform's login server vouched for the wallet. */
export const ACR = { signature: 'urn:grantor:acr:signature', vouched: 'urn:grantor:acr:vouched' } as const

/** A sign-in with a signature always has a receipt. A vouched sign-in has none. */
export function acrOf({ receiptId }: Pick<Grant, 'receiptId'>): string {
  return receiptId === null ? ACR.vouched : ACR.signature
}

/**
 * Signed with the algorithm that the client registered (OpenID Connect Core §10.1). `sub` is unique and never reassigned (§5.7). Claims
 * without a value are omitted (§13.3).
 */
export async function makeIdToken(deps: Deps, client: Client, grant: Grant, token: ForIdToken): Promise<string> {
  const { key } = token
  const { authTime, sessionHash } = grant
  return signIdToken(key, {
    iss: deps.settings.authUrl,
    sub: grant.wallet,
    aud: client.id,
    exp: token.expiresAt,
    iat: deps.now(),
    auth_time: authTime,
    ...(token.nonce === null ? {} : { nonce: token.nonce }),
    at_hash: accessTokenHash(key.algorithm, token.accessToken),
    acr: acrOf(grant),
    // RFC 8176: proof of possession of a key
    ...(acrOf(grant) === ACR.signature ? { amr: ['pop'] } : {}),
    ...(sessionHash === null ? {} : { sid: sidOf(sessionHash, client.id) }),
    ...(await readAccountClaims(deps, grant, token.scopes)),
  })
}

/** The `sid` of a session for one client. A `sid` gives no access, and is different for each client. */
export function sidOf(sessionHash: string, clientId: string): string {
  return createHash('sha256').update(`sid ${sessionHash} ${clientId}`).digest().subarray(0, 16).toString('base64url')
}

/** The claims of a hint that is an ID token of this service, valid or expired (OpenID Connect Core §3.1.2.1, §3.1.2.2, RP-Initiated Logout §2). */
export function openIdTokenHint(deps: Deps, hint: string): { wallet: Address; clientId: string; sid: string | null } | null {
  const claims = openIdToken(deps.keys, deps.settings.authUrl, hint)
  const parsed = claims && parseAddress(claims.sub)
  if (parsed?.kind !== 'address') return null
  return { wallet: parsed.address, clientId: claims?.aud ?? '', sid: claims?.sid ?? null }
}
