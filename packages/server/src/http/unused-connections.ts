/** Connections that were opened and never used, as browsers open them in advance. */

import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Milliseconds in which a new connection can still send its first request after the server stopped listening. */
const FIRST_REQUEST_WITHIN = 1000

/**
 * Ends connections without a request one second after the server began to close. Node does not count them as idle: the server would
 * stay open as long as a client keeps one.
 */
export function endUnusedConnections(server: FastifyInstance): void {
  const unused = new Set<Socket>()
  // With TLS, requests come from the socket of `secureConnection`. A handshake has a timeout of its own.
  server.server.on(server.server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.server.on('request', ({ socket }) => unused.delete(socket))
  server.addHook('preClose', (done) => {
    setTimeout(() => {
      for (const socket of unused) socket.destroy()
    }, FIRST_REQUEST_WITHIN).unref()
    done()
  })
}
