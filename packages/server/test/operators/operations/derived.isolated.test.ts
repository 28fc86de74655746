/** A member and an operation that exist only here are found in the API, the document, the console, the command line, and in `apply`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type * as ClientMembers from '../../../src/operators/members/client-members.ts'
import type { RecordMember } from '../../../src/operators/members/member.ts'
import type * as Resources from '../../../src/operators/operations/resources.ts'
import { newDatabase, newFolder, run } from '../../app/run.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'
import { ConsoleBrowser, hiddenFields } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

// One entry of a table: what a new property of `Client` needs besides its type and its default.
vi.mock('../../../src/operators/members/client-members.ts', async (original) => {
  const { clientMembers } = await original<typeof ClientMembers>()
  const logoUri = {
    name: 'logo_uri',
    shape: { kind: 'text' },
    nullable: true,
    preset: null,
    label: 'Logo',
    print: 'logo',
    option: { value: 'URI', words: 'The address of a picture.', off: { words: 'Removes the picture.' } },
  } satisfies RecordMember
  return { clientMembers: { ...clientMembers, logoUri } }
})

// One value: an operation.
vi.mock('../../../src/operators/operations/resources.ts', async (original) => {
  const module = await original<typeof Resources>()
  const { defineOperation } = await import('../../../src/operators/operations/operation.ts')
  const closeResource = defineOperation({
    id: 'closeResource',
    subject: 'resources',
    kind: 'act',
    verb: 'close',
    path: ':id/close',
    scope: 'admin.clients',
    summary: 'Closes a resource for all clients.',
    answers: { done: 'The resource is closed.' },
    output: null,
    command: { examples: ['https://mcp.example.com/mcp'], done: () => 'Closed.' },
    page: { link: 'Close', button: 'Close the resource', done: 'The resource is closed.' },
    async run({ service, id }) {
      await service.store.resources.changeResource(id, (present) => ({ ...present, openTo: [] }))
      return { output: undefined, act: { event: 'resource_changed', resource: id } }
    },
  })
  return { ...module, resources: { ...module.resources, operations: [...module.resources.operations, closeResource] } }
})

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const LOGO = 'https://app.example.net/logo.png'
const NEW = { name: 'Notes', redirect_uris: ['https://notes.example.net/callback'] }
const RESOURCE = 'https://mcp.example.com/mcp'

test('A new member of a client is in the API, the OpenAPI document and the console', async ({ grantor, owner }) => {
  const created = await owner.call('POST', '/v1/clients', { ...NEW, logo_uri: LOGO })
  const { client_id: id } = created.json().client as { client_id: string }
  expect(created.json().client).toMatchObject({ logo_uri: LOGO })
  expect((await owner.call('PATCH', `/v1/clients/${id}`, { logo_uri: null })).json()).toMatchObject({ logo_uri: null })
  expect((await send(grantor.adminUrl, { path: '/openapi.json' })).body).toContain('"logo_uri"')

  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const form = await browser.get('/console/clients/new')
  expect(form.body).toContain('name="logo_uri"')
  const given = { name: 'In the console', redirect_uris: 'https://a.example.net/callback', logo_uri: LOGO }
  const question = await browser.post('/console/clients/new', { ...hiddenFields(form), ...given })
  await browser.post('/console/clients/new', hiddenFields(question))
  const client = (await grantor.store.clients.listClients()).find(({ name }) => name === 'In the console')
  expect((await browser.get(`/console/clients/${client?.id}`)).body).toContain(LOGO)
})

test('A new member of a client is an option of the command line, is printed, and is in apply and export', async () => {
  const { env } = await newDatabase()
  const created = await run(
    ['clients', 'create', '--name', 'A', '--redirect-uri', NEW.redirect_uris[0] ?? '', '--logo-uri', LOGO],
    env,
  )
  expect([created.exit, created.out]).toEqual([0, expect.stringMatching(/ logo +https:/)])
  const exported = (await run(['export'], env)).out
  expect(exported).toContain(`logo_uri: ${LOGO}`)
  const file = join(newFolder(), 'grantor.yaml')
  writeFileSync(file, exported.replace('logo.png', 'new.png'))
  expect((await run(['apply', file, '--yes'], env)).out).toContain(`logo_uri: "${LOGO}" → "https://app.example.net/new.png"`)
  const [client] = JSON.parse((await run(['clients', 'list', '--json'], env)).out) as [{ client_id: string }]
  const { out } = await run(['clients', 'update', client.client_id, '--no-logo-uri', '--json'], env)
  expect(JSON.parse(out)).toMatchObject({ logo_uri: null })
})

test('A new operation is in the API, the OpenAPI document and the console, and needs its scope', async ({ grantor, owner }) => {
  const scopes = [{ name: 'notes', description: 'read notes' }]
  await owner.call('POST', '/v1/resources', { resource: RESOURCE, name: 'Notes', scopes })
  const path = `/v1/resources/${encodeURIComponent(RESOURCE)}`
  const auditor = await adminCaller(grantor, 'auditor')
  expect((await auditor.call('POST', `${path}/close`)).status).toBe(403)
  expect((await owner.call('POST', `${path}/close`)).status).toBe(204)
  expect((await owner.call('GET', path)).json()).toMatchObject({ open_to: [] })
  expect((await send(grantor.adminUrl, { path: '/openapi.json' })).body).toContain('"closeResource"')

  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const page = `/console/resources/${encodeURIComponent(RESOURCE)}`
  expect((await browser.get(page)).body).toContain(`${page}/close`)
  const question = await browser.get(`${page}/close`)
  expect(question.body).toContain('Closes a resource for all clients.')
  const done = await browser.post(`${page}/close`, hiddenFields(question))
  expect(done.body).toContain('The resource is closed.')
})

test('A new operation is a command with a help', async () => {
  const { env } = await newDatabase()
  await run(['resources', 'create', RESOURCE, '--name', 'Notes', '--scope', 'notes=read notes'], env)
  expect(await run(['resources', 'close', RESOURCE], env)).toEqual({ exit: 0, out: 'Closed.\n', err: '' })
  expect(JSON.parse((await run(['resources', 'show', RESOURCE, '--json'], env)).out)).toMatchObject({ open_to: [] })
  expect((await run(['resources', 'close', '--help'])).out).toContain('Usage: grantor resources close RESOURCE')
})
