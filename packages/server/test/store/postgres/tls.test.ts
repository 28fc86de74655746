/** TLS to a real PostgreSQL server that refuses connections without TLS: which certificates are accepted and which are refused. */
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress } from '../../../src/store/postgres/index.ts'
import { type Certificate, makeCertificate } from '../../support/certificates.ts'
import { addressOf } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { livingGrant, NOW, someClient } from '../contract/subject.ts'

let server: PostgresServer
let folder: string
let ca: Certificate
let stranger: Certificate
let client: Certificate
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grantor-certificates-'))
  ca = makeCertificate(folder, 'ca')
  stranger = makeCertificate(folder, 'stranger')
  client = makeCertificate(folder, 'grantor', { issuer: ca })
  // The certificate names `localhost`. The server's address is not in the certificate.
  const own = makeCertificate(folder, 'server', { issuer: ca, names: 'DNS:localhost' })
  server = await startPostgres()
  await speakTlsOnly(own)
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function speakTlsOnly(own: Certificate): Promise<void> {
  const { uid, gid } = statSync(server.folder)
  for (const [from, to] of Object.entries({ [own.cert]: 'server.crt', [own.key]: 'server.key', [ca.cert]: 'root.crt' })) {
    const path = join(server.folder, to)
    copyFileSync(from, path)
    chownSync(path, uid, gid)
    chmodSync(path, 0o600)
  }
  // The database `secret` requires TLS. The database `certified` requires a client certificate too.
  const rules = ['hostssl certified all all scram-sha-256 clientcert=verify-full', 'hostssl secret all all scram-sha-256']
  writeFileSync(join(server.folder, 'pg_hba.conf'), [...rules, 'host postgres all all scram-sha-256', ''].join('\n'))
  const sql = connect(server.urlOf('postgres'))
  for (const name of ['secret', 'certified']) await sql.unsafe(`CREATE DATABASE ${name}`)
  await sql.unsafe("ALTER SYSTEM SET ssl_ca_file = 'root.crt'")
  await sql.unsafe('ALTER SYSTEM SET ssl = on')
  await sql.unsafe('SELECT pg_reload_conf()')
  // A poll of `expect` works in a test only.
  await vi.waitFor(async () => expect((await sql.unsafe('SHOW ssl'))[0]?.ssl).toBe('on'), { timeout: 60_000 })
  await sql.end()
}

/** The address of the server by one of its names, with the parameters of the setting. */
function at(host: 'localhost' | '127.0.0.1', parameters: Record<string, string>, database = 'secret'): PostgresAddress {
  const url = server.urlOf(database).replace('127.0.0.1', host)
  return addressOf(url, new URLSearchParams(parameters).toString())
}

async function expectToOpen(address: PostgresAddress): Promise<void> {
  await migratePostgres(address, NOW)
  const store = await openPostgresStore(address, { clock: 'given' })
  const grant = await livingGrant(store)
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ id: grant.id })
  await store.close()
}

const expectRefusal = async (address: PostgresAddress, code: string | RegExp) => {
  const error: unknown = await openPostgresStore(address).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(String(error)).toMatch(code)
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain(address.password)
}

test('With verify-full, a server is used if its certificate names it and comes from the trusted issuer', async () => {
  await expectToOpen(at('localhost', { sslmode: 'verify-full', sslrootcert: ca.cert }))
})

test('With verify-full, a certificate for another name or from an unknown issuer is refused', async () => {
  await expectRefusal(at('127.0.0.1', { sslmode: 'verify-full', sslrootcert: ca.cert }), 'ERR_TLS_CERT_ALTNAME_INVALID')
  await expectRefusal(at('localhost', { sslmode: 'verify-full', sslrootcert: stranger.cert }), /UNABLE_TO_\w+|SELF_SIGNED/)
  await expectRefusal(at('localhost', { sslmode: 'verify-full' }), /UNABLE_TO_\w+|SELF_SIGNED/)
})

