/** Forms of the console in a real browser: going back, the end of a session, faults at their fields, and the page of a secret. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type SealedFormat, sealedFormat } from '../../../src/protocol/keys/sealed.ts'
import { adminCaller } from '../../support/admin.ts'
import { seriousAxeViolations } from '../../support/browser.ts'
import { test as base } from '../../support/fixtures.ts'
import type { Grantor } from '../../support/start.ts'
import { ConsoleBrowser, hiddenFields } from './console-browser.ts'
import { addOperator, OTHER, OWNER, signInToConsole } from './visit.ts'

const test = base.extend('options', { admin: true })
const NEW = '/console/clients/new'
const URI = 'https://app.example.net/callback'

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

/** The tests of a file share a store. */
async function deleteAllDrafts({ store }: Grantor): Promise<void> {
  for (const { id } of await store.drafts.listDrafts()) await store.drafts.deleteDraft(id)
}

async function fill(page: Page, name: string, uri: string): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Redirect URIs', { exact: true }).fill(uri)
  await page.locator('#continue').click()
}

test('The browser goes back from every page of a registration without sending a form again, and the form offers what was entered', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, NEW)
  const posts: string[] = []
  page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
  await fill(page, 'Back app', 'javascript:alert(1)')
  await page.locator('#faults').waitFor()
  await fill(page, 'Back app', URI)
  await heading(page, 'Register this client?')
  expect(posts).toHaveLength(2)

  await page.goBack()
  await page.locator('#faults').waitFor()
  await page.goBack()
  await heading(page, 'Register a client')
  await page.getByRole('link', { name: 'Go on with what you entered' }).click()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Back app')
  expect(await page.getByLabel('Redirect URIs', { exact: true }).inputValue()).toBe(URI)
  await page.locator('#continue').click()
  await page.locator('#edit').click()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Back app')
  await page.locator('#continue').click()
  await page.locator('#confirm').click()
  await heading(page, 'The client is registered')
  const secret = await page.locator('#client-secret').textContent()
  expect(posts).toHaveLength(5)

  await page.goBack()
  await page.getByText('What you entered was sent already').waitFor()
  await page.goForward()
  expect(await page.locator('#client-secret').textContent()).toBe(secret)
  await page.reload()
  expect(await page.locator('#client-secret').textContent()).toBe(secret)
  expect(posts).toHaveLength(5)
  expect((await grantor.store.clients.listClients()).filter(({ name }) => name === 'Back app')).toHaveLength(1)
  expect((await grantor.store.drafts.listDrafts()).filter(({ path }) => path === NEW)).toEqual([])
})

test('A session that ends while an operator types loses nothing: after the sign-in the question has what was entered', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, NEW)
  grantor.clock.advance(3601)
  await fill(page, 'مرفأ الشفق', URI)
  await page.getByText('What you entered is kept').waitFor()
  expect(await seriousAxeViolations(page)).toEqual([])
  await page.getByRole('link', { name: 'Sign in with your wallet' }).click()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await heading(page, 'Register this client?')
  expect(await page.locator('main').textContent()).toContain('مرفأ الشفق')
  // The same with the confirmation: the question is shown again, and confirmed again.
  grantor.clock.advance(3601)
  await page.locator('#confirm').click()
  await page.getByRole('link', { name: 'Sign in with your wallet' }).click()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.locator('#confirm').click()
  await heading(page, 'The client is registered')
  expect((await grantor.store.clients.listClients()).filter(({ name }) => name === 'مرفأ الشفق')).toHaveLength(1)
})

test('Each fault of a form is at its field, and the list of faults links to the field', async ({ grantor, page }) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, NEW)
  await page.getByText('More settings').click()
  await page.getByLabel('Back-channel logout URI').fill('http://intranet/')
  await fill(page, 'x'.repeat(90), 'javascript:alert(1)')
  for (const label of ['Name', 'Redirect URIs', 'Back-channel logout URI']) {
    const field = page.getByLabel(label, { exact: true })
    expect([label, await field.getAttribute('aria-invalid')]).toEqual([label, 'true'])
    const described = (await field.getAttribute('aria-describedby')) ?? ''
    expect(await page.locator(`#${described.split(' ').at(-1)}`).textContent()).toBeTruthy()
  }
  expect(await page.getByLabel('Scopes', { exact: true }).getAttribute('aria-invalid')).toBeNull()
  expect(await seriousAxeViolations(page)).toEqual([])
  await page.locator('#faults a', { hasText: 'A name has at most' }).click()
  expect(await page.evaluate(() => location.hash)).toBe('#field-name')
})

test('The empty choice of a field names the value that applies', async ({ grantor, page }) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, NEW)
  expect(await page.locator('form.fields > .field').count()).toBeLessThanOrEqual(5)
  await page.getByText('More settings').click()
  const empty = await page.locator('option[value=""]').allTextContents()
  expect(empty).toContain('default (session, or signed for a native client)')
  expect(empty.filter((words) => words === 'default')).toEqual([])
})

