import type { FastifyRequest } from 'fastify'
import { notFound } from './refusal.ts'

/**
 * Whether a host name can only mean the machine it is spoken on: `localhost`, `*.localhost`, `*.test` (RFC 6761 §6.2, §6.3),
 * 127.0.0.0/8 and [::1], as `URL.hostname` spells them.
 *
 * A page elsewhere can point a name of its own at 127.0.0.1 and then read what is served there (DNS rebinding): but its
 * name is in the Host header.
 */
export function isDevelopmentHost(hostname: string): boolean {
  const name = hostname.toLowerCase()
  return name === 'localhost' || /[^.]\.(?:localhost|test)$/.test(name) || /^127(?:\.\d{1,3}){3}$/.test(name) || name === '[::1]'
}

/** The same for a Host header, with its port. */
export function isOfDevelopmentHost(host: string | undefined): boolean {
  return host !== undefined && URL.canParse(`http://${host}`) && isDevelopmentHost(new URL(`http://${host}`).hostname)
}

/** For the routes of the development login: at any other host they do not exist. */
export async function onDevelopmentHost(request: FastifyRequest): Promise<void> {
  if (!isOfDevelopmentHost(request.headers.host)) throw notFound()
}
