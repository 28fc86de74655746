/** The limit for requests that clients send ahead of the user, each of which writes a row: pushed requests and those of devices. */
import type { FastifyRequest } from 'fastify'
import type { Client } from '../domain/model/records.ts'
import { tooManyPushed } from '../oauth/oauth-error.ts'
import { networkOf } from '../ops/network.ts'
import { limitKeyOf } from './client-credentials.ts'
import type { Service } from './service.ts'

/**
 * Any caller that has the id of a public client can send such requests for it, so they are limited by network: with a limit for the
 * client, one caller could lock out all others.
 */
export function limitPushes({ limits }: Service, request: FastifyRequest, client: Client): void {
  const verdict =
    client.authMethod === 'none'
      ? limits.count('pushes', networkOf(request.ip))
      : limits.count('client_pushes', limitKeyOf(client.id))
  if (!verdict.allowed) throw tooManyPushed(verdict.retryAfter)
}
