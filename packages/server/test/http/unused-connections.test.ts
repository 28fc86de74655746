/** The end of connections that were opened and not used, when the servers close. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts'
import { startGrantor } from '../support/start.ts'

test.each(['http', 'https'] as const)(
  'A server over %s closes although a connection was opened and never used',
  async (scheme) => {
    const grantor = await startGrantor(scheme === 'https' ? { tls: { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY } } : {})
    const sockets = await Promise.all([grantor.authUrl, grantor.loginUrl].map(opened))
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    await grantor.close()
    await Promise.all(closed)
  },
)

test('A connection that was opened before the server began to close can still send a request', async () => {
  const grantor = await startGrantor()
  const socket = await opened(grantor.authUrl)
  const closing = grantor.close()
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [response] = await Promise.all([
    new Promise((resolve) => socket.once('data', (bytes) => resolve(String(bytes)))),
    closing,
  ])
  expect(response).toMatch(/^HTTP\/1\.1 200 /)
})

async function opened(origin: string) {
  const { protocol, port } = new URL(origin)
  const address = { port: Number(port), host: '127.0.0.1' }
  const isTls = protocol === 'https:'
  const socket = isTls ? connectTls({ ...address, servername: 'localhost', ca: TEST_CERTIFICATE }) : connect(address)
  await new Promise((resolve) => socket.once(isTls ? 'secureConnect' : 'connect', resolve))
  return socket
}
