/** TLS in the process (RFC 9325), with real sockets and both kinds of certificate. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keepCertificate } from '../../src/app/compose/keep-certificate.ts'
import { tlsOptions } from '../../src/http/tls.ts'
import { RSA, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts'

const EC = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }
const kinds = { ECDSA: EC, RSA }
const servers = {} as Record<keyof typeof kinds, Server>
/** Accepts what the tested servers must refuse. This server shows that the client below offers it. */
let lax: Server

beforeAll(async () => {
  for (const kind of ['ECDSA', 'RSA'] as const) {
    const server = createServer(tlsOptions(kinds[kind]), (_request, reply) => reply.end('ok')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers[kind] = server
  }
  lax = createServer({ ...EC, minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }).listen(0, '127.0.0.1')
  await once(lax, 'listening')
})
afterAll(() => {
  for (const server of [...Object.values(servers), lax]) server.close()
})

type Outcome = { kind: 'connected'; protocol: string | null; cipher: string; serial: string } | { kind: 'refused' }

/** Connects with a client that accepts old ciphers and old versions, too (`@SECLEVEL=0`). */
function connectTo(server: Server, options: ConnectionOptions): Promise<Outcome> {
  const { port } = server.address() as AddressInfo
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
      const { name: cipher } = socket.getCipher()
      resolve({ kind: 'connected', protocol: socket.getProtocol(), cipher, serial: socket.getPeerCertificate().serialNumber })
      socket.destroy()
    })
    socket.on('error', () => resolve({ kind: 'refused' }))
  })
}

const only = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3', ciphers: string): ConnectionOptions => ({
  minVersion: version,
  maxVersion: version,
  ciphers: version === 'TLSv1.3' ? ciphers : `${ciphers}:@SECLEVEL=0`,
})

test.each([only('TLSv1', 'ALL'), only('TLSv1.1', 'ALL'), only('TLSv1.2', 'ECDHE-ECDSA-AES128-SHA')])(
  'The test’s client can connect to a lax server with an old version or cipher, so the refusals are those of the tested server (%o)',
  async (options) => {
    expect(await connectTo(lax, options)).toMatchObject({ protocol: options.maxVersion })
  },
)

describe.each(['ECDSA', 'RSA'] as const)('A TLS server with an %s key', (kind) => {
  test.each(['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'])(
    'A server accepts TLS 1.3 with %s (RFC 9325 §3.1.1)',
    async (cipher) => {
      expect(await connectTo(servers[kind], only('TLSv1.3', cipher))).toMatchObject({ protocol: 'TLSv1.3', cipher })
    },
  )

  test.each([`ECDHE-${kind}-AES128-GCM-SHA256`, `ECDHE-${kind}-AES256-GCM-SHA384`])(
    'A server accepts TLS 1.2 with %s (RFC 9325 §4.2)',
    async (cipher) => {
      expect(await connectTo(servers[kind], only('TLSv1.2', cipher))).toMatchObject({ protocol: 'TLSv1.2', cipher })
    },
  )

  test.each([
    `ECDHE-${kind}-AES128-SHA`,
    `ECDHE-${kind}-AES256-SHA384`,
    `ECDHE-${kind}-CHACHA20-POLY1305`,
    'AES128-GCM-SHA256',
    'AES256-SHA',
    'DHE-RSA-AES128-GCM-SHA256',
    `ECDHE-${kind}-NULL-SHA`,
  ])('A server refuses TLS 1.2 with %s', async (cipher) => {
    expect(await connectTo(servers[kind], only('TLSv1.2', cipher))).toEqual({ kind: 'refused' })
  })

  test.each(['TLSv1', 'TLSv1.1'] as const)('A server refuses %s (RFC 9325 §3.1.1, RFC 8996)', async (version) => {
    expect(await connectTo(servers[kind], only(version, 'ALL'))).toEqual({ kind: 'refused' })
  })

  test('A server and a client without restrictions agree on TLS 1.3', async () => {
    expect(await connectTo(servers[kind], {})).toMatchObject({ protocol: 'TLSv1.3' })
  })
})

test('On SIGHUP a renewed certificate is used with the same TLS rules, and a file that cannot be read leaves the old certificate in use', async () => {
  const server = servers.ECDSA
  let files: () => typeof EC = () => EC
  const lines: string[] = []
  const log = (_detail: object, words?: string): void => void lines.push(words ?? '')
  const at = { expiresAt: 2_000_000_000 }
  const background = keepCertificate({
    servers: [server],
    first: { ...EC, ...at },
    read: () => ({ ...files(), ...at }),
    now: () => 1_999_999_999,
    logger: { info: log, warn: log, error: log },
  })
  expect(lines).toEqual(['the certificate expires soon'])
  const before = await connectTo(server, {})

  files = () => {
    throw new Error('half written')
  }
  process.emit('SIGHUP')
  expect(await connectTo(server, {})).toEqual(before)

  files = () => RSA
  process.emit('SIGHUP')
  const after = await connectTo(server, {})
  expect(after).toEqual(await connectTo(servers.RSA, {}))
  expect(after).not.toEqual(before)
  expect(await connectTo(server, only('TLSv1.1', 'ALL'))).toEqual({ kind: 'refused' })
  expect(await connectTo(server, only('TLSv1.2', 'ECDHE-RSA-AES128-SHA'))).toEqual({ kind: 'refused' })
  expect(lines.slice(1)).toEqual(['the certificate stays as it is', 'loaded a renewed certificate'])

  await background.stop()
  files = () => EC
  process.emit('SIGHUP')
  expect(await connectTo(server, {})).toEqual(after)
})

test('An expired certificate is logged once', () => {
  const lines: string[] = []
  const log = (_detail: object, words?: string): void => void lines.push(words ?? '')
  const first = { ...EC, expiresAt: 100 }
  const logger = { info: log, warn: log, error: log }
  const background = keepCertificate({ servers: [], first, read: () => first, now: () => 100, logger })
  process.emit('SIGHUP')
  expect(lines).toEqual(['the certificate has expired'])
  return background.stop()
})
