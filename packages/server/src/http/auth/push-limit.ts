/** The limit for requests that clients send ahead of the user, each of which writes a row: pushed requests and those of devices. */
import type { FastifyRequest } from 'fastify'
import type { Client } from '../../domain/model/records.ts'
import { networkOf } from '../../observability/log/network.ts'
import { isUnregistered } from '../../protocol/oauth/client-id-url.ts'
import { tooManyPushed } from '../../protocol/oauth/oauth-error.ts'
import type { HttpService } from './service.ts'

/**
 * Any caller that has the id of a public client can send such requests for it, so they are limited by network: with a limit for the
 * client, one caller could lock out all others. Any caller can also bring any number of clients that are not registered, so a limit for
 * each of them would be no limit.
 */
export function limitPushes({ limits }: HttpService, request: FastifyRequest, { id, authMethod }: Client): void {
  const verdict =
    authMethod === 'none' || isUnregistered(id)
      ? limits.count('pushes', networkOf(request.ip))
      : limits.count('client_pushes', id)
  if (!verdict.allowed) throw tooManyPushed(verdict.retryAfter)
}
