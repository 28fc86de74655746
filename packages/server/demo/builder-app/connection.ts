import * as client from 'openid-client'
import type { Exchange } from './exchange.ts'
import { recordingFetch } from './exchange.ts'

export interface ConnectionOptions {
  issuer: string
  clientId: string
  clientSecret: string
}

/** Makes openid-client's configuration for one step. `record` is called with each message of the step. */
export type Connection = (record: (exchange: Exchange) => void) => Promise<client.Configuration>

/** Seconds until a request without a response fails. */
const TIMEOUT = 5

/**
 * Connects the app to the authorization service. Only these three values are configured.
 *
 * The endpoints come from the issuer's metadata (RFC 8414), which are requested at the first sign-in and kept, so this
 * app may start before the service. A usual app makes one `Configuration` for everything. This app makes one for each
 * step, because each step shows its own messages.
 */
export function createConnection({ issuer, clientId, clientSecret }: ConnectionOptions): Connection {
  // openid-client refuses plain http unless it is allowed. It is allowed for an issuer on this machine only.
  const { protocol, hostname } = new URL(issuer)
  const local = protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const execute: ((configuration: client.Configuration) => void)[] = local ? [client.allowInsecureRequests] : []
  let metadata: client.ServerMetadata | undefined

  return async (record) => {
    if (!metadata) {
      const options = { algorithm: 'oauth2' as const, execute, timeout: TIMEOUT }
      metadata = (await client.discovery(new URL(issuer), clientId, clientSecret, undefined, options)).serverMetadata()
    }
    // RFC 6749 §2.3.1: every authorization server supports HTTP Basic.
    const configuration = new client.Configuration(metadata, clientId, clientSecret, client.ClientSecretBasic(clientSecret))
    for (const extend of execute) extend(configuration)
    configuration.timeout = TIMEOUT
    configuration[client.customFetch] = recordingFetch(record)
    return configuration
  }
}
