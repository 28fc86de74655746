/** Pictures of the pages with the looks of operators. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setClientLogo } from '../../src/domain/clients/client-logo.ts'
import { PLATFORM_LOGO, readLogo } from '../../src/look/logo.ts'
import type { LookValues } from '../../src/pages/look.ts'
import { launchBrowser } from '../support/browser.ts'
import { pngLogo } from '../support/logos.ts'
import { startGrantor } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { connectApp, openAccount } from './account-visit.ts'
import { newVisitor, openLogin } from './login-visit.ts'
import { expectGoodLooks } from './looks.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

function logo(width: number, height: number, color: [number, number, number, number]) {
  const read = readLogo(pngLogo({ width, height, color }), PLATFORM_LOGO)
  if ('fault' in read) throw new Error(read.fault)
  return read.logo
}

const links = { helpUrl: 'https://aurora.example/help', privacyUrl: 'https://aurora.example/privacy' }
const looks: [name: string, values: LookValues][] = [
  ['blue-wide', { ...links, name: 'Aurora Pay', accentColor: '#0b2a6f', logo: logo(600, 100, [11, 42, 111, 255]) }],
  [
    'yellow-tall',
    {
      ...links,
      name: 'Northern Lights Savings and Payments Inc',
      accentColor: '#6d5800',
      logo: logo(80, 240, [255, 212, 0, 255]),
    },
  ],
  ['letter', { name: 'Øresund', accentColor: '#7a1a1a', helpUrl: links.helpUrl }],
]

test.each(looks)(
  'The login page with the look of an operator is accessible in every width and scheme: %s',
  async (name, values) => {
    const grantor = await startGrantor({ look: values })
    const client = await grantor.createClient({ name: 'Aurora Notes' })
    const page: Page = await newVisitor(browser)
    await installWallet(page, testWallet(0), { name: 'Foxglove' })
    await openLogin(page, grantor, client)
    await page.locator('.wallet').first().waitFor()
    await expectGoodLooks(page, `branding-choose-${name}`)
    await page.locator('.wallet').first().click()
    await page.locator('#sign').waitFor()
    await expectGoodLooks(page, `branding-review-${name}`)
    expect(await page.locator('.masthead').textContent()).toContain(values.name)
    await page.context().close()
    await grantor.close()
  },
)

test('The logo of an app is beside its name on the login page and on the account page, in every width and scheme', async () => {
  const grantor = await startGrantor({ look: { name: 'Aurora Pay', accentColor: '#0b2a6f' } })
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  await setClientLogo(grantor.store, client.id, { logo: logo(240, 90, [122, 26, 26, 255]) })
  await grantor.noticeChanges()
  const page: Page = await newVisitor(browser)
  const blocked: string[] = []
  page.on('console', (line) => line.type() === 'error' && blocked.push(line.text()))
  const isDrawn = (on: Page) => on.locator('img.tile').evaluate((image: HTMLImageElement) => image.naturalWidth === 240)
  await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').first().waitFor()
  await expect.poll(() => isDrawn(page)).toBe(true)
  await expectGoodLooks(page, 'branding-app-logo')
  expect(blocked).toEqual([])
  await connectApp(grantor, client, testWallet(0))
  const account: Page = await newVisitor(browser)
  await openAccount(account, grantor, testWallet(0))
  await expect.poll(() => isDrawn(account)).toBe(true)
  await expectGoodLooks(account, 'branding-account')
  await account.context().close()
  await page.context().close()
  await grantor.close()
})
