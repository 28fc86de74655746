/** Who is asking (RFC 6749 §2.3, §3.2.1). */

import { secretMatches } from '../keys/secret.ts'
import type { BasicCredentials } from '../oauth/basic-credentials.ts'
import { invalidClient, invalidRequest } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

export type PresentedCredentials = {
  basic: BasicCredentials
  /** from the body; for a public client the id alone identifies it */
  clientId: string | null
  clientSecret: string | null
}

/** RFC 6749 §2.3.1: "client_secret_post" for those registered for it; public clients name themselves (§3.2.1). */
export async function authenticateClient(deps: Deps, presented: PresentedCredentials, publicToo: boolean): Promise<Client> {
  const { basic, clientId, clientSecret } = presented
  if (basic.kind !== 'absent') {
    // §2.3: "The client MUST NOT use more than one authentication method in each request."
    if (clientSecret !== null) throw invalidRequest('two_client_auth_methods', 'Send client credentials in one way only.')
    if (basic.kind === 'malformed') throw invalidClient('credentials_malformed')
    if (clientId !== null && clientId !== basic.id) {
      throw invalidRequest('client_id_mismatch', 'client_id in the body is not the one in the Authorization header.')
    }
    return proveSecret(deps, basic.id, basic.secret, 'client_secret_basic')
  }
  if (clientId !== null && clientSecret !== null) return proveSecret(deps, clientId, clientSecret, 'client_secret_post')
  if (clientId === null || !publicToo) throw invalidClient('credentials_absent')
  const client = await deps.clients.findEnabled(clientId)
  if (client?.authMethod !== 'none') throw invalidClient('credentials_absent')
  return client
}

async function proveSecret(deps: Deps, clientId: string, secret: string, method: Client['authMethod']): Promise<Client> {
  const client = await deps.clients.findEnabled(clientId)
  const at = deps.now()
  const valid = client?.secrets.filter((each) => each.expiresAt === null || each.expiresAt > at) ?? []
  // Compared even where there is no client: its absence must not show in the time it takes.
  const matches = secretMatches(
    secret,
    valid.map((each) => each.secretHash),
  )
  if (!client) throw invalidClient('client_unknown_or_disabled')
  if (!matches) throw invalidClient('secret_wrong')
  if (client.authMethod !== method) throw invalidClient('auth_method_not_registered')
  return client
}
