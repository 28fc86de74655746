/** Servers, and proxies in front of them, that close a connection without an error at the worst time. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { NotSent } from '../../../src/store/postgres/connection/errors.ts'
import { ServerGroup } from '../../../src/store/postgres/connection/server-group.ts'
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
  ['after the first message', (socket) => socket.once('data', () => socket.end()), 'disable'],
  ['at once, over TLS', (socket) => socket.end(), 'require'],
  ['when TLS begins', (socket) => socket.once('data', () => socket.end('S')), 'require'],
])(
  'A server that closes each connection %s is refused with StoreUnavailable after fewer than five connections',
  async (_, answer, sslmode) => {
    let connections = 0
    const hangingUp = await listen((socket) => {
      connections++
      answer(socket)
    })
    const address = addressOf('postgres://nobody@127.0.0.1/nothing', `sslmode=${sslmode}`)
    const outcome = await openPostgresStore({ ...address, servers: at(hangingUp) }).catch((error: unknown) => error)
    expect(outcome).toBeInstanceOf(StoreUnavailable)
    expect(connections).toBeLessThan(5)
  },
)

test('Searches at the same time share their connections, and after a failed search there is a pause without connections', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let connections = 0
  const hangingUp = await listen((socket) => {
    connections++
    socket.end()
  })
  const group = new ServerGroup({ ...addressOf('postgres://nobody@127.0.0.1/nothing'), servers: at(hangingUp) })
  const search = () => group.find().catch((error: unknown) => error)
  expect(await Promise.all([search(), search(), search()])).toEqual(Array(3).fill(expect.any(NotSent)))
  expect(connections).toBe(1)
  expect(await search()).toBeInstanceOf(NotSent)
  expect(connections, 'in the pause').toBe(1)
  vi.advanceTimersByTime(400)
  expect(await search()).toBeInstanceOf(NotSent)
  expect(connections, 'after the pause').toBe(2)
})

test('A statement waits until its deadline for a server that accepts connections and sends nothing, and not for the search', async () => {
  const silent = await listen(() => undefined)
  const address = addressOf('postgres://nobody@127.0.0.1/nothing', 'connect_timeout=10')
  const group = new ServerGroup({ ...address, servers: at(silent) })
  const query = { name: '', text: 'SELECT', values: [] }
  const send = () => group.run({ kind: 'read', query, attempt: 1, deadline: performance.now() + 100 })
  const ended = vi.fn<(outcome: unknown) => unknown>((outcome) => outcome)
  const search = group.find().then(ended, ended)
  await expect(send()).rejects.toBeInstanceOf(NotSent)
  expect(ended).not.toHaveBeenCalled()
  for (const socket of open) socket.destroy()
  expect(await search).toBeInstanceOf(NotSent)
})

test('Through a proxy that closes every seventh connection as a statement is sent, every refresh takes effect exactly once', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const [behind] = database.address.servers
  if (!behind) throw new Error('no server')
  let messages = 0
  // The proxy closes the connection without an error instead of passing on every seventh message of the service.
  const proxy = await listen((socket) => {
    const onward = connect(behind.port, behind.host)
    open.push(onward)
    onward.on('error', () => undefined).on('data', (bytes) => socket.write(bytes))
    onward.on('close', () => socket.end())
    socket.on('data', (bytes) => (++messages % 7 === 0 ? socket.end() : onward.write(bytes)))
    socket.on('close', () => onward.destroy())
  })
  const address = { ...addressOf(database.url, 'pool_size=2'), servers: at(proxy) }
  const store = await untilAvailable(() => openPostgresStore(address, { clock: 'given' }))
  onTestFinished(() => store.close())
  const grant = await untilAvailable(() => livingGrant(store))
  const kinds: string[] = []
  for (let generation = 0; generation < 60; generation++) {
    const rotation = rotationOf(grant, generation)
    kinds.push((await untilAvailable(() => store.grants.rotateRefreshToken(rotation))).kind)
  }
  expect(new Set(kinds)).toEqual(new Set(['rotated']))
  expect(await untilAvailable(() => store.grants.readGrant(grant.id))).toMatchObject({ generation: 60, endedAt: null })
  expect(messages, 'several connections were closed').toBeGreaterThan(60)
})

/** Retries until a call succeeds, as a caller that gets 503 does. */
async function untilAvailable<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let left = 5; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || left === 0) throw error
    }
  }
}
