/** The rules of webhooks. What is sent to them: packages/server/test/http/auth/audit/webhooks.test.ts. */
import { expect } from 'vitest'
import { WEBHOOKS_AT_MOST } from '../../../src/domain/model/webhook-store.ts'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { expectFault, NOW, type Operations, SECRET, test } from './on-store.ts'

const RECEIVER = 'https://siem.example.com/grantor?token=abc'
const AUDITOR = { id: 'auditor', role: 'auditor' } as const

async function createWebhook({ output }: Operations, more: object = {}): Promise<{ id: string; secret: string }> {
  const { webhook, secret } = await output('createWebhook', { input: { url: RECEIVER, ...more } })
  return { id: (webhook as { webhook_id: string }).webhook_id, secret: secret as string }
}

test('A new webhook has each event once and begins with the next line, and its secret is returned once and stored wrapped', async ({
  operations,
}) => {
  const { id, secret } = await createWebhook(operations, { events: ['grant_ended', 'grant_ended'] })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const [stored] = await operations.store.webhooks.listWebhooks()
  const opened = createKeyWrap(SECRET).unwrap(Buffer.from(stored?.secret ?? '', 'base64url'), id, 'webhook')
  expect(`whsec_${Buffer.from(opened ?? []).toString('base64')}`).toBe(secret)
  const read = await operations.output('getWebhook', { id })
  expect(read).toMatchObject({ webhook_id: id, url: RECEIVER, events: ['grant_ended'], delivered_through: 0, paused_at: null })
  const { items } = await operations.output('listWebhooks')
  expect(items).toEqual([read])
  expect(JSON.stringify(read)).not.toContain('whsec_')
})

test.for<[url: string, words: string]>([
  ['http://siem.example.com/', 'URL is plain http outside loopback; use https.'],
  ['http://127.0.0.1:8080/hook', 'URL is plain http; grantor serve sends to https addresses only.'],
  ['ftp://siem.example.com/', 'URL '],
  ['https://user:password@siem.example.com/', 'URL '],
  ['nonsense', 'URL '],
  ['https://10.0.0.5/hook', 'URL is an address of a private network'],
  ['https://127.0.0.1/hook', 'URL is an address of a private network'],
  ['https://[fd00::1]/hook', 'URL is an address of a private network'],
  ['https://169.254.169.254/', 'URL is an address of a private network'],
])('A webhook for the address %s is refused at its creation and at its change', async ([url, words], { operations }) => {
  await expectFault(operations, { operation: 'createWebhook', input: { url } }, ['url', words])
  const { id } = await createWebhook(operations)
  await expectFault(operations, { operation: 'updateWebhook', id, input: { url } }, ['url', words])
  expect(await operations.store.webhooks.listWebhooks()).toMatchObject([{ id, url: RECEIVER }])
})

test('A webhook for an event that no line of the trail has is refused, and the event that was meant is suggested', async ({
  operations,
}) => {
  const words = '"grant_ends" is not an event of the trail; did you mean grant_ended?'
  const input = { url: RECEIVER, events: ['grant_ends', 'client_created'] }
  await expectFault(operations, { operation: 'createWebhook', input }, ['events', words])
  const { faults } = await operations.refused('createWebhook', { input: { ...input, url: 'http://siem.example.com/' } })
  expect(faults).toHaveLength(2)
  expect(await operations.store.webhooks.listWebhooks()).toEqual([])
})

test('The number of webhooks is bounded', async ({ operations }) => {
  for (let n = 0; n < WEBHOOKS_AT_MOST; n++) await createWebhook(operations)
  expect(await operations.refused('createWebhook', { input: { url: RECEIVER } })).toMatchObject({ code: 'conflict' })
})

test('A change of a webhook keeps what is not given, its secret and its place, also if lines were delivered meanwhile', async ({
  operations,
}) => {
  const { store, call, output, refused, acts } = operations
  const { id } = await createWebhook(operations, { events: ['grant_ended'] })
  const [before] = await store.webhooks.listWebhooks()
  const progress = { cursor: 1, failingSince: 2, nextAt: 3, pausedAt: null }
  await store.webhooks.moveWebhook({ id, url: RECEIVER }, before?.cursor ?? 0, progress)
  const url = 'https://other.example.com/'
  expect(await output('updateWebhook', { id, input: { url } })).toMatchObject({ url, events: ['grant_ended'] })
  expect(await output('updateWebhook', { id, input: { events: ['key_made', 'key_made'] } })).toMatchObject({
    events: ['key_made'],
  })
  expect(await store.webhooks.listWebhooks()).toEqual([{ ...before, ...progress, url, events: ['key_made'] }])
  expect(await output('updateWebhook', { id, input: { events: [] } })).toMatchObject({ url, events: [] })
  // A change to the present value is no change.
  expect((await call('updateWebhook', { id, input: { url } })).act).toBeUndefined()
  expect(acts.filter(({ event }) => event === 'webhook_changed')).toHaveLength(3)
  expect((await refused('updateWebhook', { id, input: { url }, match: '"another"' })).code).toBe('changed_meanwhile')
})

