/** The time limit of a query on one connection: `connection/client.ts`. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CheckedClient } from '../../../src/store/postgres/connection/client.ts'
import { isSilence } from '../../../src/store/postgres/connection/errors.ts'

const AUTHENTICATION_OK = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0])
const READY_FOR_QUERY = Buffer.from([90, 0, 0, 0, 5, 73])
const COMMAND_COMPLETE = Buffer.from([67, 0, 0, 0, 13, ...Buffer.from('SELECT 0\0')])
const TIME_LIMIT_MS = 1000

/** A connection to a server that accepts each login and calls `onQuery` for each query. The timers of the test are then fake. */
async function connectTo(onQuery: (socket: Socket) => void): Promise<CheckedClient> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY]))
      socket.on('data', () => onQuery(socket))
    })
    onTestFinished(() => void socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new CheckedClient({
    host: '127.0.0.1',
    port,
    user: 'u',
    database: 'd',
    ssl: false,
    query_timeout: TIME_LIMIT_MS,
  })
  await client.connect()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return client
}

test('A query rejects if the server accepted the query and sends no result within its time, and not before', async () => {
  const received = Promise.withResolvers<void>()
  const client = await connectTo(() => received.resolve())
  const settled = vi.fn<(outcome: unknown) => void>()
  void client.query('SELECT').then(settled, settled)
  await received.promise
  await vi.advanceTimersByTimeAsync(TIME_LIMIT_MS - 1)
  expect(settled).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(settled).toHaveBeenCalledOnce()
  expect(isSilence(settled.mock.calls[0]?.[0])).toBe(true)
})

test('A query whose result arrived leaves no timer', async () => {
  const client = await connectTo((socket) => socket.write(Buffer.concat([COMMAND_COMPLETE, READY_FOR_QUERY])))
  expect((await client.query('SELECT')).command).toBe('SELECT')
  expect(vi.getTimerCount()).toBe(0)
})
