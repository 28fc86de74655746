/** `If-Match` and `ETag` (RFC 9110 §13.1.1): a change is made only if the record is still the one that the caller has read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from './problem.ts'
import { etagOf } from './records.ts'

/**
 * Throws if the request has an `If-Match` that is not the ETag of the record. Call it inside of the store's change: then no other change can
 * come in between.
 */
export function requireMatch(request: FastifyRequest, record: object): void {
  const wanted = request.headers['if-match']
  if (wanted === undefined || wanted === '*' || wanted === etagOf(record)) return
  throw new Problem('changed_meanwhile', 'The record was changed since it was read. Read it again.')
}

/** Sends a record with its validator. */
export function sendRecord(reply: FastifyReply, record: object, body: object = record): FastifyReply {
  return reply.header('etag', etagOf(record)).send(body)
}
