/** Clients, through the admin API. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { addJob } from '../../../src/domain/operators/jobs.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const NEW = { name: 'Notes', redirect_uris: ['https://notes.example.net/callback'] }
type ClientJson = { client_id: string; disabled: boolean; name: string }
const clientIn = (answer: { json(): Record<string, unknown> }) => answer.json().client as ClientJson

test('The ETag of a client is that of its creation while the client stays the same', async ({ owner }) => {
  const created = await owner.call('POST', '/v1/clients', NEW)
  const read = await owner.call('GET', `/v1/clients/${clientIn(created).client_id}`)
  expect(read.json().client).toEqual(created.json().client)
  expect(read.headers.etag).toBe(created.headers.etag)
})

test('A change with an outdated ETag is refused, and changes nothing (RFC 9110 §13.1.1)', async ({ owner }) => {
  const created = await owner.call('POST', '/v1/clients', NEW)
  const path = `/v1/clients/${clientIn(created).client_id}`
  const etag = String(created.headers.etag)
  const changed = await owner.call('PATCH', path, { name: 'First' }, { 'if-match': etag })
  expect(changed.status).toBe(200)
  const late = await owner.call('PATCH', path, { name: 'Second' }, { 'if-match': etag })
  expect([late.status, late.json().code]).toEqual([412, 'changed_meanwhile'])
  expect(clientIn(await owner.call('GET', path)).name).toBe('First')
  expect((await owner.call('PATCH', path, { name: 'Second' }, { 'if-match': String(changed.headers.etag) })).status).toBe(200)
})

test('A registration that is repeated with one Idempotency-Key creates one client and returns the same secret', async ({
  owner,
}) => {
  const headers = { 'idempotency-key': randomUUID() }
  const answers = await Promise.all(Array.from({ length: 5 }, () => owner.call('POST', '/v1/clients', NEW, headers)))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 201])
  const [first] = answers
  for (const answer of answers) expect(answer.json()).toEqual(first?.json())
  const other = await owner.call('POST', '/v1/clients', { ...NEW, name: 'Another' }, headers)
  expect([other.status, other.json().code]).toEqual([422, 'idempotency_key_reused'])
})

test('All faults of a request are listed, those of the schema and those of the rules', async ({ owner }) => {
  const unknown = await owner.call('POST', '/v1/clients', { name: 5, unknown: true })
  expect(unknown.status).toBe(422)
  expect(unknown.json().faults).toEqual(expect.arrayContaining([expect.stringContaining('name in the body')]))
  const faulty = await owner.call('POST', '/v1/clients', { name: ' ', redirect_uris: ['http://evil.example.net/#x'] })
  expect(faulty.json()).toMatchObject({ code: 'invalid_request', faults: [expect.stringContaining('name'), expect.anything()] })
})

test('A deleted client is disabled at once, and a job ends its grants and removes it', async ({ owner, grantor }) => {
  const id = clientIn(await owner.call('POST', '/v1/clients', NEW)).client_id
  const answer = await owner.call('DELETE', `/v1/clients/${id}`)
  expect(answer.status).toBe(202)
  expect(clientIn(await owner.call('GET', `/v1/clients/${id}`)).disabled).toBe(true)
  await grantor.workOnJobs()
  const job = await owner.call('GET', String(answer.headers.location))
  expect(job.json()).toMatchObject({ kind: 'delete_client', client_id: id, grants_ended: 0, done_at: grantor.clock.now() })
  expect((await owner.call('GET', `/v1/clients/${id}`)).status).toBe(404)
})

test('A deletion that is refused because too many jobs are under way leaves the client as it was', async ({ owner, grantor }) => {
  const id = clientIn(await owner.call('POST', '/v1/clients', NEW)).client_id
  const at = grantor.clock.now()
  const add = () => addJob(grantor.store, { kind: 'delete_client', clientId: randomUUID(), startedBy: owner.client.id }, at)
  while (await add());
  const answer = await owner.call('DELETE', `/v1/clients/${id}`)
  expect([answer.status, answer.json().code]).toEqual([409, 'conflict'])
  expect(clientIn(await owner.call('GET', `/v1/clients/${id}`)).disabled).toBe(false)
  await grantor.workOnJobs()
})

test('Clients are listed page by page, each once', async ({ owner, grantor }) => {
  for (let n = 0; n < 5; n++) await grantor.createClient()
  const seen: string[] = []
  for (let path: string | null = '/v1/clients?limit=2'; path !== null; ) {
    const { items, next } = (await owner.call('GET', path)).json() as { items: ClientJson[]; next: string | null }
    seen.push(...items.map(({ client_id: id }) => id))
    path = next === null ? null : `/v1/clients?limit=2&after=${next}`
  }
  const all = await grantor.store.clients.listClients()
  expect(seen).toEqual(all.map(({ id }) => id).sort())
  expect((await owner.call('GET', '/v1/clients?after=x')).status).toBe(422)
  expect((await owner.call('GET', '/v1/clients?limit=0')).status).toBe(422)
})
