/** `POST /oauth/device_authorization` (RFC 8628 §3.1, §3.2): a device asks for a code that its user enters in a browser. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authorizeDevice } from '../../domain/authorization/device-authorization.ts'
import type { DevicePlace } from '../../domain/model/device-request.ts'
import { networkPrefix } from '../../ops/network.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { openToPublicClients } from '../cross-origin.ts'
import { offerNonce, presentedProof } from '../dpop-header.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters } from '../form-body.ts'
import { limitPushes } from '../push-limit.ts'
import type { Service } from '../service.ts'

const PATH = '/oauth/device_authorization'

export function deviceAuthorizationRoute(server: FastifyInstance, service: Service): void {
  server.post(PATH, openToPublicClients(server, service, PATH), async (request, reply) => {
    const parameters = formParameters(request, [...CREDENTIAL_PARAMETERS, 'scope', 'dpop_jkt'], ['resource'])
    offerNonce(service, request, reply)
    const credentials = presentedCredentials(request, parameters)
    const response = await forClient(service, request, credentials, 'all', (client) => {
      limitPushes(service, request, client)
      return authorizeDevice(service.deps, client, {
        parameters,
        presented: presentedProof(request, PATH),
        place: placeOf(request),
      })
    })
    return reply.headers(JSON_HEADERS).send(response)
  })
}

/** The name of the first product of `User-Agent` (RFC 9110 §10.1.5). */
const PROGRAM = /^([A-Za-z0-9][A-Za-z0-9._-]{0,39})(?:[/ ]|$)/

/** RFC 8628 §5.4: what the page shows about the device. */
export function placeOf(request: FastifyRequest): DevicePlace {
  const [, program = ''] = PROGRAM.exec(request.headers['user-agent'] ?? '') ?? []
  // Every browser sends this name.
  return { network: networkPrefix(request.ip), program: program === 'Mozilla' ? '' : program }
}
