/** The console in a real browser: every change by clicking, then with the keyboard only, then without script. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { connectApp } from '../../flows/account-visit.ts'
import { newPage, seriousAxeViolations } from '../../support/browser.ts'
import { test as base } from '../../support/fixtures.ts'
import type { Grantor } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OTHER, OWNER, signInToConsole } from './visit.ts'

const USER = testWallet(2)

const test = base.extend('options', { admin: true })

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()
const click = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name, exact: true }).click()

/** Reads what will happen, confirms, and expects no serious axe violation on the question. */
async function confirm(page: Page): Promise<string> {
  const effect = (await page.locator('#effect').textContent()) ?? ''
  expect(await seriousAxeViolations(page)).toEqual([])
  await page.locator('#confirm').click()
  return effect
}

test('An owner signs in with a wallet, sees every page, and signs out', async ({ grantor, page }) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor)
  await heading(page, 'Overview')
  for (const name of ['Clients', 'Resources', 'Wallets', 'Keys', 'Operators', 'Audit', 'Overview']) {
    await page.getByRole('navigation').getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.locator('[data-problem]').count()).toBe(0)
    expect(await seriousAxeViolations(page)).toEqual([])
  }
  await page.getByRole('button', { name: 'Sign out' }).click()
  await heading(page, 'Sign in to the console')
  await page.goto(`${grantor.adminUrl}/console/clients`)
  await heading(page, 'Sign in to the console')
})

test('The console warns before a registration, and on the page of the client, if some hardware wallets cannot sign the longest text', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, '/console/clients/new')
  await page.getByLabel('Name', { exact: true }).fill('Harbour')
  await page.getByLabel('Redirect URIs', { exact: true }).fill(`https://app.example.net/${'a'.repeat(600)}`)
  await page.locator('#continue').click()
  const warning =
    /The longest text that a wallet signs for this client has 1,\d{3} bytes\. Some hardware wallets sign at most 1,024\./
  await page.getByText(warning).first().waitFor()
  await confirm(page)
  await page.getByRole('link', { name: 'The client' }).click()
  await page.getByText(warning).first().waitFor()
  // The warning is no state of the client: the form of a change is accepted.
  await click(page, 'Change')
  await page.getByLabel('Redirect URIs', { exact: true }).fill('https://app.example.net/callback')
  await page.locator('#continue').click()
  await confirm(page)
  await heading(page, 'Harbour')
  expect(await page.getByText(warning).count()).toBe(0)
})

test('An owner registers, changes, disables, enables and deletes a client by clicking, and the deletion names the grants that end', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, '/console/clients')
  await click(page, 'Register a client')
  await page.getByLabel('Redirect URIs', { exact: true }).fill('javascript:alert(1)')
  await page.locator('#continue').click()
  expect(await page.locator('#faults li').count()).toBeGreaterThan(0)
  await page.getByLabel('Name', { exact: true }).fill('Harbour')
  await page.getByLabel('Redirect URIs', { exact: true }).fill('https://app.example.net/callback')
  await page.locator('#continue').click()
  expect(await confirm(page)).toBe('It registers 1 client. No grant changes.')
  const secret = await page.locator('#client-secret').textContent()
  expect(secret).toMatch(/^[\w-]{43}$/)
  const id = (await page.locator('#client-id').textContent()) ?? ''
  await grantor.noticeChanges()
  const stored = await grantor.store.clients.readClient(id)
  for (const _ of [1, 2, 3]) await connectApp(grantor, { ...stored!, secret: secret ?? '' }, USER)

  await click(page, 'The client')
  await click(page, 'Change')
  await page.getByLabel('Name', { exact: true }).fill('Harbour 2')
  await page.locator('#continue').click()
  expect(await confirm(page)).toBe('It changes 1 setting of a client with 3 grants that have not ended.')
  await page.getByText('The client was changed.').waitFor()
  await click(page, 'Rotate the secret')
  await page.locator('#continue').click()
  await confirm(page)
  expect(await page.locator('#client-secret').textContent()).not.toBe(secret)
  await click(page, 'The client')
  await click(page, 'Disable')
  expect(await confirm(page)).toContain('It stops 3 grants')
  await click(page, 'Enable')
  expect(await confirm(page)).toBe('3 grants work again.')

  await page.goto(`${grantor.adminUrl}/console/clients?search=harbOUR`)
  await click(page, 'Harbour 2')
  await click(page, 'Delete')
  expect(await confirm(page)).toBe('It ends 3 grants and deletes the client.')
  await heading(page, /Deleting the client …/)
  expect(await page.locator('#progress').textContent()).toBe('0 grants ended, 3 grants left.')
  await grantor.workOnJobs()
  // The page refreshes itself.
  await heading(page, 'Deleting the client is done')
  expect(await page.locator('#progress').textContent()).toBe('3 grants ended.')
  expect(await grantor.store.clients.readClient(id)).toBeNull()
})

