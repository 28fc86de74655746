import { beforeEach, expect, test } from 'vitest'
import { createKeyWrap } from '../../../src/keys/key-wrap.ts'
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

test('webhooks create prints the secret once, and the database has it wrapped only', async () => {
  const created = await create('--event', 'grant_ended', '--event', 'grant_ended')
  expect(created).toEqual({
    webhook_id: expect.any(String),
    url: URL_OF_RECEIVER,
    events: ['grant_ended'],
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  })
  const [webhook] = await stored()
  const opened = createKeyWrap(SECRET).unwrap(Buffer.from(webhook?.secret ?? '', 'base64url'), created.webhook_id, 'webhook')
  expect(`whsec_${Buffer.from(opened ?? []).toString('base64')}`).toBe(created.secret)
  expect((await run(['webhooks', 'list'], env)).out).toMatch(
    /^WEBHOOK_ID +STATE +LINES TO GO +EVENTS +URL +CREATED\n\S+ +delivers +0 +grant_ended +https/,
  )
  expect((await run(['webhooks', 'list', '--json'], env)).out).not.toContain('secret')
})

test('webhooks update changes the address and the events that are named, and keeps the secret', async () => {
  const { webhook_id: id } = await create('--event', 'grant_ended')
  const [before] = await stored()
  const url = 'https://other.example.com/grantor'
  const updated = await run(['webhooks', 'update', id, '--url', url], env)
  expect([updated.exit, updated.out]).toEqual([0, expect.stringContaining(url)])
  expect(await stored()).toEqual([{ ...before, url }])
  expect((await run(['webhooks', 'update', id, '--every-event'], env)).exit).toBe(0)
  expect(await stored()).toEqual([{ ...before, url, events: [] }])
  expect((await run(['webhooks', 'update', id, '--event', 'key_made'], env)).exit).toBe(0)
  expect(await stored()).toEqual([{ ...before, url, events: ['key_made'] }])
  expect(await run(['webhooks', 'update', id, '--event', 'no_event'], env)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('not an event of the trail'),
  })
})

test('webhooks replay moves the cursor, pause and resume change the state once, delete removes the webhook, and each command writes a line without the query of the address', async () => {
  const { webhook_id: id } = await create()
  await create()
  expect((await run(['webhooks', 'replay', id, '--line', '1'], env)).exit).toBe(0)
  expect((await stored()).find((each) => each.id === id)?.cursor).toBe(0)
  for (const verb of ['pause', 'pause']) expect((await run(['webhooks', verb, id], env)).out).toBe('Paused.\n')
  expect((await run(['webhooks', 'show', id], env)).out).toMatch(
    /state +paused since .*\n[^]*not delivered +4 lines, from line 1 to line 4/,
  )
  for (const verb of ['resume', 'resume']) expect((await run(['webhooks', verb, id], env)).out).toBe('Resumed.\n')
  // A change to the present value is no change, and writes no line.
  expect((await run(['webhooks', 'update', id, '--url', URL_OF_RECEIVER], env)).exit).toBe(0)
  expect((await run(['webhooks', 'delete', id], env)).exit).toBe(0)
  expect(await stored()).toHaveLength(1)
  const { out } = await run(['audit', 'list', '--json'], env)
  const events = out
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { event: string }).event)
  expect(events).toEqual([
    'webhook_deleted',
    'webhook_resumed',
    'webhook_paused_by_operator',
    'webhook_replayed',
    'webhook_created',
    'webhook_created',
  ])
  expect(out).toContain('siem.example.com')
  expect(out).not.toContain('token=abc')
  for (const argv of [
    ['pause', id],
    ['test', id],
    ['resume', id],
    ['delete', id],
    ['replay', id, '--line', '1'],
    ['replay', id],
    ['replay', id, '--line', '99'],
  ])
    expect((await run(['webhooks', ...argv], env)).exit).toBeGreaterThan(0)
})

test.each(['http://siem.example.com/', 'ftp://siem.example.com/', 'https://user:password@siem.example.com/', 'nonsense'])(
  'webhooks create refuses the address %s',
  async (url) => {
    expect(await run(['webhooks', 'create', url], env)).toMatchObject({ exit: 2, err: expect.stringContaining('URL') })
    expect(await stored()).toEqual([])
  },
)

test('keys rewrap wraps the secrets of webhooks with the new secret of the service', async () => {
  const created = await create()
  const both = { ...env, GRANTOR_SECRET: NEW_SECRET, GRANTOR_SECRET_PREVIOUS: SECRET }
  expect((await run(['keys', 'rewrap'], both)).exit).toBe(0)
  const [webhook] = await stored()
  const opened = createKeyWrap(NEW_SECRET).unwrap(Buffer.from(webhook?.secret ?? '', 'base64url'), created.webhook_id, 'webhook')
  expect(`whsec_${Buffer.from(opened ?? []).toString('base64')}`).toBe(created.secret)
})

test('webhooks create refuses an event that no line of the trail has, and suggests the event that was meant', async () => {
  const { exit, err } = await run(
    ['webhooks', 'create', URL_OF_RECEIVER, '--event', 'grant_ends', '--event', 'client_created'],
    env,
  )
  expect(exit).toBe(2)
  expect(err).toContain('"grant_ends" is not an event of the trail; did you mean grant_ended?')
  expect(await stored()).toEqual([])
})

test('webhooks create refuses plain http, because grantor serve sends to https addresses only', async () => {
  const { exit, err } = await run(['webhooks', 'create', 'http://127.0.0.1:8080/hook'], env)
  expect(exit).toBe(2)
  expect(err).toContain('URL is plain http; grantor serve sends to https addresses only.')
  expect(await stored()).toEqual([])
})

test.each(['https://10.0.0.5/hook', 'https://127.0.0.1/hook', 'https://[fd00::1]/hook', 'https://169.254.169.254/'])(
  'webhooks create refuses %s, because nothing is sent to an address of a private network',
  async (url) => {
    const { exit, err } = await run(['webhooks', 'create', url], env)
    expect([exit, err]).toEqual([2, expect.stringContaining('URL is an address of a private network')])
    expect(await stored()).toEqual([])
  },
)

test('webhooks test prints the result and writes a line and the delivery log, which deliveries list prints without the secret', async () => {
  const { webhook_id: id, secret } = await create()
  await run(['webhooks', 'update', id, '--url', 'https://localhost/hook?token=abc'], env)
  const log = ['deliveries', 'list', '--webhook', id]
  expect((await run(log, env)).out).toBe('Nothing was sent yet.\n')
  // The address is not public, so no request is sent.
  expect((await run(['webhooks', 'test', id], env)).out).toMatch(/^Not accepted after \d+ ms: address_not_public\.\n$/)
  expect((await run(log, env)).out).toMatch(
    /^TIME +LINE +EVENT +ATTEMPT +RESPONSE +TOOK +NEXT ATTEMPT\n\S+ +test +webhook_test +1 +address_not_public +\d+ ms +-\n$/,
  )
  const json = (await run([...log, '--json'], env)).out
  expect(JSON.parse(json)).toMatchObject([{ line: null, event: 'webhook_test', attempt: 1, result: 'failed', status: null }])
  const trail = (await run(['audit', 'list', '--json'], env)).out
  expect(trail).toContain('"event":"webhook_tested"')
  expect(trail + json).not.toMatch(/token=abc|whsec_/)
  expect(trail + json).not.toContain(secret)
  expect((await run(['deliveries', 'list', '--webhook', 'unknown'], env)).exit).toBe(1)
  expect((await run(['deliveries', 'list'], env)).exit).toBe(2)
})
