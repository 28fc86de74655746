/**
 * TLS in the process, for deployments without a proxy (RFC 9325; RFC 7662 §4, RFC 8414 §6.1, OpenID Connect
 * Core §16.17, Discovery §7.1).
 */
import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:https'

/** PEM; `expiresAt` in epoch seconds. */
export type ServerCertificate = { cert: string; key: string; expiresAt: number }

/** RFC 9325 §4.2: the cipher suites that it recommends for TLS 1.2, all with forward secrecy and authenticated encryption. */
const CIPHERS_OF_TLS_1_2 = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
]
/** RFC 8446 §B.4, without the two for small devices */
const CIPHERS_OF_TLS_1_3 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** Options of an https server. */
export function tlsOptions({ cert, key }: Pick<ServerCertificate, 'cert' | 'key'>) {
  return {
    cert,
    key,
    // §3.1.1: TLS 1.2 "MUST" be supported, 1.3 "SHOULD", anything older "MUST NOT" be negotiated
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
    ciphers: [...CIPHERS_OF_TLS_1_3, ...CIPHERS_OF_TLS_1_2].join(':'),
    honorCipherOrder: true,
    // §3.5: renegotiation in TLS 1.2 has had attacks of its own, and this server does not need renegotiation
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    handshakeTimeout: 10_000,
  } satisfies ServerOptions
}

/**
 * The options for a Fastify server; without TLS, those of a plain server. Handlers see the same request in both cases,
 * so only this function handles the type of an https server. `requireHost` refuses a missing Host, with our response
 * instead of Node's.
 */
export function withTls(options: ServerOptions | undefined): object {
  const requireHostHeader = false
  return options === undefined ? { http: { requireHostHeader } } : { https: { ...options, requireHostHeader } }
}
