/** The methods of each route, for the response to a request with another method (RFC 9110 §15.5.6). */
import type { FastifyInstance } from 'fastify'

/** Call it before the routes are added. Returns a function from a path to the methods of its route; undefined if there is no route. */
export function recordRouteMethods(server: FastifyInstance): (path: string) => string[] | undefined {
  const methods = new Map<string, Set<string>>()
  server.addHook('onRoute', ({ url, method }) => {
    const registered = methods.get(url) ?? new Set()
    for (const each of [method].flat()) registered.add(each)
    methods.set(url, registered)
  })
  return (path) => {
    const url = methods.has(path) ? path : [...methods.keys()].find((each) => isPathOf(each, path))
    return url === undefined ? undefined : [...(methods.get(url) ?? [])]
  }
}

/** Whether a route accepts this path: each `:name` in the route matches one segment. */
function isPathOf(url: string, path: string): boolean {
  const segments = url.split('/')
  // One segment more than the route has, so that a path of thousands of slashes is not split completely.
  const requested = path.split('/', segments.length + 1)
  return (
    segments.length === requested.length &&
    segments.every((segment, i) => (segment.startsWith(':') ? requested[i] !== '' : segment === requested[i]))
  )
}