test('A form of an ended session is kept only for a wallet that is an operator, and only that operator opens the draft', async ({
  grantor,
}) => {
  await deleteAllDrafts(grantor)
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'operator')
  const [owner, other] = [new ConsoleBrowser(grantor, OWNER), new ConsoleBrowser(grantor, OTHER)]
  await owner.signIn()
  await other.signIn()
  const fields: Record<string, string> = { ...hiddenFields(await owner.get(NEW)), name: 'Harbour', redirect_uris: URI }
  const foreign = { ...hiddenFields(await other.get(NEW)), name: 'Foreign', redirect_uris: URI }
  // A token that names a grant of another client is no proof of an operator.
  const client = await grantor.createClient()
  const [grant] = await grantor.store.grants.listGrants({ limit: 1 })
  const forms: SealedFormat<{ grantId: string; path: string }> = sealedFormat('consoleForm')
  const stranger = new ConsoleBrowser(grantor, OWNER)
  for (const form_token of [
    '',
    fields.form_token?.slice(0, -2) ?? '',
    forms.seal(grantor.deps.keys, { grantId: client.id, path: NEW }),
  ])
    expect((await stranger.postOnly(NEW, { ...fields, form_token })).status).toBe(401)
  expect((await stranger.postOnly(NEW, fields, { origin: 'https://evil.example' })).status).toBe(401)
  expect(await grantor.store.drafts.listDrafts()).toEqual([])
  expect(grant).toBeDefined()

  const kept = await stranger.postOnly(NEW, fields)
  expect(kept.status).toBe(303)
  expect((await stranger.get(kept.location)).body).toContain('What you entered is kept')
  expect((await other.get(kept.location)).body).not.toContain('Harbour')
  expect((await owner.get(kept.location)).body).toContain('Harbour')
  expect(JSON.stringify(await grantor.store.drafts.readDraft(kept.location.split('draft=')[1] ?? ''))).not.toContain('Harbour')

  await grantor.store.lists.changeList('operators', (list) => list.filter(({ id }) => id === OWNER.address))
  expect((await stranger.postOnly(NEW, foreign)).status).toBe(401)
  expect(await grantor.store.drafts.listDrafts()).toHaveLength(1)
})

test('A form of an earlier session of the same operator is shown again before it changes anything', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  const owner = new ConsoleBrowser(grantor, OWNER)
  await owner.signIn()
  const fields = { ...hiddenFields(await owner.get(NEW)), name: 'Earlier app', redirect_uris: URI, confirmed: 'yes' }
  await owner.signIn()
  const answer = await owner.post(NEW, fields)
  expect(answer.body).toContain('Register this client?')
  expect((await grantor.store.clients.listClients()).filter(({ name }) => name === 'Earlier app')).toEqual([])
})

test('A change that is refused because of another one leads to a page with who changed what, both values side by side, and a link to the form', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const { id } = await grantor.createClient({ name: 'Aurora' })
  await signInToConsole(page, grantor, OWNER, `/console/clients/${id}/change`)
  await page.getByLabel('Name', { exact: true }).fill('Renamed')
  await page.locator('#continue').click()
  await page.locator('#confirm').waitFor()
  const other = await adminCaller(grantor, 'operator')
  await other.call('PATCH', `/v1/clients/${id}`, { require_pkce: true })
  const answered = page.waitForResponse((response) => response.request().method() === 'GET')
  await page.locator('#confirm').click()
  expect((await answered).status()).toBe(412)
  await heading(page, 'It was changed meanwhile')
  expect(await page.locator('#who').textContent()).toMatch(
    new RegExp(`^${other.client.id} changed this client .*: require_pkce\\.$`),
  )
  const rows = page.locator('tbody tr')
  const cells = async (row: number) => (await rows.nth(row).locator('td').allTextContents()).map((text) => text.trim())
  expect([await cells(0), await cells(1), await rows.count()]).toEqual([['Name', 'Aurora', 'Renamed'], ['PKCE', 'yes', 'no'], 2])
  expect(await seriousAxeViolations(page)).toEqual([])
  await page.locator('#again').click()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Renamed')
  // The form names the present state, so the change can be confirmed.
  await page.locator('#continue').click()
  await page.locator('#confirm').click()
  await page.getByText('The client was changed.').waitFor()
  expect((await grantor.store.clients.readClient(id))?.name).toBe('Renamed')
})

test('A secret is shown for five minutes to the session that made it, with a button that copies it and the end of the earlier secret', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const { id } = await grantor.createClient({ name: 'Aurora' })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: grantor.adminUrl })
  await signInToConsole(page, grantor, OWNER, `/console/clients/${id}/rotate-secret`)
  await page.locator('#continue').click()
  await page.locator('#confirm').click()
  await heading(page, 'The secret is rotated')
  const secret = await page.locator('#client-secret').textContent()
  await page.getByRole('button', { name: 'Copy the secret' }).click()
  await page.getByText('Copied').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
  const { secrets } = (await grantor.store.clients.readClient(id))!
  const until = secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt ?? 0
  expect(await page.locator(`time[datetime="${new Date(until * 1000).toISOString()}"]`).count()).toBe(1)
  expect(await seriousAxeViolations(page)).toEqual([])

  const address = page.url()
  const cookies = await page.context().cookies()
  const thief = new ConsoleBrowser(grantor, OWNER)
  await thief.signIn()
  thief.cookies.set('grantor_console_secret', cookies.find(({ name }) => name.endsWith('secret'))?.value ?? '')
  expect((await thief.get(new URL(address).pathname)).status).toBe(404)
  grantor.clock.advance(301)
  await page.goto(address)
  await heading(page, 'The secret is no longer shown')
  expect(await page.content()).not.toContain(secret)
})
