/** Webhooks in the file of apply and export. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { newDatabase, newFolder, type Ran, run } from '../run.ts'

const SIEM = 'https://siem.example.com/grantor'
const OTHER = 'https://other.example.com/grantor'

let env: Record<string, string>
let file: string
beforeEach(async () => {
  env = { ...(await newDatabase()).env, GRANTOR_SECRET: 'test-secret-that-wraps-the-keys-0123456789' }
  file = join(newFolder(), 'grantor.yaml')
})

async function apply(webhooks: object[], ...options: string[]): Promise<Ran> {
  writeFileSync(file, JSON.stringify({ webhooks }))
  return run(['apply', file, ...options], env)
}

async function listed(): Promise<{ webhook_id: string; url: string; events: string[] }[]> {
  return JSON.parse((await run(['webhooks', 'list', '--json'], env)).out) as Awaited<ReturnType<typeof listed>>
}

test('apply creates a webhook with each of its events once and prints the secret once, and a second run changes nothing', async () => {
  const created = await apply([{ url: SIEM, events: ['grant_ended', 'grant_ended'] }], '--yes')
  expect([created.exit, created.err]).toEqual([0, ''])
  const [webhook] = await listed()
  expect(webhook).toMatchObject({ url: SIEM, events: ['grant_ended'] })
  expect(created.out).toContain(`create webhook "${SIEM}" (${webhook?.webhook_id})\n  gets a webhook secret\n`)
  expect(created.out.match(/shown only once: whsec_[A-Za-z0-9+/]{43}=\n/g)).toHaveLength(1)
  const again = await apply([{ url: SIEM, events: ['grant_ended'] }], '--yes')
  expect(again).toEqual({ exit: 0, out: 'Nothing to change: 1 unchanged.\n', err: '' })
})

test('apply changes the events of a webhook of the same address, and the address of a webhook of the same id, and makes no secret', async () => {
  await apply([{ url: SIEM }], '--yes')
  const narrowed = await apply([{ url: SIEM, events: ['grant_ended'] }], '--yes')
  expect(narrowed.out).toContain('  events: adds "grant_ended"\n')
  const [{ webhook_id } = { webhook_id: '' }] = await listed()
  const moved = await apply([{ webhook_id, url: OTHER, events: ['grant_ended'] }], '--yes')
  expect(moved.out).toContain(`  url: "${SIEM}" → "${OTHER}"\n`)
  expect(narrowed.out + moved.out).not.toContain('secret')
  expect(await listed()).toMatchObject([{ webhook_id, url: OTHER, events: ['grant_ended'] }])
})

test('export has the webhooks without their secrets, and apply of that file changes nothing', async () => {
  await apply([{ url: SIEM, events: ['grant_ended'] }, { url: OTHER }], '--yes')
  const { out } = await run(['export', '--json'], env)
  const { webhooks } = JSON.parse(out) as { webhooks: object[] }
  const ids = (await listed()).map(({ webhook_id, url }) => ({ webhook_id, url }))
  expect(webhooks).toEqual(ids.map((webhook) => (webhook.url === SIEM ? { ...webhook, events: ['grant_ended'] } : webhook)))
  expect((await apply(webhooks, '--yes', '--prune')).out).toBe('Nothing to change: 2 unchanged.\n')
})

test('apply --prune deletes a webhook that the file does not name, unless the webhook changed after the plan', async () => {
  await apply([{ url: SIEM }, { url: OTHER }], '--yes')
  const other = (await listed()).find(({ url }) => url === OTHER)
  const narrow = async () => {
    await run(['webhooks', 'update', other?.webhook_id ?? '', '--event', 'grant_ended'], env)
    return 'yes'
  }
  writeFileSync(file, JSON.stringify({ webhooks: [{ url: SIEM }] }))
  const stopped = await run(['apply', file, '--prune'], env, undefined, narrow)
  expect([stopped.exit, stopped.err]).toEqual([1, expect.stringContaining('it was changed meanwhile')])
  expect(await listed()).toHaveLength(2)
  expect((await apply([{ url: SIEM }], '--yes', '--prune')).out).toContain(`delete webhook "${OTHER}"`)
  expect(await listed()).toMatchObject([{ url: SIEM }])
})

test.each([
  ['The webhook is named twice', [{ url: SIEM }, { url: SIEM }]],
  ['webhook_id must be a UUID in lower case', [{ webhook_id: 'mine', url: SIEM }]],
])('apply refuses a file with the fault "%s", and adds no webhook', async (fault, webhooks) => {
  expect(await apply(webhooks, '--yes')).toMatchObject({ exit: 2, err: expect.stringContaining(fault) })
  expect(await listed()).toEqual([])
})
