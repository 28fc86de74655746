import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { hashSources, walletConnect } from '../../../pages/inline.ts'
import type { WalletConnect } from '../../../pages/login/walletconnect.ts'
import type { PolicyAdditions } from '../../../pages/page-headers.ts'
import { onlyMethods } from './only-methods.ts'

export type WalletConnectOptions = {
  projectId: string
  /** The origin of the relay: `wss://relay.walletconnect.org`. */
  relay: string
  /** The text of the client library, of the package `@grantor/walletconnect`. */
  script: string
}

export type OfferedWalletConnect = WalletConnect & { policy: PolicyAdditions }

/**
 * `GET /login/walletconnect-HASH.js`: the client library, which the login page loads after a click. The address changes with the text, so a
 * browser may keep the file.
 *
 * Only the policy of the login page names the library and the relay.
 */
export function addWalletConnectRoute(
  server: FastifyInstance,
  { projectId, relay, script }: WalletConnectOptions,
  loginUrl: string,
): OfferedWalletConnect {
  const hash = createHash('sha256').update(script).digest('hex')
  const scriptUrl = `/login/walletconnect-${hash.slice(0, 16)}.js`
  const compressed = gzipSync(script)
  onlyMethods(server, scriptUrl, ['GET'])
  server.get(scriptUrl, (request, reply) => {
    void reply.headers({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    })
    // A third of the bytes
    const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']))
    return takesGzip ? reply.header('content-encoding', 'gzip').send(compressed) : reply.send(script)
  })
  const { script: inPage, style } = walletConnect
  const policy = {
    script: [hashSources({ inPage }), `${loginUrl}${scriptUrl}`],
    style: [hashSources({ style })],
    connect: [relay],
  }
  return { projectId, relay, scriptUrl, policy }
}
