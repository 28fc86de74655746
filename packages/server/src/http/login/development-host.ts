import type { FastifyRequest } from 'fastify'
import { notFound } from './refusal.ts'

/**
 * Whether a host name always means the local machine: `localhost`, `*.localhost`, `*.test` (RFC 6761 §6.2, §6.3),
 * 127.0.0.0/8 and [::1], as `URL.hostname` spells them.
 *
 * A page of another site can point its own host name at 127.0.0.1 and then read what this server returns (DNS
 * rebinding). The Host header of such a request contains that name.
 */
export function isDevelopmentHost(hostname: string): boolean {
  const name = hostname.toLowerCase()
  return name === 'localhost' || /[^.]\.(?:localhost|test)$/.test(name) || /^127(?:\.\d{1,3}){3}$/.test(name) || name === '[::1]'
}

/** The same for a Host header, which may contain a port. */
export function isOfDevelopmentHost(host: string | undefined): boolean {
  return host !== undefined && URL.canParse(`http://${host}`) && isDevelopmentHost(new URL(`http://${host}`).hostname)
}

/** For the routes of the development login: on any other host they respond with 404. */
export async function onDevelopmentHost(request: FastifyRequest): Promise<void> {
  if (!isOfDevelopmentHost(request.headers.host)) throw notFound()
}
