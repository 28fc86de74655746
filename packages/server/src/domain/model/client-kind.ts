import { looksLikeClientIdUrl, looksLikeDynamicClientId } from '../../protocol/oauth/client-id-url.ts'
import type { Client, ClientKind } from './records.ts'

/** The kind of a client, from the form of its id. */
export function clientKindOf({ id }: Pick<Client, 'id'>): ClientKind {
  if (looksLikeClientIdUrl(id)) return 'metadata'
  return looksLikeDynamicClientId(id) ? 'dynamic' : 'registered'
}
