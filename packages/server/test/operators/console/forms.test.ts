/** Attacks on the forms of the console. */
import { expect } from 'vitest'
import { CONSOLE_CLIENT_ID } from '../../../src/domain/operators/console-client.ts'
import { sealedFormat } from '../../../src/protocol/keys/sealed.ts'
import { connectApp } from '../../flows/account-visit.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'
import type { Grantor } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser, hiddenFields } from './console-browser.ts'
import { addOperator, OTHER, OWNER } from './visit.ts'

const USER = testWallet(2)

async function prepare(grantor: Grantor) {
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'auditor')
  const client = await grantor.createClient({ name: 'Aurora' })
  await connectApp(grantor, client, USER)
  const resource = 'https://notes.example.net/'
  await grantor.store.resources.insertResource({
    uri: resource,
    name: 'Notes',
    scopes: [{ name: 'notes', description: 'read notes' }],
    openTo: ['registered'],
    createdAt: 0,
  })
  const owner = new ConsoleBrowser(grantor, OWNER)
  const auditor = new ConsoleBrowser(grantor, OTHER)
  await owner.signIn()
  await auditor.signIn()
  const [grant] = await grantor.store.grants.listGrants({ clientId: client.id, limit: 1 })
  const [session] = await grantor.store.sessions.listSessions(USER.address as `0x${string}`, {
    at: grantor.clock.now(),
    limit: 1,
  })
  const [key] = await grantor.store.keys.listKeys()
  const forms: [path: string, fields: Record<string, string>][] = [
    ['/console/clients/new', { name: 'Evil', redirect_uris: 'https://evil.example/callback', key: 'k'.repeat(36) }],
    [`/console/clients/${client.id}/change`, { name: 'Evil' }],
    [`/console/clients/${client.id}/rotate-secret`, { overlap: '0' }],
    [`/console/clients/${client.id}/disable`, {}],
    [`/console/clients/${client.id}/enable`, {}],
    [`/console/clients/${client.id}/end-grants`, {}],
    [`/console/clients/${client.id}/delete`, {}],
    ['/console/resources/new', { resource: 'https://evil.example/', name: 'Evil', scopes: 'evil: do evil' }],
    [
      `/console/resources/${encodeURIComponent(resource)}/change`,
      { name: 'Evil', scopes: 'notes: read notes', open_to: 'dynamic' },
    ],
    [`/console/resources/${encodeURIComponent(resource)}/delete`, {}],
    [`/console/grants/${grant?.id}/end`, {}],
    [`/console/wallet/${USER.address}/end`, {}],
    [`/console/sessions/${session?.hash}/end`, {}],
    ['/console/keys/rotate', { kind: 'mac' }],
    [`/console/keys/${key?.id}/retire`, { at_once: 'true' }],
    ['/console/operators/new', { operator: USER.address, role: 'owner' }],
    [`/console/operators/${OTHER.address}/change`, { role: 'owner' }],
    [`/console/operators/${OWNER.address}/remove`, {}],
  ]
  return { owner, auditor, forms, client }
}

const test = base.extend('options', { admin: true }).extend('prepared', FILE, ({ grantor }) => prepare(grantor))

/** The records that the forms can change. */
async function state({ store, clock }: Grantor): Promise<unknown> {
  const at = clock.now()
  return [
    await store.clients.listClients(),
    await store.resources.listResources(),
    (await store.grants.listGrants({ limit: 100 })).map(({ id, endedAt }) => [id, endedAt]),
    await store.sessions.listSessions(USER.address as `0x${string}`, { at, limit: 10 }).then((sessions) => sessions.length),
    (await store.keys.listKeys()).map(({ id, retiredAt }) => [id, retiredAt]),
    await store.lists.readList('operators'),
    await store.lists.readList('jobs'),
  ]
}

/** The address of the question that a link of the console leads to. */
const questionAt = (path: string): string =>
  path.endsWith('keys/rotate') ? `${path}?kind=mac` : path.endsWith('/retire') ? `${path}?at_once=yes` : path

