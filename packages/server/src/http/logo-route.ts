/** Serves logos at the address of their hash. */
import type { FastifyInstance, FastifyReply } from 'fastify'

/**
 * An operator chose the bytes. With these headers a browser shows them as a picture or not at all: no script runs, nothing is loaded. Another
 * picture has another address, so a browser and a cache between can keep the picture for ever.
 */
const LOGO_HEADERS = {
  'content-type': 'image/png',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
}
const FOR_EVER = 'public, max-age=31536000, immutable'

type LogoParams = { client?: string; hash: string }

type LogoRoute = {
  /** with the parameter `:hash`, and maybe `:client` */
  path: string
  /** The PNG; null if there is no such logo; `hash` has 64 hexadecimal digits */
  find(params: LogoParams): Promise<Buffer | null>
  refuse(reply: FastifyReply): unknown
}

export function addLogoRoute(server: FastifyInstance, { path, find, refuse }: LogoRoute): void {
  server.route<{ Params: LogoParams }>({
    method: ['GET', 'HEAD'],
    url: path,
    handler: async (request, reply) => {
      const logo = /^[0-9a-f]{64}$/.test(request.params.hash) ? await find(request.params) : null
      if (logo === null) return refuse(reply)
      return reply.headers({ ...LOGO_HEADERS, 'cache-control': FOR_EVER }).send(logo)
    },
  })
}
