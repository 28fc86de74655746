import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect } from 'vitest'
import { endOneGrant } from '../../../../src/domain/consent/end-grants.ts'
import { StoreUnavailable } from '../../../../src/domain/model/store-errors.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { askFeed, basic, entriesOf, entryOfText, entryOfUuid, readFeed } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { type Answer, send } from '../../../support/send.ts'
import { type Grantor, LIFETIMES, type TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'
const FILES = 'https://files.example.com/'
const PAYMENTS = 'https://payments.example.com/'

const ENGINES = ['SQLite', 'PostgreSQL'] as const

const startedOn = (engine: (typeof ENGINES)[number]) =>
  base.extend('options', FILE, ({ database }) => (engine === 'SQLite' ? {} : { postgres: database.address }))

for (const engine of ENGINES) {
  const test = startedOn(engine)
    .extend('api', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: API }))
    .extend('files', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: FILES }))

  describe(`The feed of endings on ${engine}`, () => {
    test('A snapshot is signed and has the endings of the last lifetime of an access token, for the resource of the reader only', async ({
      app,
      api,
      files,
    }) => {
      const { grantor } = app
      const { access_token } = await app.freshTokens({ resource: API })
      const { grant_id } = claimsOf(access_token)
      await endOneGrant(grantor.store, grant_id, grantor.clock.now())
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, api)
      expect(messages.map(({ from, part }) => ({ from, part }))).toEqual([
        { from: null, part: [1, 2] },
        { from: null, part: [2, 2] },
      ])
      expect(messages[0]).toMatchObject({ lifetime: LIFETIMES.accessToken })
      expect(messages[0]?.keys).toContain(JSON.parse(Buffer.from(access_token.split('.')[0] ?? '', 'base64url').toString()).kid)
      expect(entriesOf(messages)).toContain(entryOfUuid(grant_id))
      expect(entriesOf((await readFeed(grantor, files)).messages)).not.toContain(entryOfUuid(grant_id))
    })

    test('The first message of a response is signed at the time of the response, also if readers share the rest', async ({
      app,
      api,
    }) => {
      const { grantor } = app
      const timesOf = async (query?: Record<string, string>) => (await readFeed(grantor, api, query)).messages.map(({ at }) => at)
      await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, api)
      await grantor.renewFeed()
      const [, rest] = await timesOf()
      await timesOf({ cursor })
      grantor.clock.advance(1)
      expect((await timesOf()).slice(0, 2)).toEqual([grantor.clock.now() * 1000, rest])
      expect(await timesOf({ cursor })).toEqual([grantor.clock.now() * 1000])
    })

    test('After a cursor the feed has only what ended since, and no message if the reader has everything', async ({
      app,
      api,
    }) => {
      const { grantor } = app
      const before = await app.freshTokens({ resource: API })
      const after = await app.freshTokens({ resource: API })
      await endOneGrant(grantor.store, claimsOf(before.access_token).grant_id, grantor.clock.now())
      await grantor.renewFeed()
      const { cursor, messages: first } = await readFeed(grantor, api)
      expect(await readFeed(grantor, api, { cursor })).toMatchObject({ cursor, messages: [] })

      await endOneGrant(grantor.store, claimsOf(after.access_token).grant_id, grantor.clock.now())
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, api, { cursor })
      expect(entriesOf(messages)).toEqual([entryOfUuid(claimsOf(after.access_token).grant_id)])
      expect(messages[0]).toMatchObject({ from: first.at(-1)?.until, feed: first[0]?.feed })
      expect(messages[0]?.until).toBeGreaterThan(first[0]?.until ?? 0)
    })

    test('A revoked access token, a revoked refresh token and a revoked token without a user are in the feed', async ({
      app,
      api,
    }) => {
      const { grantor, walk, client } = app
      const single = await app.freshTokens({ resource: API })
      const whole = await app.freshTokens({ resource: API })
      const machine = await grantor.createClient({ grantTypes: ['client_credentials'], resources: [API], redirectUris: [] })
      const own = tokensOf(await walk.token(machine, { grant_type: 'client_credentials', resource: API }))
      await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, api)

      await walk.revoke(client, single.access_token)
      await walk.revoke(client, whole.refresh_token)
      await walk.revoke(machine, own.access_token)
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, api, { cursor })
      const { jti } = claimsOf(own.access_token)
      expect(entriesOf(messages).toSorted()).toEqual(
        [
          entryOfUuid(claimsOf(single.access_token).jti),
          entryOfUuid(claimsOf(whole.access_token).grant_id),
          entryOfText(`${machine.id}\0${jti}`),
        ].toSorted(),
      )
    })

    test('A revoked token without a user is in the feed of its resource only (RFC 7009)', async ({ app, api, files }) => {
      const { grantor, walk } = app
      const machine = await grantor.createClient({
        grantTypes: ['client_credentials'],
        resources: [API, FILES],
        redirectUris: [],
      })
      const { access_token } = tokensOf(await walk.token(machine, { grant_type: 'client_credentials', resource: API }))
      await walk.revoke(machine, access_token)
      await grantor.renewFeed()
      const entry = entryOfText(`${machine.id}\0${claimsOf(access_token).jti}`)
      expect(entriesOf((await readFeed(grantor, api)).messages)).toContain(entry)
      expect(entriesOf((await readFeed(grantor, files)).messages)).not.toContain(entry)
    })

    test('When a client is disabled, readers introspect the tokens that were exchanged from its tokens, which do not name it (RFC 8693)', async ({
      app,
    }) => {
      const { grantor } = app
      const server = { redirectUris: [], resourceServer: PAYMENTS }
      const payments = await grantor.createClient(server)
      const early = await grantor.createClient({ ...server, exchangeResources: [API] })
      const disabled = await grantor.createClient()
      await grantor.noticeChanges()
      for (let reads = 0; reads <= 10; reads++) await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, payments)
      await grantor.store.clients.changeClient(disabled.id, (each) => ({ ...each, disabledAt: grantor.clock.now() }))
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, payments, { cursor })
      expect(entriesOf(messages, 'clients')).toEqual(expect.arrayContaining([disabled, early].map(({ id }) => entryOfText(id))))

      const late = await grantor.createClient({ ...server, exchangeResources: [FILES] })
      for (let reads = 0; reads <= 10; reads++) await grantor.renewFeed()
      expect(entriesOf((await readFeed(grantor, payments, { cursor })).messages, 'clients')).toContain(entryOfText(late.id))
    })

    test('A client that was disabled, deleted, or lost its own tokens or an exchange is in the feed as a client', async ({
      app,
      api,
    }) => {
      const { grantor } = app
      const disabled = await grantor.createClient()
      const deleted = await grantor.createClient()
      const changed = await grantor.createClient({ grantTypes: ['client_credentials'], redirectUris: [] })
      const server = await grantor.createClient({ redirectUris: [], resourceServer: PAYMENTS, exchangeResources: [API] })
      for (let reads = 0; reads <= 10; reads++) await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, api)

      await grantor.store.clients.changeClient(disabled.id, (each) => ({ ...each, disabledAt: grantor.clock.now() }))
      await grantor.store.clients.deleteClient(deleted.id)
      await grantor.store.clients.changeClient(changed.id, (each) => ({ ...each, grantTypes: ['authorization_code'] }))
      await grantor.store.clients.changeClient(server.id, (each) => ({ ...each, exchangeResources: [] }))
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, api, { cursor })
      expect(entriesOf(messages, 'clients')).toEqual(
        expect.arrayContaining([disabled, deleted, changed, server].map(({ id }) => entryOfText(id))),
      )
    })

    test('A reader sees endings of grants whose tokens can be exchanged for its resource, from the change of the registration on (RFC 8693)', async ({
      app,
      api,
    }) => {
      const { grantor } = app
      const payments = await grantor.createClient({ redirectUris: [], resourceServer: PAYMENTS })
      const { access_token } = await app.freshTokens({ resource: API })
      const entry = entryOfUuid(claimsOf(access_token).grant_id)
      await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
      await grantor.renewFeed()
      const { cursor, messages } = await readFeed(grantor, payments)
      expect(entriesOf(messages)).not.toContain(entry)

      await grantor.store.clients.changeClient(api.id, (each) => ({ ...each, exchangeResources: [PAYMENTS] }))
      await grantor.noticeChanges()
      // The registrations are read at every tenth read of the store at most.
      for (let reads = 0; reads <= 10; reads++) await grantor.renewFeed()
      const later = await readFeed(grantor, payments, { cursor })
      expect(later.messages[0]).toMatchObject({ from: null })
      expect(entriesOf(later.messages)).toContain(entry)
    })

    test('With `wait`, the response comes with the next ending', async ({ app, api }) => {
      const { grantor } = app
      const { access_token } = await app.freshTokens({ resource: API })
      await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, api)
      const waiting = readFeed(grantor, api, { cursor, wait: '30' })
      await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
      const reading = setInterval(() => void grantor.renewFeed(), 20)
      const { messages } = await waiting.finally(() => clearInterval(reading))
      expect(messages.length).toBe(1)
    })

    test('The stream sends a snapshot, each later ending, and a message without an ending about once a second', async ({
      app,
      api,
    }) => {
      const { grantor } = app
      const { access_token } = await app.freshTokens({ resource: API })
      const stop = new AbortController()
      const response = await fetch(`${grantor.authUrl}/oauth/endings`, {
        headers: { ...basic(api), accept: 'text/event-stream' },
        signal: stop.signal,
      })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      expect(response.headers.get('x-request-id')).toMatch(/./)
      const events = eventsIn(response)
      expect(await events.next()).toMatchObject({ value: { from: null } })
      await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
      const reading = setInterval(() => void grantor.renewFeed(), 20)
      const seen: string[] = []
      let empty = 0
      // The snapshot has the endings of earlier tests.
      while (!seen.includes(entryOfUuid(claimsOf(access_token).grant_id)) || empty === 0) {
        const { value } = await events.next()
        const entries = entriesOf([value])
        seen.push(...entries)
        if (entries.length === 0) empty++
      }
      clearInterval(reading)
      stop.abort()
      expect(seen).toContain(entryOfUuid(claimsOf(access_token).grant_id))
    })

    test('While the store cannot be read, a stream stays open, and it continues afterwards', async ({ app, api }) => {
      const { grantor } = app
      const { access_token } = await app.freshTokens({ resource: API })
      const stop = new AbortController()
      const response = await fetch(`${grantor.authUrl}/oauth/endings`, {
        headers: { ...basic(api), accept: 'text/event-stream' },
        signal: stop.signal,
      })
      const events = eventsIn(response)
      await events.next()
      const { endings, clients } = grantor.store
      const [{ readEndings }, { readClient }] = [endings, clients]
      const away = () => Promise.reject(new StoreUnavailable('away'))
      Object.assign(endings, { readEndings: away })
      Object.assign(clients, { readClient: away })
      grantor.deps.clients.forget('everything')
      for (let reads = 0; reads < 4; reads++) {
        await expect(grantor.renewFeed()).rejects.toThrow(StoreUnavailable)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      Object.assign(endings, { readEndings })
      Object.assign(clients, { readClient })
      await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
      const reading = setInterval(() => void grantor.renewFeed(), 20)
      const seen: string[] = []
      while (!seen.includes(entryOfUuid(claimsOf(access_token).grant_id))) {
        const { value, done } = await events.next()
        expect(done).toBe(false)
        seen.push(...entriesOf([value]))
      }
      clearInterval(reading)
      stop.abort()
    })

    // On PostgreSQL the times of endings are those of the database.
    test.skipIf(engine === 'PostgreSQL')(
      'An entry leaves the feed when no token that it concerns can be valid',
      async ({ app, api }) => {
        const { grantor } = app
        const { access_token } = await app.freshTokens({ resource: API })
        await endOneGrant(grantor.store, claimsOf(access_token).grant_id, grantor.clock.now())
        await grantor.renewFeed()
        const entry = entryOfUuid(claimsOf(access_token).grant_id)
        grantor.clock.advance(LIFETIMES.accessToken)
        await grantor.renewFeed()
        expect(entriesOf((await readFeed(grantor, api)).messages)).toContain(entry)
        grantor.clock.advance(LIFETIMES.accessToken + 120)
        await grantor.renewFeed()
        expect(entriesOf((await readFeed(grantor, api)).messages)).not.toContain(entry)
      },
    )

    test('A cursor of another run, of the future or of long ago gets a snapshot', async ({ app, api }) => {
      const { grantor } = app
      await grantor.renewFeed()
      const { cursor } = await readFeed(grantor, api)
      const [until = '', feed = '', node = ''] = cursor.split('.')
      for (const other of [`${until}.AAAAAAAAAAAAAAAA.${node}`, `${Number(until) + 60_000}.${feed}.${node}`, `1.${feed}.${node}`])
        expect((await readFeed(grantor, api, { cursor: other })).messages[0]).toMatchObject({ from: null })
    })
  })
}

