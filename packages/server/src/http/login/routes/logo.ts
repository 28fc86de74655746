import type { FastifyInstance } from 'fastify'
import { LOGO_PATH, type Look } from '../../../pages/look.ts'
import { addLogoRoute } from '../../logo-route.ts'
import { notFound } from '../refusal.ts'
import { onlyMethods } from './only-methods.ts'

/** `GET /logos/HASH`: the logo of the platform, which this server has in memory. */
export function addPlatformLogoRoute(server: FastifyInstance, { look }: { look: Look | undefined }): void {
  onlyMethods(server, `${LOGO_PATH}/:hash`, ['GET'])
  addLogoRoute(server, {
    path: `${LOGO_PATH}/:hash`,
    find: async ({ hash }) => (look?.logo?.hash === hash ? look.logo.bytes : null),
    refuse: () => {
      throw notFound()
    },
  })
}
