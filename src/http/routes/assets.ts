/** The files that the pages load: stylesheet, icon, scripts. */
import type { FastifyInstance } from 'fastify'
import { assetHeaders, assets } from '../../pages/assets.ts'

export function assetRoutes(server: FastifyInstance): void {
  for (const asset of assets) {
    server.get(asset.path, async (request, reply) => {
      void reply.headers(assetHeaders(asset))
      return request.headers['if-none-match'] === asset.etag ? reply.code(304).send() : reply.send(asset.body)
    })
  }
}
