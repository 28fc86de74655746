/** Lists of the console: search as one types, sort, both directions, also without script, and with ten thousand clients. */
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { connectApp } from '../../flows/account-visit.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import type { Grantor } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OTHER, OWNER, signInToConsole } from './visit.ts'

const MANY = 10_000
const RIGHT_TO_LEFT = 'יומן אורורה'

/** Ten thousand clients, beside one with a name that is written from right to left. */
async function register(grantor: Grantor): Promise<Grantor> {
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'owner')
  const { secret: _, ...record } = await grantor.createClient({ name: RIGHT_TO_LEFT })
  for (let first = 0; first < MANY; first += 200) {
    const numbers = Array.from({ length: 200 }, (_each, n) => first + n)
    await Promise.all(
      numbers.map((n) =>
        grantor.store.clients.insertClient({
          ...record,
          id: randomUUID(),
          name: `App ${String(n).padStart(5, '0')}`,
          createdAt: record.createdAt - n,
        }),
      ),
    )
  }
  return grantor
}

const test = base.extend('options', { admin: true }).extend('crowded', FILE, ({ grantor }) => register(grantor))

const names = (page: Page) => page.locator('#results td.main a').allTextContents()
const trimmed = async (page: Page) => (await names(page)).map((text) => text.trim())

test('Among ten thousand clients, the list follows the search while the operator types, keeps the focus, and changes the address', async ({
  crowded: grantor,
  page,
}) => {
  await signInToConsole(page, grantor, OWNER, '/console/clients')
  expect(await page.locator('#count').textContent()).toBe('10,001 clients')
  const search = page.getByRole('searchbox')
  await search.pressSequentially('app 0123')
  await page.waitForURL(/search=app\+0123/)
  await expect.poll(() => page.locator('#count').textContent()).toBe('10 clients')
  expect((await trimmed(page)).toSorted()).toEqual(Array.from({ length: 10 }, (_each, n) => `App 0123${n}`))
  expect(await search.evaluate((element) => element === document.activeElement)).toBe(true)
  await search.fill('אורורה')
  await expect.poll(() => trimmed(page)).toEqual([RIGHT_TO_LEFT])
  // The reloaded page has the same list.
  await page.reload()
  expect(await trimmed(page)).toEqual([RIGHT_TO_LEFT])
})

test('A list begins with the newest record, a column sorts it, a second click turns the order around, and pages lead forwards and back', async ({
  crowded: grantor,
  page,
}) => {
  await signInToConsole(page, grantor, OWNER, '/console/clients')
  expect(await page.locator('th[aria-sort="descending"]').textContent()).toBe('Registered')
  expect((await trimmed(page)).slice(2, 5)).toEqual(['App 00001', 'App 00002', 'App 00003'])
  await page.getByRole('link', { name: 'Name' }).click()
  expect(await page.locator('th[aria-sort="ascending"]').textContent()).toBe('Name')
  const first = await trimmed(page)
  expect(first.slice(0, 2)).toEqual(['App 00000', 'App 00001'])
  await page.getByRole('link', { name: 'Next page' }).click()
  expect((await trimmed(page))[0]).toBe('App 00050')
  await page.getByRole('link', { name: 'Previous page' }).click()
  expect(await trimmed(page)).toEqual(first)
  await page.getByRole('link', { name: 'Name' }).click()
  expect((await trimmed(page))[0]).toBe(RIGHT_TO_LEFT)
  await page.getByLabel('State').selectOption('disabled')
  await page.waitForURL(/state=disabled/)
  await expect.poll(() => page.locator('#count').textContent()).toBe('0 clients')
  // Each filter that is set has a link that removes it.
  await page.getByRole('link', { name: 'Remove the filter State: disabled' }).click()
  await expect.poll(() => page.locator('#count').textContent()).toBe('10,001 clients')
})

test('Without script a list of the console can be searched, sorted and paged: the form has a button, and every link is an address', async ({
  crowded: grantor,
}) => {
  const browser = new ConsoleBrowser(grantor, OTHER)
  await browser.signIn()
  const { body } = await browser.get('/console/clients?search=App+0999&sort=created_at&order=descending&type=confidential')
  expect(body).toContain('10 clients')
  expect(body).toMatch(/<button class="button quiet small">Search<\/button>/)
  const [, next = ''] = /href="([^"]*)" rel="next"/.exec((await browser.get('/console/clients')).body) ?? []
  const second = await browser.get(next.replaceAll('&amp;', '&'))
  const [, back = ''] = /href="([^"]*)" rel="prev"/.exec(second.body) ?? []
  expect((await browser.get(back.replaceAll('&amp;', '&'))).body).toContain('rel="next"')
})

test('If the session ends while an operator searches, the page of the sign-in opens, and leads back to the search', async ({
  crowded: grantor,
  page,
}) => {
  await signInToConsole(page, grantor, OWNER, '/console/clients')
  await page.context().clearCookies()
  await page.getByRole('searchbox').pressSequentially('App 00007')
  await page.getByRole('link', { name: 'Sign in with your wallet' }).click()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.waitForURL(/console\/clients\?search=/)
})

test('From the page of a client an operator comes to its grants, and ends those that match; a second operator sees the job', async ({
  crowded: grantor,
  page,
}) => {
  const client = await grantor.createClient({ name: 'Harbour' })
  for (const number of [1, 2] as const) await connectApp(grantor, client, testWallet(number))
  await signInToConsole(page, grantor, OWNER, `/console/clients/${client.id}`)
  await page.getByRole('link', { name: 'The grants of this client' }).click()
  expect(await page.locator('#results tbody tr').count()).toBe(2)
  await page.getByRole('link', { name: 'End several grants' }).click()
  expect(await page.getByLabel('Client').inputValue()).toBe(client.id)
  await page.getByLabel('Created before (UTC)').fill('2999-01-01T00:00:00')
  await page.locator('#continue').click()
  expect(await page.locator('#effect').textContent()).toBe('It ends 2 grants of Harbour.')
  await page.locator('#confirm').click()
  expect(await page.locator('#progress').textContent()).toBe('0 grants ended, 2 grants left.')
  const other = new ConsoleBrowser(grantor, OTHER)
  await other.signIn()
  expect((await other.get('/console/jobs')).body).toContain('Ending several grants')
  await grantor.workOnJobs()
  await page.getByText('2 grants ended').waitFor()
  await page.goto(`${grantor.adminUrl}/console/grants/end`)
  await page.locator('#continue').click()
  expect(await page.locator('#faults').textContent()).toContain('At least one condition is needed.')
  await page.goto(`${grantor.adminUrl}/console/grants`)
  const shown = await page.locator('#results tbody tr').count()
  // Half of an address is no search yet.
  const half = page.waitForResponse((response) => response.url().includes('wallet=0x') && response.status() === 422)
  await page.getByLabel('Wallet').pressSequentially('0x1234')
  await half
  expect(await page.locator('#results tbody tr').count()).toBe(shown)
  await page.getByLabel('Wallet').fill(testWallet(1).address)
  await page.waitForURL(new RegExp(testWallet(1).address))
  await page.goto(`${grantor.adminUrl}/console/sessions`)
  expect(await page.locator('#results tbody tr').count()).toBeGreaterThanOrEqual(2)
})
