/** Webhooks in the console, and tests of webhooks, which a server sends. Their rules: packages/server/test/operators/operations/webhooks.test.ts. */
import { createHmac, randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { adminCaller } from '../../support/admin.ts'
import { aClientHost } from '../../support/client-host.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { type Grantor, TEST_SECRET } from '../../support/start.ts'
import { ConsoleBrowser, hiddenFields } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const SECRET = new Uint8Array(32).fill(7)
const URL_OF_RECEIVER = 'https://siem.example.com/grantor?token=abc'
type WebhookJson = { webhook_id: string }

test('An owner adds a webhook in the console, reads its secret once, changes the webhook, and deletes it', async ({
  grantor,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const path = '/console/webhooks/new'
  const form = hiddenFields(await browser.get(path))
  const question = await browser.post(path, { ...form, url: URL_OF_RECEIVER, events: '' })
  expect(question.body).toContain('It sends every new line of the audit trail to siem.example.com.')
  const shown = await browser.post(path, hiddenFields(question))
  const [, secret = ''] = /id="webhook-secret">(whsec_[^<]+)</.exec(shown.body) ?? []
  expect(secret.length).toBeGreaterThan(40)
  const [webhook] = await grantor.store.webhooks.listWebhooks()
  const page = await browser.get(`/console/webhooks/${webhook?.id}`)
  expect(page.body).toContain('delivers')
  expect(page.body).not.toContain(secret)
  const change = `/console/webhooks/${webhook?.id}/change`
  const changing: Record<string, string> = {
    ...hiddenFields(await browser.get(change)),
    url: URL_OF_RECEIVER,
    events: 'grant_ended',
  }
  const asked = hiddenFields(await browser.post(change, { ...changing, etag: decoded(changing.etag) }))
  await browser.post(change, { ...asked, etag: decoded(asked.etag) })
  expect(await grantor.store.webhooks.listWebhooks()).toEqual([{ ...webhook, events: ['grant_ended'] }])
  const deletion = `/console/webhooks/${webhook?.id}/delete`
  await browser.post(deletion, hiddenFields(await browser.get(deletion)))
  expect((await browser.get('/console/webhooks')).body).toContain('There is no webhook.')
})

test('The pages of a webhook and of its operations name the webhook by its URL', async ({ grantor, owner }) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const created = await owner.call('POST', '/v1/webhooks', { url: URL_OF_RECEIVER })
  const path = `/console/webhooks/${(created.json().webhook as WebhookJson).webhook_id}`
  expect((await browser.get(path)).body).toContain(`<h1><bdi>${URL_OF_RECEIVER}</bdi></h1>`)
  for (const page of ['/console/webhooks', `${path}/replay`, `${path}/delete`])
    expect([page, (await browser.get(page)).body]).toEqual([page, expect.stringContaining(URL_OF_RECEIVER)])
})

/** The value of a hidden field. */
function decoded(html = ''): string {
  return html.replaceAll('&quot;', '"')
}

/** A webhook at a receiver on this machine, with a secret that the test has. */
async function webhookAt(grantor: Grantor, url: string, events: string[] = []): Promise<{ id: string; path: string }> {
  const id = randomUUID()
  const secret = Buffer.from(createKeyWrap(TEST_SECRET).wrap(SECRET, id, 'webhook')).toString('base64url')
  const { seq: cursor } = await grantor.store.audit.readHead()
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  await grantor.store.webhooks.insertWebhook({ id, url, secret, events, createdAt: grantor.clock.at, ...progress })
  onTestFinished(async () => void (await grantor.store.webhooks.deleteWebhook(id)))
  return { id, path: `/v1/webhooks/${id}` }
}

test('A test is a signed message of its own type, is sent also to a paused webhook, and is in the log; its place in the trail stays', async ({
  grantor,
  owner,
}) => {
  const host = await aClientHost((_, response) => response.writeHead(202).end())
  const { id, path } = await webhookAt(grantor, `${host.origin}/hook?token=abc`)
  await owner.call('POST', `${path}/pause`)
  const present = async () => (await grantor.store.webhooks.listWebhooks()).find((each) => each.id === id)
  const before = await present()
  const tested = await owner.call('POST', `${path}/test`)
  const delivery = { line: null, event: 'webhook_test', attempt: 1, result: 'accepted', status: 202, failure: null }
  expect([tested.status, tested.json()]).toMatchObject([200, { ...delivery, at: grantor.clock.at, next_attempt_at: null }])
  const [{ headers, body } = { headers: {} as Record<string, string>, body: '' }] = host.requests
  const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.')
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', SECRET).update(content).digest('base64')}`)
  const data = { id: headers['webhook-id'], at: grantor.clock.at, event: 'webhook_test', webhook_id: id }
  expect(JSON.parse(body)).toEqual({ type: 'webhook_test', timestamp: expect.any(String), data })
  expect(await present()).toEqual(before)
  host.answer = (_, response) => response.writeHead(500).end('whsec_of_the_receiver')
  expect((await owner.call('POST', `${path}/test`)).json()).toMatchObject({
    result: 'failed',
    status: 500,
    failure: 'status_500',
  })
  const log = await owner.call('GET', `/v1/deliveries?webhook_id=${id}`)
  expect(log.json()).toMatchObject({ items: [{ failure: 'status_500' }, delivery] })
  expect(log.body).not.toContain('whsec_')
  const acts = grantor.events.filter(({ event }) => event === 'webhook_tested')
  expect(acts).toMatchObject([{ result: 'accepted' }, { result: 'status_500' }])
  expect(JSON.stringify(acts)).not.toContain('token=abc')
})

test('The log has the time of the next attempt at the newest failure, and not if the webhook is paused', async ({
  grantor,
  owner,
}) => {
  const host = await aClientHost((_, response) => response.writeHead(500).end())
  const { id, path } = await webhookAt(grantor, host.origin)
  const other = await webhookAt(grantor, URL_OF_RECEIVER)
  await owner.call('POST', `${other.path}/pause`)
  await grantor.webhooks.deliver()
  await grantor.webhooks.settle()
  await owner.call('POST', `${path}/test`)
  const next = async () => {
    const { items } = (await owner.call('GET', `/v1/deliveries?webhook_id=${id}`)).json() as { items: Record<string, unknown>[] }
    return items.map((item) => item.next_attempt_at)
  }
  expect(await next()).toEqual([null, grantor.clock.at + 5])
  await owner.call('POST', `${path}/pause`)
  expect(await next()).toEqual([null, null])
})

test('Tests of a receiver that hangs are bounded: four wait, a further one is refused, and the lines of other webhooks are delivered', async ({
  grantor,
  owner,
}) => {
  const hanging = await aClientHost(() => undefined)
  const healthy = await aClientHost((_, response) => response.end())
  const { path } = await webhookAt(grantor, hanging.origin)
  const tests = Array.from({ length: 4 }, async () => owner.call('POST', `${path}/test`))
  await expect.poll(() => hanging.requests).toHaveLength(4)
  const refused = await owner.call('POST', `${path}/test`)
  expect([refused.status, refused.json()]).toMatchObject([409, { code: 'conflict' }])
  await owner.call('POST', `${path}/pause`)
  await webhookAt(grantor, healthy.origin)
  await owner.call('POST', `${path}/resume`)
  await grantor.webhooks.deliver()
  await expect.poll(() => healthy.requests.length).toBeGreaterThan(0)
  await hanging.close()
  expect((await Promise.all(tests)).map((answer) => answer.json().failure)).toEqual(Array(4).fill('unreachable'))
  await grantor.webhooks.settle()
})

test('The pages of a webhook have the lines that were not delivered, and those that the trail no longer has', async ({
  grantor,
  owner,
}) => {
  const { id, path } = await webhookAt(grantor, URL_OF_RECEIVER, ['webhook_resumed'])
  const { seq: start } = await grantor.store.audit.readHead()
  for (const verb of ['pause', 'resume', 'pause']) await owner.call('POST', `${path}/${verb}`)
  await grantor.store.audit.deleteLines(start + 1, start + 1)
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const page = (await browser.get(`/console/webhooks/${id}`)).body
  expect(page).toContain(`1 line, from line ${start + 2} to line `)
  expect(page).toContain('Nothing was sent yet.')
  const question = (await browser.get(`/console/webhooks/${id}/resume`)).body
  expect(question).toMatch(/It sends 1 line to siem\.example\.com now\.[^]*1 line before them cannot be sent/)
})
