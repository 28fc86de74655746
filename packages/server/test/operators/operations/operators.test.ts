/** The rules of operators, and what an operator may not do to the clients of others. The list itself: packages/server/test/domain/operators. */
import { expect } from 'vitest'
import type { Members } from '../../../src/operators/members/member.ts'
import { TOKEN_EXCHANGE } from '../../../src/protocol/oauth/grant-types.ts'
import { ADMIN_URL, expectFault, type Operations, test } from './on-store.ts'

const [OWNER, OTHER] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8']
const ADMIN = `${ADMIN_URL}/`
const OPERATOR = { id: OTHER, role: 'operator' } as const

async function createClient({ output }: Operations, more: Members = {}): Promise<string> {
  const input = { name: 'App', redirect_uris: ['https://app.example.net/callback'], ...more }
  const { client } = await output('createClient', { input })
  return (client as { client_id: string }).client_id
}

async function expectForbidden({ refused }: Operations, ...[operation, given]: Parameters<Operations['call']>): Promise<void> {
  const { code } = await refused(operation, { ...given, as: OPERATOR })
  expect([operation, code]).toEqual([operation, 'forbidden'])
}

test('An operator is added, gets another role, and is removed, and each act is recorded once', async ({ operations }) => {
  const { call, output, refused, acts } = operations
  await call('setOperator', { id: OWNER, input: { role: 'owner' } })
  for (const id of [OTHER.toLowerCase(), OTHER]) await call('setOperator', { id, input: { role: 'auditor' } })
  expect(await output('setOperator', { id: OTHER, input: { role: 'operator' } })).toMatchObject({
    operator: OTHER,
    role: 'operator',
  })
  await call('removeOperator', { id: OTHER })
  expect(await refused('removeOperator', { id: OTHER })).toMatchObject({ code: 'not_found' })
  expect(acts.map(({ event }) => event)).toEqual(['operator_added', 'operator_added', 'operator_changed', 'operator_removed'])
})

test('An operator is the address of a wallet or the id of a registered client', async ({ operations }) => {
  const call = { operation: 'setOperator', id: OWNER.replace('Fd6', 'fd6'), input: { role: 'owner' } }
  await expectFault(operations, call, ['operator', 'the right checksum (EIP-55)'])
  const id = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'
  expect(await operations.refused('setOperator', { id, input: { role: 'owner' } })).toMatchObject({ code: 'not_found' })
  await operations.call('setOperator', { id: await createClient(operations), input: { role: 'owner' } })
})

test('An operator cannot change operators, and so cannot become an owner', async ({ operations }) => {
  const as = OPERATOR
  for (const call of [
    operations.call('setOperator', { id: OTHER, input: { role: 'owner' }, as }),
    operations.call('removeOperator', { id: OWNER, as }),
  ])
    await expect(call).rejects.toMatchObject({ reason: 'role_not_sufficient' })
})

test('An operator cannot get the role of another operator by changing its client', async ({ operations }) => {
  const id = await createClient(operations)
  await operations.call('setOperator', { id, input: { role: 'owner' } })
  await expectForbidden(operations, 'updateClient', { id, input: { jwks_uri: 'https://evil.example.net/jwks.json', jwks: null } })
  for (const operation of ['rotateClientSecret', 'deleteClient', 'disableClient', 'removeClientLogo'])
    await expectForbidden(operations, operation, { id })
  expect(await operations.store.clients.readClient(id)).toMatchObject({ jwksUri: null, disabledAt: null })
})

const API = { resource_server: 'https://api.example.net/', redirect_uris: [] }
test.for<[what: string, more: Members]>([
  ['requests tokens of the admin API', { resources: [ADMIN], scopes: ['admin.read'] }],
  ['exchanges tokens for ones of the admin API', { ...API, exchange_resources: [ADMIN], grant_types: [TOKEN_EXCHANGE] }],
  ['is the resource server of the admin API', { ...API, resource_server: ADMIN }],
])('An operator cannot create or change a client that %s', async ([, more], { operations }) => {
  const input = { name: 'Evil', redirect_uris: ['https://evil.example.net/callback'], ...more }
  await expectForbidden(operations, 'createClient', { input })
  const own = await createClient(operations, more.resource_server ? API : {})
  const { redirect_uris: _, ...change } = more
  await expectForbidden(operations, 'updateClient', { id: own, input: change })
  const id = await createClient(operations, more)
  await expectForbidden(operations, 'updateClient', { id, input: { name: 'Evil' } })
  for (const operation of ['rotateClientSecret', 'deleteClient']) await expectForbidden(operations, operation, { id })
})
