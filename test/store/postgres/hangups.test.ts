/** Servers, and proxies in front of them, that close a connection politely at the worst moment. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { addressOf, newPostgresDatabase } from '../../support/postgres.ts'
import { livingGrant, NOW, rotationOf } from '../contract/subject.ts'

const open: Socket[] = []
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy()
})

async function listen(onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    open.push(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

const at = (server: Server) => [{ host: '127.0.0.1', port: (server.address() as AddressInfo).port }]

test.each<[string, (socket: Socket) => void, string]>([
  ['at once', (socket) => socket.end(), 'disable'],
  ['after the first word', (socket) => socket.once('data', () => socket.end()), 'disable'],
  ['at once, over TLS', (socket) => socket.end(), 'require'],
  ['when TLS begins', (socket) => socket.once('data', () => socket.end('S')), 'require'],
])('a server that takes a connection and closes it %s is refused soon, and not asked without end', async (_, answer, sslmode) => {
  let connections = 0
  const hangingUp = await listen((socket) => {
    connections++
    answer(socket)
  })
  const address = addressOf('postgres://nobody@127.0.0.1/nothing', `sslmode=${sslmode}`)
  const told = await openPostgresStore({ ...address, servers: at(hangingUp) }).catch((error: unknown) => error)
  expect(told).toBeInstanceOf(StoreUnavailable)
  expect(connections).toBeLessThan(5)
})

test('connections that a proxy closes as a statement is sent, again and again: nothing hangs, nothing is done twice', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const [behind] = database.address.servers
  if (!behind) throw new Error('no server')
  let said = 0
  // Every seventh time the service says something, it is hung up on instead, without an error.
  const proxy = await listen((socket) => {
    const onward = connect(behind.port, behind.host)
    open.push(onward)
    onward.on('error', () => undefined).on('data', (bytes) => socket.write(bytes))
    onward.on('close', () => socket.end())
    socket.on('data', (bytes) => (++said % 7 === 0 ? socket.end() : onward.write(bytes)))
    socket.on('close', () => onward.destroy())
  })
  const address = { ...addressOf(database.url, 'pool_size=2'), servers: at(proxy) }
  const store = await untilTold(() => openPostgresStore(address, { clock: 'given' }))
  onTestFinished(() => store.close())
  const grant = await untilTold(() => livingGrant(store))
  const told: string[] = []
  for (let generation = 0; generation < 60; generation++) {
    const rotation = rotationOf(grant, generation)
    told.push((await untilTold(() => store.grants.rotateRefreshToken(rotation))).kind)
  }
  expect(new Set(told)).toEqual(new Set(['rotated']))
  expect(await untilTold(() => store.grants.readGrant(grant.id))).toMatchObject({ generation: 60, endedAt: null })
  expect(said, 'hung up on several times').toBeGreaterThan(60)
})

/** Asks until there is an answer, as a caller does who is told 503. */
async function untilTold<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let left = 5; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || left === 0) throw error
    }
  }
}