const withApi = startedOn('SQLite').extend('api', FILE, ({ grantor }) =>
  grantor.createClient({ redirectUris: [], resourceServer: API }),
)

describe('The connections of readers', () => {
  const test = withApi

  test('A reader that disconnects before the first message leaves its place to another reader', async ({ grantor, api }) => {
    const { endings } = grantor.store
    const { readEndings } = endings
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    endings.readEndings = async (...place) => {
      begun.resolve()
      await held.promise
      return readEndings(...place)
    }
    const isClosed = new Promise((resolve) =>
      grantor.authServer.server.once('request', ({ socket }) => socket.once('close', resolve)),
    )
    const stop = new AbortController()
    const response = openStream(grantor, api, stop.signal)
    await begun.promise
    expect(grantor.feedReaders()).toBe(1)
    stop.abort()
    await expect(response).rejects.toThrow()
    await isClosed
    held.resolve()
    endings.readEndings = readEndings
    await expect.poll(() => grantor.feedReaders()).toBe(0)
  })

  test('A connection whose stream has ended is closed when nothing arrives, as any other connection', async ({ grantor }) => {
    const api = await grantor.createClient({ redirectUris: [], resourceServer: API })
    const { server } = grantor.authServer
    const requested = once(server, 'request')
    const response = await openStream(grantor, api)
    const [{ socket }] = (await requested) as [IncomingMessage]
    await grantor.store.clients.changeClient(api.id, (each) => ({ ...each, resourceServer: null }))
    await grantor.noticeChanges()
    const reading = setInterval(() => void grantor.renewFeed(), 20)
    await response.text().finally(() => clearInterval(reading))
    await expect.poll(() => socket.timeout).toBeGreaterThanOrEqual(server.keepAliveTimeout)
  })
})

