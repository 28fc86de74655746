/** Requests of the APIs that accept access tokens: approvals and draws. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../../domain/model/records.ts'
import { forClient, presentedCredentials } from './client-credentials.ts'
import { limitClient } from './client-limits.ts'
import { JSON_HEADERS } from './error-reply.ts'
import type { HttpService } from './service.ts'

/** Sends the answer as JSON. The caller authenticates as at the introspection endpoint, and requests count within the client's limit of introspections. */
export async function forApi(
  service: HttpService,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  credentials: Parameters<typeof presentedCredentials>[1],
  answer: (api: Client) => Promise<object>,
): Promise<FastifyReply> {
  const body = await forClient(service, request, presentedCredentials(request, credentials), 'authenticated', async (api) => {
    limitClient(service, request, api, 'client_introspections')
    return answer(api)
  })
  return reply.headers(JSON_HEADERS).send(body)
}
