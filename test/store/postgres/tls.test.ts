/** TLS to a real PostgreSQL that takes nothing else: whom the service believes, and whom it does not. */
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress } from '../../../src/store/postgres/index.ts'
import { type Certificate, makeCertificate } from '../../support/certificates.ts'
import { addressOf } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
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
  // The name that is right; the address the server is reached at is not in it.
  const own = makeCertificate(folder, 'server', { issuer: ca, names: 'DNS:localhost' })
  server = await startPostgres()
  await speakTlsOnly(own)
}, 60_000)
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
  // The database `secret` is only for those who speak TLS, `certified` for those who show a certificate besides.
  const rules = ['hostssl certified all all scram-sha-256 clientcert=verify-full', 'hostssl secret all all scram-sha-256']
  writeFileSync(join(server.folder, 'pg_hba.conf'), [...rules, 'host postgres all all scram-sha-256', ''].join('\n'))
  const sql = postgres(server.urlOf('postgres'), { max: 1 })
  for (const name of ['secret', 'certified']) await sql.unsafe(`CREATE DATABASE ${name}`)
  await sql.unsafe("ALTER SYSTEM SET ssl_ca_file = 'root.crt'")
  await sql.unsafe('ALTER SYSTEM SET ssl = on')
  await sql.unsafe('SELECT pg_reload_conf()')
  await vi.waitFor(async () => expect((await sql.unsafe('SHOW ssl'))[0]?.ssl).toBe('on'))
  await sql.end()
}

/** The server under one of its names, as the setting is written. */
function at(host: 'localhost' | '127.0.0.1', parameters: Record<string, string>, database = 'secret'): PostgresAddress {
  const url = server.urlOf(database).replace('127.0.0.1', host)
  return addressOf(url, new URLSearchParams(parameters).toString())
}

async function opens(address: PostgresAddress): Promise<void> {
  await migratePostgres(address, NOW)
  const store = await openPostgresStore(address, { clock: 'given' })
  const grant = await livingGrant(store)
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ id: grant.id })
  await store.close()
}

const refused = async (address: PostgresAddress, code: string | RegExp) => {
  const told: unknown = await openPostgresStore(address).catch((error: unknown) => error)
  expect(told).toBeInstanceOf(StoreUnavailable)
  expect(String(told)).toMatch(code)
  expect(`${(told as Error).stack} ${JSON.stringify(told)}`).not.toContain(address.password)
}

test('verify-full: the server whose certificate names it and whose issuer is believed is used', async () => {
  await opens(at('localhost', { sslmode: 'verify-full', sslrootcert: ca.cert }))
})

test('verify-full: a certificate for another name, or of an issuer nobody named, is refused', async () => {
  await refused(at('127.0.0.1', { sslmode: 'verify-full', sslrootcert: ca.cert }), 'ERR_TLS_CERT_ALTNAME_INVALID')
  await refused(at('localhost', { sslmode: 'verify-full', sslrootcert: stranger.cert }), /UNABLE_TO_\w+|SELF_SIGNED/)
  await refused(at('localhost', { sslmode: 'verify-full' }), /UNABLE_TO_\w+|SELF_SIGNED/)
})

test('verify-ca: any name will do, but not any issuer', async () => {
  await opens(at('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: ca.cert }))
  await refused(at('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: stranger.cert }), /UNABLE_TO_\w+|SELF_SIGNED/)
})

test('require: encrypted to whoever answers', async () => {
  await opens(at('127.0.0.1', { sslmode: 'require' }))
})

test('without TLS a server that asks for it is not used, and what is told holds no password', async () => {
  await refused(at('127.0.0.1', { sslmode: 'disable' }), '28000')
})

test('a server that asks for a certificate gets the one that is set, and refuses whoever has none', async () => {
  const trust = { sslmode: 'verify-full', sslrootcert: ca.cert }
  await opens(at('localhost', { ...trust, sslcert: client.cert, sslkey: client.key }, 'certified'))
  await refused(at('localhost', trust, 'certified'), '28000')
})

test('a server that dies while it is spoken to over TLS is found again, and nothing breaks meanwhile', async () => {
  const store = await openPostgresStore(at('localhost', { sslmode: 'verify-full', sslrootcert: ca.cert }), { clock: 'given' })
  const grant = await livingGrant(store)
  const asked = Array.from({ length: 100 }, () => store.grants.readGrant(grant.id).catch((error: unknown) => error))
  await server.stop('immediate')
  await server.start()
  for (const told of await Promise.all(asked)) expect(told instanceof StoreUnavailable || told).toBeTruthy()
  const read = () => store.grants.readGrant(grant.id).catch(() => null)
  await expect.poll(read, { timeout: 5000, interval: 50 }).toMatchObject({ id: grant.id })
  await store.close()
})

test('an answer that is broken on the way says nothing about what happened: a client that was made is not made again', async () => {
  const address = at('127.0.0.1', { sslmode: 'require', pool_size: '1' })
  let breaking = false
  const proxy = createServer((socket) => {
    const onward = connect(server.port, '127.0.0.1')
    for (const each of [socket, onward]) each.on('error', () => undefined)
    socket.on('data', (bytes) => onward.write(bytes)).on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    onward.on('data', (bytes: Buffer) => {
      // The last byte belongs to the seal of the record.
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
  [
    'says more than it may before TLS (CVE-2021-23222)',
    (socket) => socket.write('SR\0\0\0'),
    'error establishing an SSL connection',
  ],
  ['takes no TLS', (socket) => socket.write('N'), 'does not support SSL'],
  ['hangs up', (socket) => socket.destroy(), /ECONNRESET|terminated unexpectedly/],
  ['says nothing', () => undefined, 'connection timeout'],
])('a server that %s is not used', async (_, answer, code) => {
  const asked: Buffer[] = []
  const impostor = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      asked.push(bytes)
      if (asked.length === 1) answer(socket)
    })
  })
  impostor.listen(0, '127.0.0.1')
  await once(impostor, 'listening')
  const { port } = impostor.address() as AddressInfo
  const address = { ...at('127.0.0.1', { sslmode: 'require', connect_timeout: '1' }), servers: [{ host: '127.0.0.1', port }] }
  await refused(address, code)
  expect(Buffer.concat(asked).toString('latin1'), 'nobody is named in the clear').toBe('\0\0\0\x08\x04\xd2\x16\x2f')
  impostor.close()
})
