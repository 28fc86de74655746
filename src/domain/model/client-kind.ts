import { looksLikeClientIdUrl, looksLikeDynamicClientId } from '../../oauth/client-id-url.ts'
import type { Client, ClientKind } from './records.ts'

/** How the service knows the client. The form of the client id shows it. */
export function clientKindOf({ id }: Pick<Client, 'id'>): ClientKind {
  if (looksLikeClientIdUrl(id)) return 'metadata'
  return looksLikeDynamicClientId(id) ? 'dynamic' : 'registered'
}
