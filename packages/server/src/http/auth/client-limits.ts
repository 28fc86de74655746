/** The limits that an operator registered for one client (`token_limit`, `introspection_limit`, `revocation_limit`). */
import type { FastifyRequest } from 'fastify'
import type { Client } from '../../domain/model/records.ts'
import { networkOf } from '../../observability/log/network.ts'
import { tooManyOfClient } from '../../protocol/oauth/oauth-error.ts'
import type { HttpService, OwnLimited } from './service.ts'

const MEMBERS = {
  client_tokens: 'tokenLimit',
  client_introspections: 'introspectionLimit',
  client_revocations: 'revocationLimit',
} as const satisfies Record<OwnLimited, keyof Client>

/**
 * Counts a request of a client, after the client has authenticated: otherwise any caller could use up the limit. Any caller can send the id of
 * a public client, so the limit of a public client is counted for each network.
 */
export function limitClient(
  { limits }: Pick<HttpService, 'limits'>,
  request: FastifyRequest,
  client: Client,
  name: OwnLimited,
): void {
  const limit = client[MEMBERS[name]]
  if (limit === null) return
  const key = client.authMethod === 'none' ? `${client.id} ${networkOf(request.ip)}` : client.id
  const verdict = limits.countWithin(limit, name, key)
  if (!verdict.allowed) throw tooManyOfClient(verdict.retryAfter)
}
