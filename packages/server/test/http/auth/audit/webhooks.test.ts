/** Webhooks against real receivers, which may be slow, dead, redirecting, or within the network. */
import { createHmac } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createKeyWrap } from '../../../../src/protocol/keys/key-wrap.ts'
import { type App, startApp } from '../../../support/app.ts'
import { aClientHost, type ClientHost } from '../../../support/client-host.ts'
import { TEST_SECRET } from '../../../support/start.ts'

const SECRET = new Uint8Array(32).fill(7)
const DAY = 86_400

async function start(): Promise<App> {
  const app = await startApp()
  onTestFinished(() => app.close())
  return app
}

async function subscribe({ grantor }: App, url: string, events: string[] = []): Promise<string> {
  const id = `webhook-${Math.random()}`
  const secret = Buffer.from(createKeyWrap(TEST_SECRET).wrap(SECRET, id, 'webhook')).toString('base64url')
  const { seq: cursor } = await grantor.store.audit.readHead()
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  await grantor.store.webhooks.insertWebhook({ id, url, secret, events, createdAt: grantor.clock.at, ...progress })
  return id
}

async function deliver({ grantor }: App): Promise<void> {
  await grantor.webhooks.deliver()
  await grantor.webhooks.settle()
}

const stored = async ({ grantor }: App, id: string) =>
  (await grantor.store.webhooks.listWebhooks()).find((each) => each.id === id)
const typesOf = ({ requests }: ClientHost) => requests.map(({ body }) => (JSON.parse(body) as { type: string }).type)
const idsOf = ({ requests }: ClientHost) => requests.map(({ headers }) => headers['webhook-id'])

/** Ends the grant of a new sign-in of the app, so that there is a line. */
async function endGrant(app: App): Promise<void> {
  const { seq } = await app.grantor.store.audit.readHead()
  await app.walk.revoke(app.client, (await app.freshTokens()).refresh_token)
  await expect.poll(async () => (await app.grantor.store.audit.readHead()).seq).toBe(seq + 1)
}

test('Each new line is sent once, in order and as JSON, with an id, a time and a signature as Standard Webhooks defines them', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.writeHead(204).end())
  const id = await subscribe(app, `${host.origin}/hook?a=b`)
  for (let count = 0; count < 3; count++) await endGrant(app)
  await deliver(app)
  await deliver(app)
  const lines = (await app.grantor.store.audit.readLines({ after: 0, limit: 100 })).slice(-3)
  expect(host.requests.map(({ body }) => (JSON.parse(body) as { data: unknown }).data)).toEqual(
    lines.map(({ line }) => JSON.parse(line) as unknown),
  )
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '' }] = host.requests
  expect([method, path, headers['content-type']]).toEqual(['POST', '/hook?a=b', 'application/json'])
  expect(headers['webhook-id']).toBe((JSON.parse(lines[0]?.line ?? '') as { id: string }).id)
  expect(headers['webhook-timestamp']).toBe(String(app.grantor.clock.at))
  const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.')
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', SECRET).update(content).digest('base64')}`)
  expect(JSON.parse(body)).toMatchObject({
    type: 'grant_ended',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  })
  expect(await stored(app, id)).toMatchObject({ cursor: lines[2]?.seq, failingSince: null })
})

test('An endpoint with a list of events gets only these, and its cursor passes the others', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.end())
  const id = await subscribe(app, host.origin, ['app_ended'])
  await endGrant(app)
  await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
  await endGrant(app).catch(() => undefined)
  await deliver(app)
  expect(typesOf(host)).toEqual(['app_ended'])
  expect((await stored(app, id))?.cursor).toBe((await app.grantor.store.audit.readHead()).seq)
})

