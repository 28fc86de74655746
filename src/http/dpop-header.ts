/** The `DPoP` field of a request, and the nonce for the next one (RFC 9449 §4.1, §8). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { currentNonce, type PresentedProof } from '../grants/dpop.ts'
import { headerFields } from './header-fields.ts'
import type { Service } from './service.ts'

/** Every one that came: Node would join several into one. `path` is the endpoint's own, whatever the request's target says. */
export function presentedProof(request: FastifyRequest, path: string): PresentedProof {
  return { proofs: headerFields(request, 'dpop'), method: request.method, path }
}

/** §8.2: with every answer to a proof, so that the next one never needs a second try; refusals included, so before them. */
export function offerNonce({ deps }: Service, request: FastifyRequest, reply: FastifyReply): void {
  const nonce = request.headers.dpop === undefined ? null : currentNonce(deps)
  if (nonce !== null) void reply.header('dpop-nonce', nonce)
}
