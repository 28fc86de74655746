/** Which records are searched, sorted and filtered by which members. How: lists.test.ts. */
import { expect } from 'vitest'
import type { Members } from '../../../src/operators/members/member.ts'
import { type Operations, test } from './on-store.ts'

type Page = { items: { name: string }[]; next: unknown; previous: unknown; total: unknown }

/** The values of a member of the records in a list. */
async function valuesOf({ output }: Operations, operation: string, input: Members, member = 'name'): Promise<unknown[]> {
  const { items } = (await output(operation, { input })) as { items: Members[] }
  return items.map(({ [member]: value }) => value)
}

test('Clients are sorted, filtered and searched, are counted, and are read in both directions', async ({ operations }) => {
  const { call, output, refused } = operations
  for (const name of ['delta app', 'Bravo app', 'אפליקציה app', 'charlie app'])
    await call('createClient', { input: { name, redirect_uris: ['https://a.example.net/'] } })
  const native = { name: 'Alpha app', type: 'native', redirect_uris: ['net.example:/callback'] }
  const { client } = await output('createClient', { input: native })
  const names = (input: Members) => valuesOf(operations, 'listClients', input)
  const sorted = ['Alpha app', 'Bravo app', 'charlie app', 'delta app', 'אפליקציה app']
  expect(await names({ search: 'APP', sort: 'name' })).toEqual(sorted)
  expect(await names({ search: 'app', sort: 'name', order: 'descending' })).toEqual(sorted.toReversed())
  expect(await names({ type: 'native' })).toEqual(['Alpha app'])
  await call('disableClient', { id: (client as { client_id: string }).client_id })
  expect(await names({ state: 'disabled' })).toEqual(['Alpha app'])
  expect(await names({ search: 'app', state: 'enabled', sort: 'name' })).toEqual(sorted.slice(1))
  for (const input of [{ sort: 'secrets' }, { state: 'gone' }])
    expect(await refused('listClients', { input })).toMatchObject({ code: 'invalid_request' })

  // In the order of the ids, the store itself is read.
  for (const input of [{ search: 'app', sort: 'name' }, {}]) {
    const list = async (page: object) => (await output('listClients', { input, page: { limit: 2, ...page } })) as Page
    const first = await list({})
    expect(first).toMatchObject({ previous: null, total: { number: 5, kind: 'exact' } })
    const second = await list({ after: first.next })
    expect(second.items).toHaveLength(2)
    const back = await list({ before: second.previous })
    expect([back.items, back.previous]).toEqual([first.items, null])
  }
})

test('Resources, webhooks and operators are sorted and searched', async ({ operations }) => {
  const { call } = operations
  for (const name of ['Zeta', 'alpha']) {
    const resource = `https://${name.toLowerCase()}.example.com/`
    await call('createResource', { input: { resource, name, scopes: [{ name: 'read', description: 'read it' }] } })
  }
  const names = (input: Members) => valuesOf(operations, 'listResources', input)
  expect(await names({ sort: 'name' })).toEqual(['alpha', 'Zeta'])
  expect(await names({ sort: 'name', order: 'descending' })).toEqual(['Zeta', 'alpha'])
  expect(await names({ search: 'ZETA' })).toEqual(['Zeta'])
  const urls = ['https://a.example.com/', 'https://b.example.com/']
  for (const url of urls.toReversed()) await call('createWebhook', { input: { url } })
  expect(await valuesOf(operations, 'listWebhooks', { sort: 'url', search: 'example' }, 'url')).toEqual(urls)
  const wallets = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8']
  for (const id of wallets) await call('setOperator', { id, input: { role: 'owner' } })
  expect(await valuesOf(operations, 'listOperators', { search: '0xF39' }, 'operator')).toEqual(wallets.slice(0, 1))
})
