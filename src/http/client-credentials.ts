/** Authenticates the client of a POST endpoint, and counts failures per network and client (never per client alone). */
import type { FastifyRequest } from 'fastify'
import { authenticateClient, type PresentedCredentials } from '../grants/authenticate-client.ts'
import type { Client } from '../grants/model.ts'
import { parseBasicCredentials } from '../oauth/basic-credentials.ts'
import { OAuthError, tooManyFailures } from '../oauth/oauth-error.ts'
import { networkOf } from '../ops/network.ts'
import type { Service } from './service.ts'

export const CREDENTIAL_PARAMETERS = ['client_id', 'client_secret'] as const

type BodyCredentials = { client_id: string | null; client_secret: string | null }

export function presentedCredentials(request: FastifyRequest, body: BodyCredentials): PresentedCredentials {
  const basic = parseBasicCredentials(request.headers.authorization)
  return { basic, clientId: body.client_id, clientSecret: body.client_secret }
}

/**
 * Runs what an authenticated client asked for. A failure counts against the caller's network together with the client
 * it named; past the limit failures read 429, while whoever is right is still served.
 */
export async function forClient<Result>(
  service: Service,
  request: FastifyRequest,
  presented: PresentedCredentials,
  publicToo: boolean,
  run: (client: Client) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(await authenticateClient(service.deps, presented, publicToo))
  } catch (error) {
    if (!(error instanceof OAuthError) || !COUNTED.has(error.error)) throw error
    const verdict = service.failures.recordFailure(await failureKey(service, request, presented))
    throw verdict.allowed ? error : tooManyFailures(verdict.retryAfter)
  }
}

const COUNTED: ReadonlySet<string> = new Set(['invalid_client', 'invalid_grant'])

/** All unknown ids of one network share a key: a stranger must not be able to fill the memory with names. */
async function failureKey(service: Service, request: FastifyRequest, { basic, clientId }: PresentedCredentials): Promise<string> {
  const id = basic.kind === 'credentials' ? basic.id : clientId
  const known = id !== null && (await service.deps.clients.find(id)) !== null
  return `${networkOf(request.ip)} ${known ? id : 'unknown'}`
}