test('A line that is refused stops the lines behind it; after hours they arrive in order with the same ids', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.writeHead(500).end())
  const id = await subscribe(app, host.origin)
  await endGrant(app)
  await endGrant(app)
  await deliver(app)
  await deliver(app)
  expect(host.requests, 'the next attempt is later').toHaveLength(1)
  expect(app.grantor.events.at(-1)).toMatchObject({ event: 'webhook_failing', webhook_id: id, reason: 'status_500' })
  app.grantor.clock.advance(10)
  await deliver(app)
  app.grantor.clock.advance(20 * 3600)
  await deliver(app)
  expect(new Set(idsOf(host)).size).toBe(1)
  expect(host.requests).toHaveLength(3)
  host.answer = (_, response) => response.end()
  app.grantor.clock.advance(3600)
  await deliver(app)
  expect(typesOf(host)).toHaveLength(5)
  expect(idsOf(host)[3], 'the refused line, again').toBe(idsOf(host)[0])
  expect(idsOf(host)[4]).not.toBe(idsOf(host)[0])
  expect(app.grantor.events.at(-1)).toMatchObject({ event: 'webhook_works_again' })
  expect(await stored(app, id)).toMatchObject({ failingSince: null, pausedAt: null })
})

test('After a day of failures an endpoint is paused with an alarm, and so is one that responds with 410; a resumed one goes on', async () => {
  const app = await start()
  const dead = await aClientHost((_, response) => response.writeHead(503).end())
  const gone = await aClientHost((_, response) => response.writeHead(410).end())
  const ids = [await subscribe(app, dead.origin), await subscribe(app, gone.origin)]
  await endGrant(app)
  await deliver(app)
  expect((await stored(app, ids[1] ?? ''))?.pausedAt).toBe(app.grantor.clock.at)
  app.grantor.clock.advance(DAY + 3600)
  await deliver(app)
  const paused = await stored(app, ids[0] ?? '')
  expect(paused?.pausedAt).toBe(app.grantor.clock.at)
  expect(app.grantor.events.filter(({ event }) => event === 'webhook_paused')).toEqual([
    expect.objectContaining({ alarm: true, reason: 'status_410' }),
    expect.objectContaining({ alarm: true, reason: 'status_503' }),
  ])
  const { length } = dead.requests
  app.grantor.clock.advance(DAY)
  await deliver(app)
  expect(dead.requests).toHaveLength(length)
  dead.answer = (_, response) => response.end()
  const cursor = paused?.cursor ?? 0
  const due = { failingSince: null, nextAt: 0, pausedAt: null }
  await app.grantor.store.webhooks.changeWebhook(ids[0] ?? '', (webhook) => ({ ...webhook, ...due }))
  await deliver(app)
  expect(typesOf(dead).at(-1)).toBe('grant_ended')
  expect(await stored(app, ids[0] ?? '')).toMatchObject({ cursor: cursor + 1, pausedAt: null })
})

test('A receiver that hangs delays neither requests nor other receivers, and is not called twice at a time', async () => {
  const app = await start()
  const hanging = await aClientHost(() => undefined)
  const healthy = await aClientHost((_, response) => response.end())
  await subscribe(app, hanging.origin)
  await subscribe(app, healthy.origin)
  await endGrant(app)
  const began = performance.now()
  await app.grantor.webhooks.deliver()
  await expect.poll(() => healthy.requests).toHaveLength(1)
  await endGrant(app)
  await app.grantor.webhooks.deliver()
  await expect.poll(() => healthy.requests).toHaveLength(2)
  expect(performance.now() - began).toBeLessThan(9000)
  expect(hanging.requests).toHaveLength(1)
  const stopped = performance.now()
  await app.grantor.webhooks.stop()
  expect(performance.now() - stopped, 'a server that stops does not wait for it').toBeLessThan(4500)
  await hanging.close()
  await app.grantor.webhooks.settle()
})

test('A redirect is not followed, an address of the network is not called, and an endless response is cut off', async () => {
  const app = await start()
  const target = await aClientHost((_, response) => response.end())
  const redirecting = await aClientHost((_, response) => response.writeHead(307, { location: target.origin }).end())
  const endless = await aClientHost((_, response) => {
    const pour = (): void => void response.write('x'.repeat(65_536), () => response.destroyed || setImmediate(pour))
    pour()
  })
  const ids = [
    await subscribe(app, redirecting.origin),
    await subscribe(app, 'http://10.0.0.1/'),
    await subscribe(app, 'https://169.254.169.254/'),
    await subscribe(app, endless.origin),
  ]
  await endGrant(app)
  await deliver(app)
  expect(target.connections()).toBe(0)
  for (const id of ids) expect((await stored(app, id))?.failingSince).toBe(app.grantor.clock.at)
  const reasons = app.grantor.events.flatMap(({ event, reason }) => (event === 'webhook_failing' ? [reason] : []))
  expect(reasons.map(String).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'address_not_public',
    'address_not_public',
    'redirect',
    'too_long',
  ])
})