test('An operator finds a wallet, reads what it signed, and ends a session, one grant, those of an app, and all', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'operator')
  const [one, two] = [await grantor.createClient({ name: 'First app' }), await grantor.createClient({ name: 'Second app' })]
  const apps = [
    await connectApp(grantor, one, USER),
    await connectApp(grantor, one, USER),
    await connectApp(grantor, one, USER),
    await connectApp(grantor, two, USER),
  ]
  const active = () => Promise.all(apps.map((app) => app.isActive()))
  await signInToConsole(page, grantor, OTHER, '/console/wallet')
  await page.getByLabel('Address of a wallet').fill('0x12')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText('Enter 0x and at least 4 hexadecimal digits').waitFor()
  await page.getByLabel('Address of a wallet').fill(USER.address.slice(0, 8).toLowerCase())
  await page.getByRole('button', { name: 'Find' }).click()
  await page.locator('#found td.main a').click()
  await page.getByText('4 grants of this wallet have not ended.').waitFor()

  await page.locator('#sessions tbody a').first().click()
  expect(await confirm(page)).toContain('It signs 1 browser of 0x3C44…93BC out')
  await page.getByText('That browser is signed out.').waitFor()
  await page.locator('#grants td.main a', { hasText: 'First app' }).first().click()
  expect(await page.locator('#message').textContent()).toContain("Allow 'First app'")
  await click(page, 'End this grant')
  expect(await confirm(page)).toBe('It ends 1 grant: First app loses the access that 0x3C44…93BC gave it.')
  await page.getByText('The grant has ended.').waitFor()
  expect((await active()).filter(Boolean)).toHaveLength(3)
  await click(page, 'End all of this app for the wallet')
  expect(await confirm(page)).toBe('It ends 2 grants at First app, and withdraws what the wallet signed for it.')
  await page.getByText('2 grants ended.').waitFor()
  expect(await active()).toEqual([false, false, false, true])
  await click(page, 'End all grants of this wallet')
  expect(await confirm(page)).toBe('It ends 1 grant at all apps, and withdraws what the wallet signed for them.')
  await page.getByText('1 grant ended.').waitFor()
  expect(await active()).toEqual([false, false, false, false])
})

test('An owner registers, changes and deletes a resource, rotates and retires a key, and changes the operators', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, '/console/resources/new')
  await page.getByLabel('URI').fill('https://shells.example.net/')
  await page.getByLabel('Name', { exact: true }).fill('Shells')
  await page.getByLabel('Scopes').fill('shells.read: read your shells')
  await page.locator('#continue').click()
  await confirm(page)
  await page.getByText('The resource is registered.').waitFor()
  await click(page, 'Change')
  await page.getByLabel('Scopes').fill('shells.read: read your shells\nshells.write: paint: your shells')
  await page.locator('#continue').click()
  expect(await confirm(page)).toBe('It changes 1 setting. It ends 0 grants.')
  await page.getByText('shells.write: paint: your shells').waitFor()
  await click(page, 'Delete')
  expect(await confirm(page)).toContain('It removes 1 resource with 2 scopes.')
  await page.getByText('The resource was removed.').waitFor()

  await page.goto(`${grantor.adminUrl}/console/keys`)
  const key = (hasText: string) => page.locator('tr', { hasText })
  await key('ID tokens, EdDSA')
    .getByText(/rotation in \d months/)
    .waitFor()
  await key('ID tokens, EdDSA').getByRole('link', { name: 'Rotate now' }).click()
  expect(await confirm(page)).toContain('It makes 1 key')
  await key('ID tokens, EdDSA').getByText('announced').waitFor()
  await key('ID tokens, RS256').getByRole('link', { name: 'Retire' }).click()
  expect(await confirm(page)).toContain('everything that the old key made stops working now')
  await page.getByText('The key was retired.').waitFor()

  await page.goto(`${grantor.adminUrl}/console/operators`)
  await click(page, 'Add an operator')
  await page.getByLabel('Operator').fill(USER.address)
  await page.getByLabel('Role').selectOption('auditor')
  await page.locator('#continue').click()
  expect(await confirm(page)).toContain('It gives 1 more operator access: reads everything')
  const row = page.locator('tr', { hasText: USER.address })
  await row.getByRole('link', { name: 'Change' }).click()
  await page.getByLabel('Role').selectOption('operator')
  await page.locator('#continue').click()
  expect(await confirm(page)).toContain('from auditor to operator')
  await row.getByRole('link', { name: 'Remove' }).click()
  await confirm(page)
  await page.getByText('The operator was removed').waitFor()
  await page.locator('tr', { hasText: OWNER.address }).getByRole('link', { name: 'Remove' }).click()
  expect(await page.locator('#effect').textContent()).toContain('This is the last owner, who cannot be removed.')
  await page.locator('#confirm').click()
  await page.getByText('The last owner can be neither removed nor given another role.').waitFor()

  await page.goto(`${grantor.adminUrl}/console/audit?event=operator_removed`)
  await page.locator('.trail summary').click()
  await page.getByText('0x3C44…93BC').waitFor()
})

