/** The settings in force and the setup of a client, through the admin API and on pages of the console. */
import { expect } from 'vitest'
import { recipes } from '../../../src/operators/operations/setup.ts'
import { recipeOf } from '../../clients/recipe.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../../support/start.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base
  .extend('options', { admin: true, environment: { GRANTOR_CODE_LIFETIME: '45' } })
  .extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))
  .extend('visitor', FILE, async ({ grantor }) => {
    await addOperator(grantor, OWNER, 'owner')
    const browser = new ConsoleBrowser(grantor, OWNER)
    await browser.signIn()
    return browser
  })

test('GET /v1/settings and the page Settings show each setting with its source, and never a secret', async ({
  owner,
  visitor,
}) => {
  const answer = await owner.call('GET', '/v1/settings')
  const { items } = answer.json() as { items: { name: string }[] }
  const named = (name: string) => items.find((item) => item.name === name)
  expect(named('GRANTOR_CODE_LIFETIME')).toMatchObject({ value: '45', unit: 'seconds', source: 'environment' })
  expect(named('GRANTOR_REFRESH_LIFETIME')).toMatchObject({ value: '2592000', source: 'default', is_set: false })
  expect(named('GRANTOR_SECRET')).toMatchObject({ value: null, source: 'environment', is_set: true, is_secret: true })
  const page = await visitor.get('/console/settings')
  expect(page.body).toContain('45 seconds')
  expect(page.body).not.toContain('off elsewhere')
  for (const { name } of items) expect(page.body).toContain(`<code>${name}</code>`)
  for (const text of [answer.body, page.body])
    for (const secret of [TEST_SECRET, TEST_LOGIN_SECRET]) expect(text).not.toContain(secret)
})

test('The setup of a client has the issuer, its id and code that reads them, and no secret', async ({
  grantor,
  owner,
  visitor,
}) => {
  const client = await grantor.createClient({ name: 'Notes', redirectUris: ['https://notes.example.net/callback'] })
  const { environment, snippets } = (await owner.call('GET', `/v1/clients/${client.id}/setup`)).json() as {
    environment: Record<string, string>
    snippets: { library: string }[]
  }
  expect(environment).toEqual({
    ISSUER: grantor.authUrl,
    CLIENT_ID: client.id,
    CLIENT_SECRET: 'the secret of the client',
    REDIRECT_URI: 'https://notes.example.net/callback',
  })
  expect(snippets.map(({ library }) => library)).toEqual(['openid-client', 'Auth.js', 'Spring Security', 'Authlib'])
  const { body } = await visitor.get(`/console/clients/${client.id}`)
  expect(body).toContain(`ISSUER=${grantor.authUrl}`)
  expect(body).toContain('data-copy="the code for Authlib"')
  expect(body).not.toContain(client.secret)
})

test('The setup of a client in a browser has its values in the code, and that of a client without a redirect URI has no code', async ({
  grantor,
  owner,
}) => {
  const page = await grantor.createClient({ type: 'public', redirectUris: ['https://page.example.net/'] })
  const ofPage = (await owner.call('GET', `/v1/clients/${page.id}/setup`)).json() as {
    snippets: { library: string; code: string }[]
  }
  expect(ofPage.snippets.map(({ library }) => library)).toEqual(['oidc-client-ts'])
  expect(ofPage.snippets[0]?.code).toContain(`const clientId = '${page.id}'`)
  const ofCaller = (await owner.call('GET', `/v1/clients/${owner.client.id}/setup`)).json()
  expect(ofCaller).toEqual({ environment: { ISSUER: grantor.authUrl, CLIENT_ID: owner.client.id }, note: null, snippets: [] })
})

test('The setup of a client names the scopes that its code requests and the client lacks', async ({
  grantor,
  owner,
  visitor,
}) => {
  const redirectUris = ['https://notes.example.net/callback']
  const note =
    'The code requests the scopes openid and wallet. This client lacks wallet. Register what is missing, or change the code.'
  const noteOf = async ({ id }: { id: string }) =>
    ((await owner.call('GET', `/v1/clients/${id}/setup`)).json() as { note: string | null }).note
  const lacking = await grantor.createClient({ redirectUris, scopes: ['enhancement', 'openid'] })
  expect(await noteOf(lacking)).toBe(note)
  expect((await visitor.get(`/console/clients/${lacking.id}`)).body).toContain(`<p>${note}</p>`)
  expect(await noteOf(await grantor.createClient({ redirectUris, scopes: ['openid', 'wallet'] }))).toBeNull()
})

test.for(recipes)('The code for $library is a part of the block that tests run', (recipe) => {
  expect(recipeOf(recipe.language, recipe.mark)).toContain(recipe.code.trimEnd())
})

test('A page below the first level names the pages above it, and each page has the version', async ({ grantor, visitor }) => {
  const client = await grantor.createClient({ name: 'Aurora', redirectUris: ['https://a.example.net/callback'] })
  const { body } = await visitor.get(`/console/clients/${client.id}/change`)
  expect(body).toContain(
    `<nav class="crumbs" aria-label="Breadcrumbs"><ol><li><a href="/console/clients"><bdi>Clients</bdi></a></li><li><a href="/console/clients/${client.id}"><bdi>Aurora</bdi></a></li><li aria-current="page"><bdi>Change the client</bdi></li></ol></nav>`,
  )
  expect((await visitor.get('/console/clients')).body).not.toContain('class="crumbs"')
  expect(body).toMatch(/<footer class="foot">Grantor \d+\.\d+\.\d+/)
})

test('The audit search offers the recorded events as choices, and finds lines by their result', async ({ owner, visitor }) => {
  await owner.call('POST', '/v1/clients', { name: 'Searched', redirect_uris: ['https://a.example.net/callback'] })
  const { body } = await visitor.get('/console/audit?event=client_created')
  expect(body).toContain('<option value="client_created" selected>client_created</option>')
  expect(body).toContain('<option value="hook_refused">hook_refused</option>')
  expect(body).toContain(`<option value="${OWNER.address}">`)
  const events = async (query: string) =>
    ((await owner.call('GET', `/v1/audit?limit=100&${query}`)).json() as { items: { event: string }[] }).items.map(
      ({ event }) => event,
    )
  expect(await events('result=done')).toContain('client_created')
  expect(await events('result=refused')).toEqual([])
  expect((await owner.call('GET', '/v1/audit?result=other')).status).toBe(422)
})

test('The hint of a field names the value of the setting that applies if the field stays empty', async ({ visitor }) => {
  const { body } = await visitor.get('/console/clients/new')
  expect(body).toContain('In seconds. GRANTOR_CODE_LIFETIME (now 45) unless given.')
})
