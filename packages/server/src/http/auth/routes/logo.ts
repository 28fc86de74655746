/** `GET /logos/HASH`: the logo of the platform. `GET /logos/CLIENT/HASH`: the logo that an operator uploaded for a client. */
import type { FastifyInstance } from 'fastify'
import { LOGO_PATH } from '../../../pages/look.ts'
import { addLogoRoute } from '../../logo-route.ts'
import type { HttpService } from '../service.ts'
import { refuseUnknownPath } from '../unknown-route.ts'

/** Each has at most 32 kB. */
const KEPT_AT_MOST = 200

export function logoRoute(server: FastifyInstance, { look, ...service }: HttpService): void {
  addLogoRoute(server, {
    path: `${LOGO_PATH}/:hash`,
    find: async ({ hash }) => (look?.logo?.hash === hash ? look.logo.bytes : null),
    refuse: refuseUnknownPath,
  })
  addLogoRoute(server, { path: `${LOGO_PATH}/:client/:hash`, find: clientLogos(service), refuse: refuseUnknownPath })
}

/**
 * The client is in memory, and the bytes are read from the store only if the hash is that of the client's logo. So a request for any other
 * hash costs no more than an authorization request of an unknown client.
 */
function clientLogos({ deps: { clients }, readClientLogo }: Pick<HttpService, 'deps' | 'readClientLogo'>) {
  const kept = new Map<string, Buffer>()
  return async ({ client: clientId = '', hash }: { client?: string; hash: string }): Promise<Buffer | null> => {
    const client = await clients.find(clientId)
    if (client?.logo?.hash !== hash) return null
    const found = kept.get(hash)
    if (found) return found
    const bytes = await readClientLogo(client.id)
    if (bytes === null) return null
    const logo = Buffer.from(bytes)
    const [oldest] = kept.keys()
    if (kept.size >= KEPT_AT_MOST && oldest !== undefined) kept.delete(oldest)
    kept.set(hash, logo)
    return logo
  }
}