/** The token of the owner for this form. */
const tokenAt = async (browser: ConsoleBrowser, path: string): Promise<string> =>
  (await browser.fieldsAt(questionAt(path))).form_token ?? ''

test('A post from another site, with a null origin or without an origin changes nothing (CSRF)', async ({
  grantor,
  prepared,
}) => {
  const { owner, forms } = prepared
  const before = await state(grantor)
  for (const [path, fields] of forms) {
    const given = { ...fields, confirmed: 'yes', form_token: await tokenAt(owner, path) }
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect((await owner.post(path, given, headers)).status).toBe(403)
    const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const bare = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
    expect(
      (await send(grantor.adminUrl, { method: 'POST', path, headers: bare, body: new URLSearchParams(given).toString() })).status,
    ).toBe(403)
  }
  expect(await state(grantor)).toEqual(before)
})

test('A post without a form token, with a forged one, with that of another operator or of another form changes nothing', async ({
  grantor,
  prepared,
}) => {
  const { owner, auditor, forms } = prepared
  const before = await state(grantor)
  const [, foreign = ''] = /name="form_token" value="([^"]+)"/.exec((await auditor.get('/console')).body) ?? []
  const session = owner.cookies.get('grantor_console_session') ?? ''
  for (const [path, fields] of forms) {
    const other = await tokenAt(owner, path === '/console/clients/new' ? '/console/resources/new' : '/console/clients/new')
    for (const token of ['', 'grb.0000000000.AAAA', session, other, foreign]) {
      const answer = await owner.post(path, { ...fields, confirmed: 'yes', form_token: token })
      expect([path, answer.status]).toEqual([path, 403])
    }
  }
  expect(await state(grantor)).toEqual(before)
})

test('An auditor gets a reason in place of each form, and changes nothing by posting the form with a valid token of the own session', async ({
  grantor,
  prepared,
}) => {
  const { auditor, forms } = prepared
  const [own] = await grantor.store.grants.listUnendedGrants({
    wallet: OTHER.address as `0x${string}`,
    clientId: CONSOLE_CLIENT_ID,
    limit: 1,
  })
  const before = await state(grantor)
  for (const [path, fields] of forms) {
    const question = await auditor.get(questionAt(path))
    expect([path, question.status, question.body.includes('Your role')]).toEqual([path, 403, true])
    const form_token = sealedFormat<{ grantId: string; path: string }>('consoleForm').seal(grantor.deps.keys, {
      grantId: own?.id ?? '',
      path,
    })
    const answer = await auditor.post(path, { ...fields, confirmed: 'yes', form_token })
    expect([path, answer.status]).toEqual([path, 403])
    expect(answer.body).toContain('Your role')
  }
  expect(await state(grantor)).toEqual(before)
  expect(grantor.events.filter(({ reason }) => reason === 'role_not_sufficient').length).toBeGreaterThanOrEqual(forms.length)
})

test('Without a session every form leads to the sign-in, and nothing changes', async ({ grantor, prepared }) => {
  const before = await state(grantor)
  const stranger = new ConsoleBrowser(grantor, USER)
  for (const [path, fields] of prepared.forms) {
    expect((await stranger.post(path, { ...fields, confirmed: 'yes' })).status).toBe(401)
    expect((await stranger.get(path)).status).toBe(401)
  }
  expect(await state(grantor)).toEqual(before)
})

test('No form changes anything before it is confirmed, and no GET changes anything', async ({ grantor, prepared }) => {
  const { owner, forms } = prepared
  const before = await state(grantor)
  for (const [path, fields] of forms) {
    const question = await owner.post(path, { ...fields, form_token: await tokenAt(owner, path) })
    expect(question.body).toContain('id="confirm"')
    await owner.get(`${path}?${new URLSearchParams({ ...fields, confirmed: 'yes' }).toString()}`)
  }
  expect(await state(grantor)).toEqual(before)
})

