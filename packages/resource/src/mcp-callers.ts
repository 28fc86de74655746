import { headerValues, type PresentedRequest } from './presented-token.ts'
import type { ProtectedResource } from './protected-resource.ts'
import { type ResourceError, refuse } from './resource-error.ts'

/** Which pages may call an MCP server from a browser, and under which host names the server is called. */
export interface McpCallers {
  /** Origins of pages whose scripts may call the server, such as `https://app.example.com`, besides the origin of the resource. */
  origins?: readonly string[] | undefined
  /** Host names in the header `Host`, without a port, besides the host name of the resource: those that a proxy writes there. */
  hosts?: readonly string[] | undefined
}

/**
 * Makes the check of `Origin` and `Host`, which MCP requires (Streamable HTTP, "Security Warning"): a page whose host name points at this
 * server (DNS rebinding) sends its own name in both. A request without `Origin` is accepted, because most MCP clients are no browsers.
 * The check needs no token and runs first. The result refuses the request, or is undefined.
 *
 * @throws TypeError that names an unusable origin or host
 */
export function createCallerCheck({ metadata }: ProtectedResource, { origins = [], hosts = [] }: McpCallers) {
  const own = new URL(metadata.resource)
  const allowedOrigins = new Set([own.origin, ...origins.map(requireOrigin)])
  const allowedHosts = new Set([own.hostname, ...hosts.map(requireHostname)])

  return function findForeignCaller(request: PresentedRequest): ResourceError | undefined {
    const called = hostValues(request)
    if (called.length === 0 || !called.every((host) => allowedHosts.has(hostnameOf(host))))
      return refuse.foreignCaller('foreign_host')
    // A page without an origin of its own sends `null`.
    const isOwn = headerValues(request, 'origin').every((origin) => allowedOrigins.has(origin))
    return isOwn ? undefined : refuse.foreignCaller('foreign_origin')
  }
}

/** HTTP/2 has `:authority`. A request of the Fetch standard may have neither header, but has an absolute URL. */
function hostValues(request: PresentedRequest): readonly string[] {
  const host = headerValues(request, 'host')
  if (host.length > 0) return host
  const authority = isFetch(request) ? [] : headerValues(request, ':authority')
  if (authority.length > 0) return authority
  const [, own] = /^https?:\/\/([^/?#]+)/i.exec(request.url ?? '') ?? []
  return own === undefined ? [] : [own]
}

/** `Headers` throws for a name with a colon. */
function isFetch({ headers }: PresentedRequest): boolean {
  return typeof headers.get === 'function'
}

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase()
}

function requireOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin)
    throw new TypeError(`origins: ${origin} is no origin, such as https://app.example.com`)
  return origin
}

function requireHostname(host: string): string {
  if (!URL.canParse(`http://${host}/`) || new URL(`http://${host}/`).hostname !== host)
    throw new TypeError(`hosts: ${host} is no host name in lower case without a port`)
  return host
}
