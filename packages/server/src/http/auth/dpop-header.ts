/** The `DPoP` field of a request, and the nonce for the next proof (RFC 9449 §4.1, §8). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { currentNonce, type PresentedProof } from '../../domain/tokens/dpop.ts'
import { networkOf } from '../../observability/log/network.ts'
import { headerFields } from '../header-fields.ts'
import type { HttpService } from './service.ts'

/** Every `DPoP` field: Node would join several into one. `path` is the endpoint's path, not the request's target. */
export function presentedProof(request: FastifyRequest, path: string): PresentedProof {
  return { proofs: headerFields(request, 'dpop'), method: request.method, path, network: networkOf(request.ip) }
}

/**
 * §8.2: every response to a proof has a nonce, so that the next proof needs no second attempt. Called before any check,
 * so that refusals have it too.
 */
export function offerNonce({ deps }: HttpService, request: FastifyRequest, reply: FastifyReply): void {
  const nonce = request.headers.dpop === undefined ? null : currentNonce(deps)
  if (nonce !== null) void reply.header('dpop-nonce', nonce)
}