test('A webhook is replayed, paused, resumed and deleted, and each act is recorded once without the query of the address', async ({
  operations,
}) => {
  const { store, call, output, acts } = operations
  const { id } = await createWebhook(operations)
  await createWebhook(operations)
  await call('replayWebhook', { id, input: { line: 1 } })
  const stored = async () => (await store.webhooks.listWebhooks()).find((each) => each.id === id)
  expect((await stored())?.cursor).toBe(0)
  for (const _ of [1, 2]) await call('pauseWebhook', { id })
  expect(await output('getWebhook', { id })).toMatchObject({
    paused_at: NOW,
    first_waiting_line: 1,
    last_line: 4,
    waiting_lines: 4,
  })
  for (const _ of [1, 2]) await call('resumeWebhook', { id })
  expect(await stored()).toMatchObject({ pausedAt: null, cursor: 0 })
  await call('deleteWebhook', { id })
  expect(await store.webhooks.listWebhooks()).toHaveLength(1)
  const events = ['created', 'created', 'replayed', 'paused_by_operator', 'resumed', 'deleted']
  expect(acts.map(({ event }) => event)).toEqual(events.map((event) => `webhook_${event}`))
  expect(JSON.stringify(acts)).toContain('siem.example.com')
  expect(JSON.stringify(acts)).not.toContain('token=abc')
})

test('A webhook is not replayed from a line that the trail does not have yet', async ({ operations }) => {
  const { id } = await createWebhook(operations)
  const operation = 'replayWebhook'
  await expectFault(operations, { operation, id, input: { line: 1_000_000 } }, ['line', 'The last line is 1.'])
  await expectFault(operations, { operation, id, input: {} }, [null, 'line'])
})

test.for<[operation: string, input: object]>([
  ['getWebhook', {}],
  ['updateWebhook', { events: [] }],
  ['testWebhook', {}],
  ['pauseWebhook', {}],
  ['resumeWebhook', {}],
  ['replayWebhook', { line: 1 }],
  ['deleteWebhook', {}],
  ['listDeliveries', { webhook_id: 'unknown' }],
])('The operation %s reports that there is no such webhook', async ([operation, input], { operations }) => {
  await createWebhook(operations)
  expect(await operations.refused(operation, { id: 'unknown', input: { ...input } })).toMatchObject({ code: 'not_found' })
})

test('An auditor reads the host of a webhook, and not the path and the query, which may be a secret of the receiver', async ({
  operations,
}) => {
  const { output, refused } = operations
  const url = `${RECEIVER}/T0123?key=of-the-receiver`
  const { id } = await createWebhook(operations, { url })
  const shown = `${new URL(url).origin}/…`
  expect(await output('getWebhook', { id, as: AUDITOR })).toMatchObject({ url: shown })
  expect(await output('listWebhooks', { as: AUDITOR })).toMatchObject({ items: [{ url: shown }] })
  expect(await output('listWebhooks', { as: AUDITOR, input: { search: 'of-the-receiver' } })).toMatchObject({ items: [] })
  expect(await output('getWebhook', { id })).toMatchObject({ url })
  await expect(refused('createWebhook', { as: AUDITOR, input: { url } })).rejects.toThrow('insufficient_scope')
})

test('A webhook has the first and the last line that were not delivered, their number, and the number of lines that the trail no longer has', async ({
  operations,
}) => {
  const { store, call, output } = operations
  const { id } = await createWebhook(operations, { events: ['webhook_resumed'] })
  await call('replayWebhook', { id, input: { line: 1 } })
  const { seq } = await store.audit.readHead()
  await store.webhooks.changeWebhook(id, (webhook) => ({ ...webhook, cursor: seq }))
  const read = () => output('getWebhook', { id })
  expect(await read()).toMatchObject({ first_waiting_line: null, waiting_lines: 0, deleted_lines: 0 })
  for (const verb of ['pause', 'resume', 'pause']) await call(`${verb}Webhook`, { id })
  const waiting = { last_line: seq + 3, waiting_lines: 1 }
  expect(await read()).toMatchObject({ ...waiting, first_waiting_line: seq + 1, deleted_lines: 0 })
  await store.audit.deleteLines(seq + 1, seq + 1)
  expect(await read()).toMatchObject({ ...waiting, first_waiting_line: seq + 2, deleted_lines: 1 })
})

test('A test of a webhook with an address that is not public sends nothing, and the delivery log and the trail have the result without a secret', async ({
  operations,
}) => {
  const { output, acts } = operations
  const { id, secret } = await createWebhook(operations)
  await output('updateWebhook', { id, input: { url: 'https://localhost/hook?token=abc' } })
  const log = () => output('listDeliveries', { input: { webhook_id: id } })
  expect(await log()).toEqual({ items: [] })
  const attempt = { line: null, event: 'webhook_test', attempt: 1, result: 'failed', status: null, failure: 'address_not_public' }
  expect(await output('testWebhook', { id })).toMatchObject(attempt)
  expect(await log()).toMatchObject({ items: [{ ...attempt, next_attempt_at: null }] })
  expect(acts.at(-1)).toMatchObject({ event: 'webhook_tested', details: { result: 'address_not_public' } })
  const told = JSON.stringify([await log(), acts])
  expect([told.includes('token=abc'), told.includes(secret)]).toEqual([false, false])
})
