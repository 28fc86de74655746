/** The limit of a scope in the forms of the console. */
import { expect } from 'vitest'
import { test as base } from '../../support/fixtures.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OWNER } from './visit.ts'

const test = base.extend('options', { admin: true })
const URI = 'https://limited.example.net/'
const OTHER_URI = 'https://other.example.net/'
const LINE = 'pay: pay | at most 20 times a week, 50.00 NESO each, 500.00 a week'
const limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 }

test('A limit is entered after the description of the scope, is shown in the same words, and stays if the form is sent unchanged', async ({
  grantor,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const send = async (path: string, fields: Record<string, string>) =>
    browser.post(path, { ...(await browser.fieldsAt(path)), ...fields, confirmed: 'yes' })
  const scopes = `read: read it\n${LINE}`
  await send('/console/resources/new', { resource: URI, name: 'Limited', scopes })
  const stored = [
    { name: 'read', description: 'read it' },
    { name: 'pay', description: 'pay', limit },
  ]
  expect(await grantor.store.resources.readResource(URI)).toMatchObject({ scopes: stored })
  const path = `/console/resources/${encodeURIComponent(URI)}`
  expect((await browser.get(path)).body).toContain(LINE)
  expect((await browser.get(`${path}/change`)).body).toContain(scopes)
  await send(`${path}/change`, { name: 'Renamed', scopes })
  expect(await grantor.store.resources.readResource(URI)).toMatchObject({ name: 'Renamed', scopes: stored })
})

test('A limit that cannot be read is a fault at the field, and what was typed stays', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const path = '/console/resources/new'
  const scopes = 'pay: pay | at most 20 times a month'
  const { body } = await browser.post(path, { ...(await browser.fieldsAt(path)), resource: OTHER_URI, name: 'Limited', scopes })
  expect(body).toContain('A limit is written as: | at most 20 times a week')
  expect(body).toContain(scopes)
  expect(await grantor.store.resources.readResource(OTHER_URI)).toBeNull()
})
