/** Who may call the admin API. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { removeOperator, setOperator } from '../../../src/domain/operators/operators.ts'
import { type AdminCaller, adminCaller } from '../../support/admin.ts'
import { test as base } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'

const test = base.extend('options', { admin: true })

const CHANGES: [string, string, unknown][] = [
  ['POST', '/v1/clients', { name: 'New', redirect_uris: ['https://new.example.net/callback'] }],
  ['POST', '/v1/resources', { resource: 'https://r.example.net/', name: 'R', scopes: [{ name: 'r', description: 'read' }] }],
  ['PUT', '/v1/operators/0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', { role: 'auditor' }],
  ['POST', '/v1/webhooks', { url: 'https://siem.example.com/' }],
  ['POST', '/v1/keys', { kind: 'mac' }],
  ['POST', '/v1/grants/end', { wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' }],
]

test('Without an access token every operation is refused, and the response names the metadata of the resource (RFC 9728 §5.1)', async ({
  grantor,
}) => {
  for (const [method, path, body] of [['GET', '/v1/clients', undefined] as const, ...CHANGES]) {
    const headers = { 'content-type': 'application/json' }
    const answer = await send(grantor.adminUrl, { method, path, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${grantor.adminUrl}/.well-known/oauth-protected-resource"`,
    )
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  }
  const metadata = await send(grantor.adminUrl, { path: '/.well-known/oauth-protected-resource' })
  expect(metadata.json()).toMatchObject({ resource: `${grantor.adminUrl}/`, authorization_servers: [grantor.authUrl] })
})

test('A token of a client that is no operator is refused', async ({ grantor }) => {
  const caller = await adminCaller(grantor, null)
  const answer = await caller.call('GET', '/v1/clients')
  expect([answer.status, answer.json().code]).toEqual([403, 'forbidden'])
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'not_an_operator' })
})

test('A token without the scope of the operation is refused, although the role has the scope', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'owner', ['admin.read'])
  expect((await caller.call('GET', '/v1/clients')).status).toBe(200)
  for (const [method, path, body] of CHANGES) expect((await caller.call(method, path, body)).status).toBe(403)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'admin_scope_not_granted' })
})

test('An auditor changes nothing, although the token has every scope', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'auditor')
  for (const [method, path, body] of CHANGES) expect((await caller.call(method, path, body)).status).toBe(403)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'role_not_sufficient' })
  expect((await caller.call('GET', '/v1/operators')).status).toBe(200)
})

test('An operator cannot get the role of another operator by changing the keys of its client', async ({ grantor }) => {
  const owner = await adminCaller(grantor, 'owner')
  const caller = await adminCaller(grantor, 'operator')
  const path = `/v1/clients/${owner.client.id}`
  expect((await caller.call('PATCH', path, { jwks_uri: 'https://evil.example.net/jwks.json', jwks: null })).status).toBe(403)
  expect((await caller.call('POST', `${path}/secrets`, {})).status).toBe(403)
  expect((await caller.call('DELETE', path)).status).toBe(403)
  expect(await grantor.store.clients.readClient(owner.client.id)).toMatchObject({ jwksUri: null, disabledAt: null })
})

test('A removed operator is refused with the next request', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'operator')
  expect((await caller.call('GET', '/v1/keys')).status).toBe(200)
  await removeOperator(grantor.store, caller.client.id)
  expect((await caller.call('GET', '/v1/keys')).status).toBe(403)
})

/** Sends the head of a request, and the body only after `meanwhile`. */
async function sendSlowly(
  caller: AdminCaller,
  to: { adminUrl: string; method: string; path: string; body: string },
  meanwhile: () => Promise<unknown>,
) {
  const { adminUrl, method, path, body } = to
  const headers = {
    authorization: `Bearer ${caller.token}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  }
  const request = httpRequest(`${adminUrl}${path}`, { method, headers })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  request.flushHeaders()
  await setTimeout(200)
  await meanwhile()
  request.end(body)
  const [answer] = await answered
  answer.resume()
  return answer.statusCode
}

test('A removed owner whose request began before the removal does not come back when the body arrives', async ({ grantor }) => {
  const { adminUrl, store } = grantor
  await adminCaller(grantor, 'owner')
  for (const method of ['PUT', 'DELETE']) {
    const caller = await adminCaller(grantor, 'owner')
    const { id } = method === 'PUT' ? caller.client : (await adminCaller(grantor, 'auditor')).client
    const slow = { adminUrl, method, path: `/v1/operators/${id}`, body: '{"role":"owner"}' }
    expect(await sendSlowly(caller, slow, () => removeOperator(store, caller.client.id))).toBe(403)
    const ids = (await store.lists.readList('operators')).map((operator) => operator.id)
    expect([method, ids.includes(caller.client.id), ids.includes(id)]).toEqual([method, false, method === 'DELETE'])
  }
})

test('Of two owners who change the list at the same moment, the one who was removed changes nothing', async ({ grantor }) => {
  const { store } = grantor
  const { lists } = store
  const { changeList } = lists
  await adminCaller(grantor, 'owner')
  for (const [method, body] of [['PUT', { role: 'owner' }] as const, ['DELETE', undefined] as const]) {
    const caller = await adminCaller(grantor, 'owner')
    const { id } = method === 'PUT' ? caller.client : (await adminCaller(grantor, 'auditor')).client
    // The removal comes between the last check of the request and its change.
    lists.changeList = async (...change) => {
      lists.changeList = changeList
      await removeOperator(store, caller.client.id)
      return changeList(...change)
    }
    expect((await caller.call(method, `/v1/operators/${id}`, body)).status).toBe(403)
    expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'role_not_sufficient' })
    expect((await store.lists.readList('operators')).some((operator) => operator.id === id)).toBe(method === 'DELETE')
  }
})

test('A token for another resource is refused, and so is a token that ended with its client', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'owner')
  const other = await grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['enhancement'],
  })
  await setOperator(grantor.store, { id: other.id, role: 'operator', at: grantor.clock.now() })
  const answer = await send(grantor.authUrl, {
    method: 'POST',
    path: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${other.id}:${other.secret}`).toString('base64')}`,
    },
    body: 'grant_type=client_credentials',
  })
  const headers = { authorization: `Bearer ${String(answer.json().access_token)}` }
  expect((await send(grantor.adminUrl, { path: '/v1/keys', headers })).status).toBe(401)
  expect(grantor.events.at(-1)).toMatchObject({ reason: 'access_token_for_another_resource' })
  await grantor.store.clients.replaceClient({ ...caller.client, disabledAt: grantor.clock.now() })
  await grantor.noticeChanges()
  expect((await caller.call('GET', '/v1/keys')).status).toBe(401)
})

test('A client that authenticates by a secret needs a token that is bound to a key', async ({ grantor }) => {
  const resource = `${grantor.adminUrl}/`
  const client = await grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['admin.read'],
    resources: [resource],
  })
  await adminCaller(grantor, 'owner')
  await setOperator(grantor.store, { id: client.id, role: 'auditor', at: grantor.clock.now() })
  const answer = await send(grantor.authUrl, {
    method: 'POST',
    path: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
    },
    body: `grant_type=client_credentials&resource=${encodeURIComponent(resource)}&scope=admin.read`,
  })
  const headers = { authorization: `Bearer ${String(answer.json().access_token)}` }
  expect((await send(grantor.adminUrl, { path: '/v1/keys', headers })).status).toBe(401)
  expect(grantor.events.at(-1)).toMatchObject({ reason: 'client_authenticates_by_secret' })
})

test('The admin listener answers none of the addresses of the auth service, and the auth service none of the admin API', async ({
  grantor,
}) => {
  for (const path of ['/v1/clients', '/openapi.json', '/.well-known/oauth-protected-resource'])
    expect((await send(grantor.authUrl, { path })).status).toBe(404)
  for (const path of ['/oauth/authorize', '/account', '/.well-known/openid-configuration', '/health/live'])
    expect((await send(grantor.adminUrl, { path })).status).toBe(404)
})
