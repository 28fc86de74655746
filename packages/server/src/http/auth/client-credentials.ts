/** Authenticates the client of a POST endpoint, and counts failures per network and client (never per client alone). */
import type { FastifyRequest } from 'fastify'
import {
  type AcceptedClients,
  authenticateClient,
  claimedClientId,
  type PresentedCredentials,
} from '../../domain/clients/authenticate-client.ts'
import type { Client } from '../../domain/model/records.ts'
import { networkOf } from '../../observability/log/network.ts'
import { noteClient } from '../../observability/log/request-log.ts'
import { type BasicCredentials, parseBasicCredentials } from '../../protocol/oauth/basic-credentials.ts'
import { isUnregistered } from '../../protocol/oauth/client-id-url.ts'
import { OAuthError, tooManyFailures } from '../../protocol/oauth/oauth-error.ts'
import type { HttpService } from './service.ts'

export const CREDENTIAL_PARAMETERS = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const

type BodyCredentials = Record<(typeof CREDENTIAL_PARAMETERS)[number], string | null>

export function presentedCredentials(request: FastifyRequest, body: BodyCredentials): PresentedCredentials {
  return {
    basic: basicCredentialsOf(request),
    clientId: body.client_id,
    clientSecret: body.client_secret,
    assertion: body.client_assertion,
    assertionType: body.client_assertion_type,
    network: networkOf(request.ip),
  }
}

/** RFC 9110 §5.3: this field occurs once. Node would keep the first of two, and a proxy in front may have used the last. */
export function basicCredentialsOf(request: FastifyRequest): BasicCredentials {
  if (sentTwice(request.raw.rawHeaders, 'authorization')) return { kind: 'malformed' }
  return parseBasicCredentials(request.headers.authorization)
}

/** `rawHeaders` as Node has them: name, value, name, value. */
function sentTwice(rawHeaders: readonly string[], name: string): boolean {
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] ?? ''
    if (sent.length === name.length && sent.toLowerCase() === name) seen++
  }
  return seen > 1
}

/** Runs a request of an authenticated client. Failures are counted. */
export async function forClient<Result>(
  service: HttpService,
  request: FastifyRequest,
  credentials: PresentedCredentials,
  accepted: AcceptedClients,
  run: (client: Client) => Promise<Result>,
): Promise<Result> {
  try {
    const client = await authenticateClient(service.deps, credentials, accepted)
    noteClient(client.id)
    return await run(client)
  } catch (error) {
    throw countFailure(service, { request, credentials }, error)
  }
}

/**
 * Counts a failed request of a client, and returns the error to throw. Failures are counted per network and registered client. Beyond the
 * limit, further failures get status 429; requests with valid credentials still succeed. RFC 6749 §2.3.1: "MUST protect any
 * endpoint utilizing it against brute force attacks".
 */
export function countFailure(
  service: HttpService,
  { request, credentials }: { request: FastifyRequest; credentials: PresentedCredentials },
  error: unknown,
): unknown {
  if (!(error instanceof OAuthError)) return error
  const clientId = knownClientId(service, credentials)
  // Each error code has its own count: a client with the right secret and a bad code does not share a count with wrong secrets.
  const key = `${networkOf(request.ip)} ${countedId(clientId)} ${error.error}`
  const refusal = COUNTED.has(error.error) ? limited(service, key, error) : error
  refusal.clientId = clientId
  return refusal
}

const COUNTED: ReadonlySet<string> = new Set(['invalid_client', 'invalid_grant'])

function limited(service: HttpService, key: string, error: OAuthError): OAuthError {
  const verdict = service.limits.count('failures', key)
  return verdict.allowed ? error : tooManyFailures(verdict.retryAfter)
}

/** A client is in memory here, unless its id is unknown. */
function knownClientId({ deps }: HttpService, presented: PresentedCredentials): string | undefined {
  return deps.clients.findCached(claimedClientId(presented) ?? '')?.id
}

/**
 * The client of a failure, in the key of the limit. Unknown ids share one count, and so do clients that are not registered: a caller could
 * otherwise fill the memory with ids, and have as many attempts as it has ids.
 */
function countedId(clientId: string | undefined): string {
  if (clientId === undefined) return 'unknown'
  return isUnregistered(clientId) ? 'unregistered' : clientId
}