function openStream(grantor: Grantor, api: TestClient, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${grantor.authUrl}/oauth/endings`, { headers: { ...basic(api), accept: 'text/event-stream' }, signal })
}

async function* eventsIn(response: Response) {
  let text = ''
  if (!response.body) throw new Error('the stream has no body')
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1] ?? ''
      text = text.slice(end + 2)
      yield JSON.parse(Buffer.from(data.split('.')[1] ?? '', 'base64url').toString())
    }
  }
}

const refusalOf = (answer: Answer) => [answer.status, answer.json().error]

describe('Requests that the feed refuses', () => {
  const test = withApi

  test('A client that is no resource server is refused, and one with a wrong secret too', async ({ grantor, client, api }) => {
    expect(refusalOf(await askFeed(grantor, client))).toEqual([400, 'unauthorized_client'])
    expect(refusalOf(await askFeed(grantor, { ...api, secret: 'wrong' }))).toEqual([401, 'invalid_client'])
  })

  test('A malformed cursor and a malformed wait are refused', async ({ grantor, api }) => {
    for (const query of [{ cursor: 'x' }, { cursor: '1.2' }, { wait: '31' }, { wait: '-1' }, { wait: 'soon' }])
      expect(refusalOf(await askFeed(grantor, api, query))).toEqual([400, 'invalid_request'])
  })

  test('The trail names a reading client once, and not at each read', async ({ grantor, api }) => {
    for (let reads = 0; reads < 3; reads++) await readFeed(grantor, api)
    expect(grantor.events.filter(({ event, client_id }) => event === 'endings_read' && client_id === api.id)).toHaveLength(1)
  })

  test('A client authenticates in the body of a POST as at the introspection endpoint', async ({ grantor }) => {
    const server = await grantor.createClient({ redirectUris: [], resourceServer: FILES, authMethod: 'client_secret_post' })
    const body = new URLSearchParams({ client_id: server.id, client_secret: server.secret }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await send(grantor.authUrl, { method: 'POST', path: '/oauth/endings', headers, body })).status).toBe(200)
  })

  test('The metadata name the feed (RFC 8414)', async ({ grantor }) => {
    const answer = await send(grantor.authUrl, { path: '/.well-known/oauth-authorization-server' })
    expect(answer.json()).toMatchObject({ endings_endpoint: `${grantor.authUrl}/oauth/endings` })
  })
})
