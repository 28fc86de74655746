/** Every field of a name, as it came: Node joins some into one and keeps the first of others. */
import type { FastifyRequest } from 'fastify'

/** @param name in lower case */
export function headerFields({ raw: { rawHeaders } }: FastifyRequest, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}