/** Presses Tab until the element with this accessible name has the focus, and then Enter. */
async function reach(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document
      const label = element instanceof HTMLInputElement ? (element.labels?.[0]?.textContent ?? '') : (element?.textContent ?? '')
      return label.trim()
    })
    if (name.test(focused)) return
  }
  throw new Error(`the keyboard does not reach ${name}`)
}

test('With the keyboard only, an operator searches for a client, disables it, and signs out', async ({ grantor, page }) => {
  await addOperator(grantor, OWNER, 'owner')
  const client = await grantor.createClient({ name: 'Keyboard app' })
  await signInToConsole(page, grantor)
  await reach(page, /^Skip to the content$/)
  await reach(page, /^Clients$/)
  await page.keyboard.press('Enter')
  await heading(page, 'Clients')
  await reach(page, /^Search by name or id$/)
  await page.keyboard.type('keyboard')
  await page.keyboard.press('Enter')
  await page.waitForURL(/search=keyboard/)
  await reach(page, /^Keyboard app$/)
  await page.keyboard.press('Enter')
  await heading(page, 'Keyboard app')
  await reach(page, /^Disable$/)
  await page.keyboard.press('Enter')
  await heading(page, /^Disable/)
  await reach(page, /^Disable the client$/)
  await page.keyboard.press('Enter')
  await page.getByText('The client is disabled.').waitFor()
  expect((await grantor.store.clients.readClient(client.id))?.disabledAt).not.toBeNull()
  await reach(page, /^Sign out$/)
  await page.keyboard.press('Enter')
  await heading(page, 'Sign in to the console')
})

/** Gives the page the session of an operator who signed in elsewhere: the wallet in the page needs script. */
async function carrySession(page: Page, grantor: Grantor): Promise<void> {
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  await page
    .context()
    .addCookies([
      { name: 'grantor_console_session', value: browser.cookies.get('grantor_console_session') ?? '', url: grantor.adminUrl },
    ])
}

test('Without script every page can be read, a client is deleted, and the page of the job refreshes itself', async ({
  grantor,
  browser,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const client = await grantor.createClient({ name: 'Plain app' })
  await connectApp(grantor, client, USER)
  const page = await newPage(browser, { javaScriptEnabled: false })
  await carrySession(page, grantor)
  // The plots have the minutes that have ended. A request is counted after its response, so perhaps in the next minute.
  await expect
    .poll(async () => {
      grantor.clock.advance(60)
      await page.goto(`${grantor.adminUrl}/console`)
      return page.locator('svg.plot').count()
    })
    .toBe(2)
  await heading(page, 'Overview')
  await page.getByRole('navigation').getByRole('link', { name: 'Clients' }).click()
  await click(page, 'Plain app')
  await click(page, 'Delete')
  await page.locator('#confirm').click()
  await heading(page, /Deleting the client …/)
  await grantor.workOnJobs()
  await heading(page, 'Deleting the client is done')
  await page.context().close()
})