test('If an operator moves the cursor during a delivery, the lines are sent again from there', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.end())
  const id = await subscribe(app, host.origin)
  const { cursor = 0, url = '' } = (await stored(app, id)) ?? {}
  await endGrant(app)
  await endGrant(app)
  let isFirst = true
  host.answer = (_, response) => {
    if (!isFirst) return void response.end()
    isFirst = false
    const progress = { cursor: cursor - 1, failingSince: null, nextAt: 0, pausedAt: null }
    void app.grantor.store.webhooks.moveWebhook({ id, url }, cursor, progress).then(() => response.end())
  }
  await deliver(app)
  await deliver(app)
  expect(typesOf(host)).toEqual(['grant_ended', 'session_started', 'grant_ended', 'grant_ended'])
})

const logOf = async ({ grantor }: App, id: string) => (await grantor.store.webhooks.readAttempts(id)) ?? []

test('The log of a webhook has each attempt with its number, its time, and its status or failure', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.writeHead(503).end())
  const id = await subscribe(app, host.origin)
  await endGrant(app)
  await deliver(app)
  const at = app.grantor.clock.at
  app.grantor.clock.advance(5)
  await deliver(app)
  await host.close()
  app.grantor.clock.advance(5)
  await deliver(app)
  const { seq: line } = await app.grantor.store.audit.readHead()
  const attempts = await logOf(app, id)
  expect(attempts).toMatchObject([
    { at: at + 10, line, attempt: 3, status: null, failure: 'unreachable' },
    { at: at + 5, line, attempt: 2, status: 503, failure: 'status_503' },
    { at, line, attempt: 1, event: 'grant_ended', status: 503, failure: 'status_503' },
  ])
  expect(attempts.every(({ milliseconds }) => milliseconds >= 0 && milliseconds < 10_000)).toBe(true)
})

test('The lines of one run are written to the log together, and a run without a line writes nothing', async () => {
  const app = await start()
  const host = await aClientHost((_, response) => response.writeHead(204).end())
  const id = await subscribe(app, host.origin)
  for (let count = 0; count < 3; count++) await endGrant(app)
  const write = vi.spyOn(app.grantor.store.webhooks, 'logAttempts')
  await deliver(app)
  await deliver(app)
  expect(host.requests).toHaveLength(3)
  expect(write).toHaveBeenCalledTimes(1)
  expect(await logOf(app, id)).toMatchObject(host.requests.map(() => ({ attempt: 1, status: 204, failure: null })))
})

test('A webhook that is paused or deleted during a delivery gets no further line; resumed, it continues with the next line', async () => {
  const app = await start()
  const { webhooks } = app.grantor.store
  const pausing = await aClientHost((_, response) => response.end())
  const deleting = await aClientHost((_, response) => response.end())
  const paused = await subscribe(app, pausing.origin)
  const deleted = await subscribe(app, deleting.origin)
  await endGrant(app)
  await endGrant(app)
  pausing.answer = (_, response) => {
    const change = webhooks.changeWebhook(paused, (webhook) => ({ ...webhook, pausedAt: app.grantor.clock.at }))
    void change.then(() => response.end())
  }
  deleting.answer = (_, response) => void webhooks.deleteWebhook(deleted).then(() => response.end())
  await deliver(app)
  await deliver(app)
  expect([pausing.requests.length, deleting.requests.length]).toEqual([1, 1])
  expect(await stored(app, paused)).toMatchObject({ pausedAt: app.grantor.clock.at, failingSince: null })
  expect(await logOf(app, paused)).toMatchObject([{ status: 200 }])
  expect(await webhooks.readAttempts(deleted)).toBeNull()
  await webhooks.changeWebhook(paused, (webhook) => ({ ...webhook, pausedAt: null }))
  await deliver(app)
  expect(new Set(idsOf(pausing)).size).toBe(2)
})