test('A change of a record that has changed since it was shown is refused', async ({ grantor, prepared }) => {
  const { owner, client } = prepared
  const path = `/console/clients/${client.id}/disable`
  const fields = hiddenFields(await owner.get(path))
  await grantor.store.clients.changeClient(client.id, (present) => ({ ...present, name: 'Aurora 2' }))
  const answer = await owner.post(path, { ...fields, etag: (fields.etag ?? '').replaceAll('&quot;', '"') })
  expect(answer.status).toBe(412)
  expect(answer.body).toContain('changed meanwhile')
  expect((await grantor.store.clients.readClient(client.id))?.disabledAt).toBeNull()
})

test('A link to a question cannot set a value that the question sets itself, such as the state of the record', async ({
  grantor,
  prepared,
}) => {
  const { owner } = prepared
  const client = await grantor.createClient({ name: 'Linked' })
  for (const change of ['disable', 'delete', 'end-grants']) {
    const question = await owner.get(`/console/clients/${client.id}/${change}?etag=*&etag=*`)
    expect([change, [...question.body.matchAll(/name="etag" value="([^"]*)"/g)].map(([, value]) => value)]).toEqual([
      change,
      [expect.stringMatching(/^&quot;/)],
    ])
  }
  const [key] = await grantor.store.keys.listKeys()
  // A question about a key names what its own fields do, and a key that is needed is retired only after a leak.
  const retirement = await owner.get(`/console/keys/${key?.id}/retire?at_once=yes&at_once=no`)
  expect([...retirement.body.matchAll(/name="at_once" value="([^"]*)"/g)].map(([, value]) => value)).toEqual(['yes', 'no'])
  expect(retirement.body).toContain('everything that the old key made stops working now')
  expect((await owner.get(`/console/keys/${key?.id}/retire?at_once=no`)).status).toBe(409)
})

test('Each change is in the audit trail with the operator, and a secret is on one page and nowhere else', async ({
  grantor,
  prepared,
}) => {
  const { owner } = prepared
  const path = '/console/clients/new'
  const given = { name: 'Once', redirect_uris: 'https://once.example.net/callback', form_token: await tokenAt(owner, path) }
  const fields = hiddenFields(await owner.post(path, given))
  const created = await owner.post(path, fields)
  const [, secret = ''] = /id="client-secret">([^<]+)</.exec(created.body) ?? []
  expect(secret.length).toBeGreaterThan(30)
  expect(created.headers['cache-control']).toBe('no-store')
  // The same form again gives the same client.
  expect((await owner.post(path, fields)).body).toContain(secret)
  expect((await grantor.store.clients.listClients()).filter(({ name }) => name === 'Once')).toHaveLength(1)
  expect(grantor.logLines.join('\n')).not.toContain(secret)
  expect(JSON.stringify(grantor.events)).not.toContain(secret)
  expect(grantor.events.find(({ event }) => event === 'client_created')).toMatchObject({ operator: '0xf39F…2266' })
  const trail = await owner.get('/console/audit?event=client_created')
  expect(trail.body).toContain('0xf39F…2266')
})

test('Every page forbids frames, scripts of others, and caches (clickjacking)', async ({ prepared }) => {
  const { owner } = prepared
  for (const path of [
    '/console',
    '/console/clients',
    '/console/keys',
    '/console/nothing',
    `/console/operators/${OTHER.address}/remove`,
  ]) {
    const { headers } = await owner.get(path)
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toMatch(/script-src 'sha256-/)
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['x-frame-options']).toBe('DENY')
    expect(headers['cache-control']).toBe('no-store')
  }
})

test('The audit page searches by time, and names a faulty address in words', async ({ prepared }) => {
  const { owner } = prepared
  expect((await owner.get('/console/audit?since=2026-01-01T00:00:00')).body).toContain('<ol class="trail"')
  expect((await owner.get('/console/audit?until=2026-01-01T00:00:00')).body).toContain('No line matches.')
  const { body } = await owner.get('/console/audit?wallet=0x1234')
  expect(body).toContain('Wallet is not an address')
  expect(body).not.toMatch(/pattern|No line matches/)
})
