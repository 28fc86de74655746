import { beforeEach, expect, test } from 'vitest'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newDatabase, run } from '../run.ts'

const SECRET = 'test-secret-that-wraps-the-keys-0123456789'
const NEW_SECRET = 'another-secret-that-wraps-the-keys-98765432'
const URL_OF_RECEIVER = 'https://siem.example.com/grantor?token=abc'

let env: Record<string, string>
let path: string
beforeEach(async () => {
  const database = await newDatabase()
  path = database.path
  env = { ...database.env, GRANTOR_SECRET: SECRET }
})

type Created = { webhook_id: string; url: string; events: string[]; secret: string }
async function create(...options: string[]): Promise<Created> {
  return JSON.parse((await run(['webhooks', 'create', URL_OF_RECEIVER, '--json', ...options], env)).out) as Created
}

async function stored() {
  const store = openSqliteStore(path)
  const webhooks = await store.webhooks.listWebhooks()
  await store.close()
  return webhooks
}

test('webhooks create --json prints the secret and four members, and webhooks list prints a table, and as JSON no secret', async () => {
  expect(await create('--event', 'grant_ended')).toEqual({
    webhook_id: expect.any(String),
    url: URL_OF_RECEIVER,
    events: ['grant_ended'],
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  })
  expect((await run(['webhooks', 'list'], env)).out).toMatch(
    /^WEBHOOK_ID +STATE +LINES TO GO +EVENTS +URL +CREATED\n\S+ +delivers +0 +grant_ended +https/,
  )
  expect((await run(['webhooks', 'list', '--json'], env)).out).not.toContain('secret')
})

test('The options of webhooks update change the address and the events, and --every-event removes the events', async () => {
  const { webhook_id: id } = await create('--event', 'grant_ended')
  const [before] = await stored()
  const url = 'https://other.example.com/grantor'
  const updated = await run(['webhooks', 'update', id, '--url', url], env)
  expect([updated.exit, updated.out]).toEqual([0, expect.stringContaining(url)])
  expect((await run(['webhooks', 'update', id, '--every-event'], env)).exit).toBe(0)
  expect(await stored()).toEqual([{ ...before, url, events: [] }])
  expect((await run(['webhooks', 'update', id, '--event', 'key_made'], env)).exit).toBe(0)
  expect(await stored()).toEqual([{ ...before, url, events: ['key_made'] }])
})

test('webhooks show prints since when a webhook is paused, and the lines that were not delivered', async () => {
  const { webhook_id: id } = await create()
  await create()
  await run(['webhooks', 'replay', id, '--line', '1'], env)
  await run(['webhooks', 'pause', id], env)
  expect((await run(['webhooks', 'show', id], env)).out).toMatch(
    /state +paused since .*\n[^]*not delivered +4 lines, from line 1 to line 4/,
  )
})

test('keys rewrap wraps the secrets of webhooks with the new secret of the service', async () => {
  const created = await create()
  const both = { ...env, GRANTOR_SECRET: NEW_SECRET, GRANTOR_SECRET_PREVIOUS: SECRET }
  expect((await run(['keys', 'rewrap'], both)).exit).toBe(0)
  const [webhook] = await stored()
  const opened = createKeyWrap(NEW_SECRET).unwrap(Buffer.from(webhook?.secret ?? '', 'base64url'), created.webhook_id, 'webhook')
  expect(`whsec_${Buffer.from(opened ?? []).toString('base64')}`).toBe(created.secret)
})

test('webhooks test prints the result, and deliveries list prints the delivery log as a table and as JSON', async () => {
  const { webhook_id: id } = await create()
  await run(['webhooks', 'update', id, '--url', 'https://localhost/hook?token=abc'], env)
  const log = ['deliveries', 'list', '--webhook', id]
  expect((await run(log, env)).out).toBe('Nothing was sent yet.\n')
  // The address is not public, so no request is sent.
  expect((await run(['webhooks', 'test', id], env)).out).toMatch(/^Not accepted after \d+ ms: address_not_public\.\n$/)
  expect((await run(log, env)).out).toMatch(
    /^TIME +LINE +EVENT +ATTEMPT +RESPONSE +TOOK +NEXT ATTEMPT\n\S+ +test +webhook_test +1 +address_not_public +\d+ ms +-\n$/,
  )
  const json = JSON.parse((await run([...log, '--json'], env)).out)
  expect(json).toMatchObject([{ line: null, event: 'webhook_test', attempt: 1, result: 'failed', status: null }])
})
