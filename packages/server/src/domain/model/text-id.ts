/** The client id as a text to sign names it. */
import { createHash } from 'node:crypto'
import { looksLikeDynamicClientId } from '../../protocol/oauth/client-id-url.ts'

/** A sealed registration is too long for a wallet, so the text has its hash (RFC 6920). All other ids are unchanged. */
export function textIdOf(clientId: string): string {
  if (!looksLikeDynamicClientId(clientId)) return clientId
  return `ni:///sha-256;${createHash('sha256').update(clientId).digest('base64url')}`
}