test('With verify-ca, a certificate for another name is accepted, and one from another issuer is refused', async () => {
  await expectToOpen(at('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: ca.cert }))
  await expectRefusal(at('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: stranger.cert }), /UNABLE_TO_\w+|SELF_SIGNED/)
})

test('With sslmode require, a server is used over TLS without a check of its certificate', async () => {
  await expectToOpen(at('127.0.0.1', { sslmode: 'require' }))
})

test('With sslmode disable, a server that requires TLS is refused, and the error contains no password', async () => {
  await expectRefusal(at('127.0.0.1', { sslmode: 'disable' }), '28000')
})

test('A server that requires a client certificate accepts the configured one, and refuses a connection without one', async () => {
  const trust = { sslmode: 'verify-full', sslrootcert: ca.cert }
  await expectToOpen(at('localhost', { ...trust, sslcert: client.cert, sslkey: client.key }, 'certified'))
  await expectRefusal(at('localhost', trust, 'certified'), '28000')
})

test('If a server stops while reads over TLS are under way, they return or fail with StoreUnavailable, and later reads work', async () => {
  const store = await openPostgresStore(at('localhost', { sslmode: 'verify-full', sslrootcert: ca.cert }), { clock: 'given' })
  const grant = await livingGrant(store)
  const reads = Array.from({ length: 100 }, () => store.grants.readGrant(grant.id).catch((error: unknown) => error))
  await server.stop('immediate')
  await server.start()
  for (const outcome of await Promise.all(reads)) expect(outcome instanceof StoreUnavailable || outcome).toBeTruthy()
  const read = () => store.grants.readGrant(grant.id).catch(() => null)
  await expect.poll(read, { interval: 50 }).toMatchObject({ id: grant.id })
  await store.close()
})

test('A registration whose TLS response is corrupted fails with StoreUnavailable and is not repeated: the client exists', async () => {
  const address = at('127.0.0.1', { sslmode: 'require', pool_size: '1' })
  let breaking = false
  const proxy = createServer((socket) => {
    const onward = connectSocket(server.port, '127.0.0.1')
    for (const each of [socket, onward]) each.on('error', () => undefined)
    socket.on('data', (bytes) => onward.write(bytes)).on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    onward.on('data', (bytes: Buffer) => {
      // The last byte belongs to the authentication tag of the TLS record.
      if (breaking) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
      breaking = false
      socket.write(bytes)
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  await migratePostgres(address, NOW)
  const store = await openPostgresStore({ ...address, servers: [{ host: '127.0.0.1', port }] }, { clock: 'given' })
  const client = someClient()
  breaking = true
  await expect(store.clients.insertClient(client)).rejects.toBeInstanceOf(StoreUnavailable)
  await expect.poll(() => store.clients.readClient(client.id).catch(() => null)).toMatchObject({ id: client.id })
  await store.close()
  proxy.close()
})

test.each<[string, (socket: Socket) => void, string | RegExp]>([
  ['sends data before TLS starts (CVE-2021-23222)', (socket) => socket.write('SR\0\0\0'), 'error establishing an SSL connection'],
  ['declines TLS', (socket) => socket.write('N'), 'does not support SSL'],
  ['closes the connection', (socket) => socket.destroy(), /ECONNRESET|terminated unexpectedly/],
  ['never responds', () => undefined, 'timeout expired'],
])('A server that %s is refused if TLS is required, and gets nothing but the request for TLS', async (_, answer, code) => {
  const received: Buffer[] = []
  const impostor = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      received.push(bytes)
      if (received.length === 1) answer(socket)
    })
  })
  impostor.listen(0, '127.0.0.1')
  await once(impostor, 'listening')
  const { port } = impostor.address() as AddressInfo
  const address = { ...at('127.0.0.1', { sslmode: 'require', connect_timeout: '1' }), servers: [{ host: '127.0.0.1', port }] }
  await expectRefusal(address, code)
  expect(Buffer.concat(received).toString('latin1'), 'no user name is sent in the clear').toBe('\0\0\0\x08\x04\xd2\x16\x2f')
  impostor.close()
})
