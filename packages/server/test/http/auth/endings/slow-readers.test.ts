/** Readers that take a little of a large snapshot every few seconds, so that their connections are never idle. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished } from 'vitest'
import { askFeed, basic, insertEndings } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import type { Grantor, TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'
const MIB = 1024 * 1024
const HELD_AT_MOST = 64 * MIB
/** A snapshot of these has 8 MiB, which is more than the buffers of a connection accept. */
const ENDINGS = 300_000
/** Seconds after which a new reader gets a new snapshot. */
const APART = 6

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  const test = base
    .extend('options', FILE, ({ database }) => (engine === 'SQLite' ? {} : { postgres: database.address }))
    .extend('api', FILE, async ({ grantor, database }) => {
      const onPostgres = engine === 'PostgreSQL'
      await insertEndings(grantor, { count: ENDINGS }, onPostgres ? database : undefined)
      return grantor.createClient({ redirectUris: [], resourceServer: API })
    })

  describe(`Slow readers of a large feed on ${engine}`, () => {
    test.for(['text/event-stream', 'application/json'])(
      'Twelve readers of different snapshots with Accept %s hold no more than 64 MiB, the oldest are disconnected, and another reader goes on',
      { timeout: 240_000 },
      async (accept, { grantor, api }) => {
        const open: Slow[] = []
        for (let count = 0; count < 12; count++) {
          open.push(await openSlow(grantor, api, accept))
          expect(grantor.heldForReaders()).toBeLessThanOrEqual(HELD_AT_MOST)
          await passSeconds(grantor, APART)
          for (const each of open) each.take()
        }
        expect(open[0]?.isClosed(), 'the first reader').toBe(true)
        expect(open.at(-1)?.isClosed(), 'the last reader').toBe(false)
        expect(grantor.feedReaders()).toBeLessThan(8)
        const { messages } = (await askFeed(grantor, api)).json() as { messages: string[] }
        expect(messages.length).toBeGreaterThan(ENDINGS / 4096)

        for (const { socket } of open) socket.destroy()
        await expect.poll(() => grantor.feedReaders()).toBe(0)
        await passSeconds(grantor, APART)
        expect(grantor.heldForReaders(), 'without readers').toBe(0)
      },
    )

    test('A reader that has not received the whole snapshot after a minute is disconnected, although it takes a little all the time', async ({
      grantor,
      api,
    }) => {
      const slow = await openSlow(grantor, api, 'text/event-stream')
      for (let seconds = 0; seconds < 55; seconds += 5) {
        await passSeconds(grantor, 5)
        slow.take()
      }
      expect(slow.isClosed(), 'before the minute is over').toBe(false)
      await passSeconds(grantor, 10)
      await expect.poll(slow.isClosed).toBe(true)
      await expect.poll(() => grantor.feedReaders()).toBe(0)
      await passSeconds(grantor, APART)
      expect(grantor.heldForReaders()).toBe(0)
    })
  })
}

async function passSeconds(grantor: Grantor, seconds: number): Promise<void> {
  grantor.clock.advance(seconds)
  await grantor.renewFeed()
}

type Slow = { socket: Socket; take: () => void; isClosed: () => boolean }

/** Resolves when the first bytes of the response have arrived. `take` reads 64 KiB. */
async function openSlow(grantor: Grantor, server: TestClient, accept: string): Promise<Slow> {
  const socket = connect(Number(new URL(grantor.authUrl).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const [requested, arrived] = [once(grantor.authServer.server, 'request'), once(socket, 'readable')]
  socket.write(
    `GET /oauth/endings HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic(server).authorization}\r\nAccept: ${accept}\r\n\r\n`,
  )
  const [request] = (await requested) as [IncomingMessage]
  await arrived
  // The end that reads slowly does not notice that the connection is closed.
  return { socket, take: () => void socket.read(), isClosed: () => request.socket.destroyed }
}
