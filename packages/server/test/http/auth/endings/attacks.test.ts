/** Readers and callers that try to use up a node, or to read more than is for them. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished } from 'vitest'
import { endOneGrant } from '../../../../src/domain/consent/end-grants.ts'
import { claimsOf } from '../../../support/app.ts'
import { askFeed, basic, entriesOf, entryOfUuid, insertEndings, readFeed } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { send } from '../../../support/send.ts'
import type { Grantor, TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'
const FILES = 'https://files.example.com/'

const test = base
  .extend('api', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: API }))
  .extend('files', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: FILES }))

const withFewReads = test.extend('options', FILE, { limits: { feed_reads: 5 } })

/** Sends a request for the stream on a connection of its own. The caller reads what arrives. */
function openSocket(grantor: Grantor, server: TestClient): Socket {
  const { authorization } = basic(server)
  const socket = connect(Number(new URL(grantor.authUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`GET /oauth/endings HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nAccept: text/event-stream\r\n\r\n`)
  onTestFinished(() => void socket.destroy())
  return socket
}

/** The first line of the response and everything that has arrived with it. */
async function firstBytes(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString('latin1')
}

const untilClosed = (grantor: Grantor) => expect.poll(() => grantor.feedReaders()).toBe(0)

describe('Connections that hold a place', () => {
  test('Of 10,000 connections of one client 2,000 are open, the others get 429 with Retry-After, and readers of other clients go on', async ({
    app,
    api,
    files,
  }) => {
    const { grantor } = app
    const { access_token } = await app.freshTokens({ resource: API })
    await grantor.renewFeed()
    const other = openSocket(grantor, api)
    expect(await firstBytes(other)).toMatch(/^HTTP\/1\.1 200/)

    const open: Socket[] = []
    while (open.length < 2000) {
      const some = Array.from({ length: 100 }, () => openSocket(grantor, files))
      for (const first of await Promise.all(some.map(firstBytes))) expect(first).toMatch(/^HTTP\/1\.1 200/)
      open.push(...some)
      for (const socket of some) socket.resume()
    }
    for (let rest = 0; rest < 8000; rest += 200) {
      // A connection on which nothing arrives for 30 seconds is closed, and a busy machine needs longer than that.
      if (rest % 1000 === 0) for (let reads = 0; reads < 2; reads++) await grantor.renewFeed()
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => askFeed(grantor, files, {}, { accept: 'text/event-stream' })),
      )
      for (const { status, headers } of answers) expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true])
    }
    expect(grantor.feedReaders()).toBe(2001)

    await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
    let received = ''
    other.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
    await grantor.renewFeed()
    await expect.poll(() => entriesIn(received)).toContain(entryOfUuid(claimsOf(access_token).grant_id))
    expect((await askFeed(grantor, api)).status).toBe(200)
    for (const socket of [other, ...open]) socket.destroy()
    await untilClosed(grantor)
    grantor.clock.advance(61)
  })

  test('A body that trickles in holds no place and causes no read of the store, and the server limits its time', async ({
    grantor,
    api,
  }) => {
    const socket = connect(Number(new URL(grantor.authUrl).port), '127.0.0.1')
    const head = `POST /oauth/endings HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic(api).authorization}\r\n`
    const reads = countReads(grantor)
    const requested = once(grantor.authServer.server, 'request')
    socket.write(`${head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nw`)
    await requested
    for (const byte of 'ait=30') await new Promise((resolve) => socket.write(byte, resolve))
    expect([grantor.feedReaders(), reads()]).toEqual([0, 0])
    const { requestTimeout } = grantor.authServer.server
    expect(requestTimeout).toBeGreaterThan(0)
    expect(requestTimeout).toBeLessThanOrEqual(30_000)
    socket.destroy()
  })
})

