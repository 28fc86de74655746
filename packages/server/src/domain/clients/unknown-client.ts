/** The refusal of a client that was not found. */
import { clientUnavailable, invalidClient, type OAuthError } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'

/**
 * If the metadata document cannot be fetched at the moment, the client may still exist. `invalid_client` would make the client give up
 * its tokens, so the response is 503.
 */
export function unknownClient({ clients }: Pick<Deps, 'clients'>, clientId: string): OAuthError {
  const { reason, cause } = clients.whyUnknown(clientId)
  return reason === 'metadata_unavailable' ? clientUnavailable(`${clientId}: ${cause}`) : invalidClient(reason)
}
