import * as client from 'openid-client'
import type { Exchange } from './exchange.ts'
import { recordingFetch } from './exchange.ts'

export interface ConnectionOptions {
  issuer: string
  clientId: string
  clientSecret: string
}

/** Gives openid-client's configuration for one step; every message of that step is recorded. */
export type Connection = (record: (exchange: Exchange) => void) => Promise<client.Configuration>

/** Seconds to wait for an answer. */
const patience = 5

/**
 * The app's side of the agreement with the authorization service: three values, nothing else is configured.
 *
 * The endpoints come from the issuer's metadata (RFC 8414). They are asked for at the first sign-in and kept, so this
 * app may start before the service. A usual app makes one `Configuration` and uses it everywhere; this one makes one
 * per step, only because each step shows its own messages.
 */
export function createConnection({ issuer, clientId, clientSecret }: ConnectionOptions): Connection {
  // Plain http is for this machine alone: openid-client refuses it unless told so.
  const { protocol, hostname } = new URL(issuer)
  const local = protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const execute: ((configuration: client.Configuration) => void)[] = local ? [client.allowInsecureRequests] : []
  let known: client.ServerMetadata | undefined

  return async (record) => {
    if (!known) {
      const options = { algorithm: 'oauth2' as const, execute, timeout: patience }
      known = (await client.discovery(new URL(issuer), clientId, clientSecret, undefined, options)).serverMetadata()
    }
    // RFC 6749 §2.3.1: HTTP Basic is the way every authorization server supports.
    const configuration = new client.Configuration(known, clientId, clientSecret, client.ClientSecretBasic(clientSecret))
    for (const extend of execute) extend(configuration)
    configuration.timeout = patience
    configuration[client.customFetch] = recordingFetch(record)
    return configuration
  }
}
