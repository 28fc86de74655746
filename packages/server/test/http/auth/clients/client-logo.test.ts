/** The logos of clients: uploaded by operators, served by the service, shown beside the name. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { CLIENT_LOGO, logoUri, readLogo } from '../../../../src/config/look/logo.ts'
import { adminCaller } from '../../../support/admin.ts'
import { test as base } from '../../../support/fixtures.ts'
import { pngLogo } from '../../../support/pictures.ts'
import { send } from '../../../support/send.ts'
import { startGrantor } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const read = readLogo(pngLogo({ width: 96, height: 96 }), CLIENT_LOGO)
if ('fault' in read) throw new Error(read.fault)
const { logo } = read
const OTHER = pngLogo({ width: 32, height: 32 })

const test = base.extend('options', { admin: true })

test('An operator uploads a logo: the record has its hash, the service serves its bytes, and the audit trail has the hash only', async ({
  grantor,
}) => {
  const caller = await adminCaller(grantor, 'owner')
  const { id } = await grantor.createClient({ name: 'Aurora Notes' })
  const answer = await caller.call('POST', `/v1/clients/${id}/logo`, { logo: logoUri(logo.bytes) })
  expect([answer.status, answer.json().logo]).toEqual([200, logo.hash])
  const line = grantor.events.find(({ event }) => event === 'client_changed')
  expect(line).toMatchObject({ client_id: id, operator: caller.client.id, changed: 'logo', logo: logo.hash })
  expect(JSON.stringify(grantor.events) + grantor.logLines.join('')).not.toContain(logoUri(logo.bytes).slice(40, 90))
  await grantor.noticeChanges()

  const served = await fetch(`${grantor.authUrl}/logos/${id}/${logo.hash}`)
  expect(served.status).toBe(200)
  expect(Object.fromEntries(served.headers)).toMatchObject({
    'content-type': 'image/png',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect(Buffer.from(await served.arrayBuffer())).toEqual(logo.bytes)
})

test('Another hash, another client, and a logo that was replaced or removed are not served', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'owner')
  const [one, other] = [await grantor.createClient(), await grantor.createClient()]
  await caller.call('POST', `/v1/clients/${one.id}/logo`, { logo: logoUri(logo.bytes) })
  await grantor.noticeChanges()
  const statusOf = async (path: string): Promise<number> => (await fetch(`${grantor.authUrl}/logos/${path}`)).status
  expect(await statusOf(`${one.id}/${logo.hash}`)).toBe(200)
  for (const path of [`${one.id}/${'0'.repeat(64)}`, `${other.id}/${logo.hash}`, `unknown/${logo.hash}`, `${one.id}/x`])
    expect(await statusOf(path)).toBe(404)
  const replaced = await caller.call('POST', `/v1/clients/${one.id}/logo`, { logo: logoUri(OTHER) })
  await grantor.noticeChanges()
  expect(await statusOf(`${one.id}/${logo.hash}`)).toBe(404)
  expect(await statusOf(`${one.id}/${String(replaced.json().logo)}`)).toBe(200)
  expect((await caller.call('POST', `/v1/clients/${one.id}/remove-logo`)).json().logo).toBeNull()
  await grantor.noticeChanges()
  expect(await statusOf(`${one.id}/${String(replaced.json().logo)}`)).toBe(404)
})

test.each([
  ['no data URI', 'https://aurora.example/logo.png', 'is not a data URI'],
  ['an SVG', `data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`, 'is not a PNG'],
  ['a picture that is cut off', logoUri(logo.bytes.subarray(0, 60)), 'is damaged'],
  ['513 pixels', logoUri(pngLogo({ width: 513, height: 16 })), '513 × 16 pixels'],
])('A picture that cannot be a logo is refused with its fault: %s', async (_, given, fault) => {
  const grantor = await startGrantor({ admin: true })
  const caller = await adminCaller(grantor, 'owner')
  const { id } = await grantor.createClient()
  const answer = await caller.call('POST', `/v1/clients/${id}/logo`, { logo: given })
  expect([answer.status, answer.body]).toEqual([422, expect.stringContaining(fault)])
  expect((await grantor.store.clients.readClient(id))?.logo).toBeNull()
  await grantor.close()
})

test('An auditor cannot change a logo, and a change that names an earlier state is refused', async ({ grantor }) => {
  const owner = await adminCaller(grantor, 'owner')
  const auditor = await adminCaller(grantor, 'auditor')
  const { id } = await grantor.createClient()
  const body = { logo: logoUri(logo.bytes) }
  expect((await auditor.call('POST', `/v1/clients/${id}/logo`, body)).status).toBe(403)
  const { headers } = await owner.call('GET', `/v1/clients/${id}`)
  await owner.call('PATCH', `/v1/clients/${id}`, { name: 'renamed' })
  expect((await owner.call('POST', `/v1/clients/${id}/logo`, body, { 'if-match': String(headers.etag) })).status).toBe(412)
  expect((await owner.call('POST', '/v1/clients/0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20/logo', body)).status).toBe(404)
})

test('The same logo again is no change, and adds no line to the audit trail', async ({ grantor }) => {
  const caller = await adminCaller(grantor, 'owner')
  const { id } = await grantor.createClient()
  for (let count = 0; count < 2; count += 1) await caller.call('POST', `/v1/clients/${id}/logo`, { logo: logoUri(logo.bytes) })
  expect(grantor.events.filter(({ client_id, event }) => event === 'client_changed' && client_id === id)).toHaveLength(1)
})

test('The login page and the account page show the logo beside the name and the host, from the origin of the service', async ({
  grantor,
}) => {
  const caller = await adminCaller(grantor, 'owner')
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  await caller.call('POST', `/v1/clients/${client.id}/logo`, { logo: logoUri(logo.bytes) })
  await grantor.noticeChanges()
  const path = `/logos/${client.id}/${logo.hash}`
  const walk = new Walk(grantor)
  const { location } = await walk.authorize(requestOf(client))
  const page = await fetch(location)
  const text = await page.text()
  expect(text).toContain(`<img class="tile" src="${grantor.authUrl}${path}" alt="" width="52" height="52">`)
  expect(text).toMatch(/<h1>Sign in to <bdi>Aurora Notes<\/bdi><\/h1>\n<p class="host">/)
  expect(page.headers.get('content-security-policy')).toContain(`img-src 'self' data: ${grantor.authUrl};`)
})

const open = base.extend('options', { environment: { GRANTOR_DYNAMIC_REGISTRATION: 'on' } })

open(
  'A client that registered itself has no logo, whatever its metadata names, and nothing is fetched (RFC 7591 §2)',
  async ({ grantor }) => {
    const asked: string[] = []
    const host = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(logo.bytes)
    })
    await once(host.listen(0, '127.0.0.1'), 'listening')
    const { port } = host.address() as AddressInfo
    const answer = await send(grantor.authUrl, {
      method: 'POST',
      path: '/oauth/register',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Agent',
        redirect_uris: ['https://agent.example/callback'],
        token_endpoint_auth_method: 'none',
        logo_uri: `http://127.0.0.1:${port}/logo.png`,
      }),
    })
    const clientId = String(answer.json().client_id)
    const walk = new Walk(grantor)
    const { location } = await walk.authorize({
      client_id: clientId,
      redirect_uri: 'https://agent.example/callback',
      response_type: 'code',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    const text = await (await fetch(location)).text()
    expect(text).toContain('<span class="tile" aria-hidden="true">')
    expect(text).not.toContain('<img class="tile"')
    expect((await fetch(`${grantor.authUrl}/logos/${encodeURIComponent(clientId)}/${logo.hash}`)).ok).toBe(false)
    expect(asked).toEqual([])
    host.close()
  },
)
