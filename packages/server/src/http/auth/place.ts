import type { FastifyRequest } from 'fastify'
import type { DevicePlace } from '../../domain/model/device-request.ts'
import { networkPrefix } from '../../observability/log/network.ts'
import { browserNameOf } from './browser-name.ts'

/** The name of the first product of `User-Agent` (RFC 9110 §10.1.5). */
const PROGRAM = /^([A-Za-z0-9][A-Za-z0-9._-]{0,39})(?:[/ ]|$)/

/** The kind of place that a request came from: what another device may be shown of the place (RFC 8628 §5.4). */
export function placeOf(request: FastifyRequest): DevicePlace {
  const [, program = ''] = PROGRAM.exec(request.headers['user-agent'] ?? '') ?? []
  // Every browser sends this name.
  const name = program === 'Mozilla' ? browserNameOf(request.headers) : program
  return { network: networkPrefix(request.ip), program: name }
}

/** The network of `place`, if this request comes from another one; otherwise empty. */
export function otherNetworkThan(request: FastifyRequest, { network }: DevicePlace): string {
  return network === placeOf(request).network ? '' : network
}
