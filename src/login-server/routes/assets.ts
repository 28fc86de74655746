import type { FastifyInstance } from 'fastify'
import { assetHeaders, assets } from '../../pages/assets.ts'
import { onlyMethods } from './only-methods.ts'

/** Stylesheet, icon and scripts of the pages. */
export function addAssetRoutes(server: FastifyInstance): void {
  for (const asset of assets) {
    server.get(asset.path, (request, reply) => {
      reply.headers(assetHeaders(asset))
      return request.headers['if-none-match'] === asset.etag ? reply.status(304).send() : reply.send(asset.body)
    })
    onlyMethods(server, asset.path, ['GET'])
  }
}