describe('Requests without a right to the feed', () => {
  test('A flood without valid credentials writes no row, reads no ending and holds no place', async ({
    grantor,
    api,
    client,
  }) => {
    const before = await grantor.rows()
    const reads = countReads(grantor)
    const callers = [{}, basic({ ...api, secret: 'wrong' }), basic({ id: 'unknown', secret: 'x' }), basic(client)]
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, index) => {
        const headers = { accept: 'text/event-stream', ...callers[index % callers.length] }
        return send(grantor.authUrl, { path: '/oauth/endings?wait=30', headers })
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 401]))
    expect([grantor.feedReaders(), reads()]).toEqual([0, 0])
    expect(await grantor.rows()).toEqual(before)
  })

  test('A forged cursor of another node shows nothing but entries for the resource of the reader', async ({
    app,
    api,
    files,
  }) => {
    const { grantor } = app
    const { grant_id } = claimsOf((await app.freshTokens({ resource: API })).access_token)
    await grantor.renewFeed()
    const [until = '', feed = ''] = (await readFeed(grantor, files)).cursor.split('.')
    await endOneGrant(grantor.store, grant_id, grantor.clock.now())
    await grantor.renewFeed()
    for (const earlier of [0, 1, 1500, 5000, 1e9]) {
      const cursor = `${Math.max(0, Number(until) - earlier)}.${feed}.forged`
      expect(entriesOf((await readFeed(grantor, api, { cursor })).messages)).toContain(entryOfUuid(grant_id))
      expect(entriesOf((await readFeed(grantor, files, { cursor })).messages)).not.toContain(entryOfUuid(grant_id))
    }
  })
})

describe('Values of wait', () => {
  test.for(['31', '-1', '1.5', '1e1', ' 1', '0x1', '999999999999'])(
    'A wait of "%s" is refused',
    async (wait, { grantor, api }) => {
      const answer = await askFeed(grantor, api, { wait })
      expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
      expect(grantor.feedReaders()).toBe(0)
    },
  )

  test('A wait that is sent twice is refused', async ({ grantor, api }) => {
    const answer = await send(grantor.authUrl, { path: '/oauth/endings?wait=1&wait=2', headers: basic(api) })
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
  })
})

describe('Snapshots in a loop', () => {
  const test = withFewReads

  test('After as many as a minute allows, a client gets 429 with Retry-After, and other clients none', async ({
    grantor,
    api,
    files,
  }) => {
    for (let reads = 0; reads < 5; reads++) expect((await askFeed(grantor, api)).status).toBe(200)
    const { status, headers } = await askFeed(grantor, api)
    expect(status).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect((await askFeed(grantor, files)).status).toBe(200)
    grantor.clock.advance(61)
    expect((await askFeed(grantor, api)).status).toBe(200)
  })
})

// At the end of the file: every later reader would receive the large snapshot.
describe('A large snapshot', () => {
  test('A reader that never reads its socket takes no memory beyond one message, and its connection is closed after 30 seconds', async ({
    grantor,
    api,
  }) => {
    await insertEndings(grantor, { count: 300_000 })
    const requested = once(grantor.authServer.server, 'request')
    const socket = openSocket(grantor, api).pause()
    const [{ socket: held }] = (await requested) as [IncomingMessage]
    // The snapshot has more than eight million bytes. The buffers of the kernel may have room for it, so nothing is given to the kernel.
    held.cork()
    await expect.poll(() => held.writableLength).toBeGreaterThan(0)
    for (let reads = 0; reads < 4; reads++) await grantor.renewFeed()
    expect(held.writableLength).toBeLessThan(512 * 1024)
    expect(grantor.feedReaders()).toBe(1)
    expect(held.timeout).toBe(30_000)

    held.setTimeout(1)
    await untilClosed(grantor)
    expect(socket.bytesRead).toBe(0)
  })
})

/** Returns how often the feed has read the store since. */
function countReads({ store: { endings } }: Grantor): () => number {
  const { readEndings } = endings
  let reads = 0
  endings.readEndings = (...place) => {
    reads++
    return readEndings(...place)
  }
  onTestFinished(() => void Object.assign(endings, { readEndings }))
  return () => reads
}

function entriesIn(stream: string): string[] {
  const messages = stream.match(/(?<=data: )[\w.-]+(?=\n\n)/g) ?? []
  return entriesOf(messages.map((message) => JSON.parse(Buffer.from(message.split('.')[1] ?? '', 'base64url').toString())))
}
