import { expect } from 'vitest'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

type Line = { seq: number; event: string; client_id?: string; operator?: string }

test('GET /v1/audit finds the acts of an operator by client and event, newest first, page by page', async ({ owner }) => {
  const created = await owner.call('POST', '/v1/clients', { name: 'Searched', redirect_uris: ['https://a.example.net/callback'] })
  const { client_id: id } = created.json().client as { client_id: string }
  for (const name of ['Two', 'Three']) await owner.call('PATCH', `/v1/clients/${id}`, { name })
  const first = (await owner.call('GET', `/v1/audit?client_id=${id}&limit=2`)).json() as { items: Line[]; next: string }
  expect(first.items.map(({ event }) => event)).toEqual(['client_changed', 'client_changed'])
  const second = (await owner.call('GET', `/v1/audit?client_id=${id}&limit=2&after=${first.next}`)).json()
  expect(second).toMatchObject({ items: [{ event: 'client_created', operator: owner.client.id, client_id: id }], next: null })
  const narrowed = (await owner.call('GET', `/v1/audit?client_id=${id}&event=client_created&operator=${owner.client.id}`)).json()
  expect(narrowed.items).toHaveLength(1)
})

test('GET /v1/audit needs the scope admin.audit, and refuses a faulty address and the cursor of another list', async ({
  grantor,
  owner,
}) => {
  const reader = await adminCaller(grantor, 'owner', ['admin.read'])
  expect((await reader.call('GET', '/v1/audit')).status).toBe(403)
  expect((await owner.call('GET', '/v1/audit?wallet=0xF39fd6e51aad88f6f4ce6ab8827279cfffb92266')).status).toBe(422)
  const { next } = (await owner.call('GET', '/v1/clients?limit=1')).json()
  expect((await owner.call('GET', `/v1/audit?after=${String(next)}`)).status).toBe(422)
})

test('GET /v1/audit searches by time: since is the first second, until is the second after the last', async ({
  grantor,
  owner,
}) => {
  const client = await owner.call('POST', '/v1/clients', { name: 'Timed', redirect_uris: ['https://a.example.net/callback'] })
  const { client_id: id } = client.json().client as { client_id: string }
  const at = grantor.clock.now()
  const found = async (times: string) =>
    ((await owner.call('GET', `/v1/audit?client_id=${id}&${times}`)).json() as { items?: Line[] }).items?.length
  expect([await found(`since=${at}`), await found(`since=${at + 1}`)]).toEqual([1, 0])
  expect([await found(`until=${at + 1}`), await found(`until=${at}`)]).toEqual([1, 0])
  expect((await owner.call('GET', `/v1/audit?since=${'9'.repeat(13)}`)).status).toBe(422)
})
