/** Every field of a name, unchanged: Node joins the fields of some names and keeps only the first of others. */
import type { FastifyRequest } from 'fastify'

/** @param name in lower case */
export function headerFields({ raw: { rawHeaders } }: FastifyRequest, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}
