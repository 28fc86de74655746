/**
 * `GET /oauth/picture/…`: the picture of an account, for the claim `picture` (OpenID Connect Core §5.1). The picture is that of the account's
 * name, or is computed from the address. A request writes nothing. Pages of every origin may show the picture.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Deps } from '../../../domain/model/deps.ts'
import { readPictureLink } from '../../../domain/tokens/picture-link.ts'
import { addressPicture } from '../../../pages/address-picture.ts'
import { ANY_ORIGIN } from '../cross-origin.ts'
import type { HttpService } from '../service.ts'
import { refuseUnknownPath } from '../unknown-route.ts'

/** Another party chose the bytes. With these headers a browser shows them as a picture or not at all: no script runs, nothing is loaded. */
const PICTURE_HEADERS = {
  ...ANY_ORIGIN,
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

/** Seconds for which a picture may be cached. A computed picture at the address of a name's picture may change soon. */
const CACHED_FOR = { computed: 86_400, ofName: 3_600, inPlaceOfName: 300 }

export function pictureRoute(server: FastifyInstance, { deps }: HttpService): void {
  server.route<{ Params: { address: string } }>({
    method: ['GET', 'HEAD'],
    url: '/oauth/picture/:address',
    handler: async (request, reply) => answer(deps, reply, request.params.address, ''),
  })
  server.route<{ Params: { address: string; proof: string } }>({
    method: ['GET', 'HEAD'],
    url: '/oauth/picture/:address/:proof',
    handler: async (request, reply) => answer(deps, reply, request.params.address, request.params.proof),
  })
}

async function answer(deps: Deps, reply: FastifyReply, address: string, proof: string): Promise<FastifyReply> {
  const link = readPictureLink(deps, address, proof)
  if (link === null) return refuseUnknownPath(reply)
  const ofName = link.isOurs ? await deps.accountNames?.findPicture(link.wallet) : null
  const kind = ofName ? 'ofName' : proof === '' ? 'computed' : 'inPlaceOfName'
  const { type, bytes } = ofName ?? { type: 'image/png', bytes: addressPicture(link.wallet) }
  return reply
    .headers({ ...PICTURE_HEADERS, 'content-type': type, 'cache-control': `public, max-age=${CACHED_FOR[kind]}` })
    .send(bytes)
}
