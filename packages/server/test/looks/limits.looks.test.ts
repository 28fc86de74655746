/** A limit on the login page, on the account page, on its receipt and in the console, in English and in a language that is written from right to left. */
import { expect } from 'vitest'
import { languages } from '../../src/pages/languages.ts'
import { appOnPage, openAccount } from '../flows/account-visit.ts'
import { openLogin } from '../flows/login-visit.ts'
import { addOperator, signInToConsole } from '../operators/console/visit.ts'
import { appOf, claimsOf } from '../support/app.ts'
import { createApi } from '../support/approvals.ts'
import { API, limitAppOf, WEEKLY } from '../support/limits.ts'
import type { Grantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { checkLooks } from './looks.ts'

/** Amounts with the most digits that a limit can have. */
const LARGE = {
  uses: 10_000,
  per: 'week',
  unit: 'NESOTOKENS',
  decimals: 2,
  amount: 999_999_999_999_999,
  each: 99_999_999_999_999,
} as const

/** A grant with 21 draws, of which one was given back. */
async function drawFrom(grantor: Grantor): Promise<string> {
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement'], resources: [API] })
  const app = limitAppOf(appOf(grantor, client, new Walk(grantor)), await createApi(grantor))
  await app.register(LARGE)
  const { access_token: token } = await app.signedTokens()
  const grantId = claimsOf(token).grant_id
  for (let n = 1; n <= 21; n++) await app.draw(token, { key: `use-${n}`, amount: String(4_500_000_000_000 + n) })
  await app.giveBack({ grant_id: grantId, key: 'use-21', amount: '1500' })
  return grantId
}

for (const language of [languages.en, languages.ar])
  checkLooks(
    `In ${language.name}: the numbers of a limit are accessible at the sign-in, before and after the choice of a wallet (WCAG 2.2 AA)`,
    { language },
    async function* ({ grantor, page }) {
      const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement'], resources: [API] })
      await limitAppOf(appOf(grantor, client, new Walk(grantor)), await createApi(grantor)).register(LARGE)
      await installWallet(page, testWallet(2), { name: 'Foxglove' })
      await openLogin(page, grantor, client, { resource: API, scope: 'enhancement', ui_locales: language.tag })
      await page.locator('#limit-amount').waitFor()
      yield `${language.tag}-limit-login`
      await page.locator('#limit-uses').fill('3')
      await page.locator('.wallet').click()
      await page.locator('#sign').waitFor()
      expect(await page.locator('#message').textContent()).toContain('at most 3 times a week')
      yield `${language.tag}-limit-review`
      await page.locator('#limit-uses').fill('30000')
      await page.locator('#limit-uses').press('Tab')
      await page.locator('#problem:not(:empty)').waitFor()
      yield `${language.tag}-limit-refused`
    },
  )

checkLooks(
  'A usual limit that the user lowered is accessible beside the text to sign (WCAG 2.2 AA)',
  {},
  async function* ({ grantor, page }) {
    const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement'], resources: [API] })
    await limitAppOf(appOf(grantor, client, new Walk(grantor)), await createApi(grantor)).register(WEEKLY)
    await installWallet(page, testWallet(2), { name: 'Foxglove' })
    await openLogin(page, grantor, client, { resource: API, scope: 'enhancement' })
    await page.locator('#limit-amount').fill('200.00')
    await page.locator('.wallet').click()
    await page.locator('#sign').waitFor()
    expect(await page.locator('#message').textContent()).toContain('50.00 NESO each, 200.00 a week')
    yield 'limit-usual'
  },
)

for (const language of [languages.en, languages.ar])
  checkLooks(
    `In ${language.name}: the limit of an app is accessible on the account page and beside its receipt (WCAG 2.2 AA)`,
    { language, service: () => ({ admin: true }) },
    async function* ({ grantor, page }) {
      await drawFrom(grantor)
      await openAccount(page, grantor, testWallet(0))
      await page.locator('#languages summary').click()
      await page.getByRole('button', { name: language.name }).click()
      await page.locator(`html[lang="${language.tag}"] .limit-use`).waitFor()
      yield `${language.tag}-limit-account`
      // With the keyboard, without script: from the row of the app to the uses, and to the older ones.
      await appOnPage(page, 'Aurora Notes').locator('a[href$="#uses"]').first().press('Enter')
      await page.locator('#uses').waitFor()
      expect(await page.locator('.draws .row').count()).toBe(20)
      yield `${language.tag}-limit-receipt`
      await page.locator('#older').press('Enter')
      await page.waitForURL(/before=2#uses$/)
      expect(await page.locator('.draws .row').count()).toBe(1)
      yield `${language.tag}-limit-older`
    },
  )

checkLooks(
  'The limit of a grant and its draws are accessible in the console (WCAG 2.2 AA)',
  { service: () => ({ admin: true }) },
  async function* ({ grantor, page }) {
    const grantId = await drawFrom(grantor)
    await addOperator(grantor, testWallet(1), 'owner')
    await signInToConsole(page, grantor, testWallet(1), `/console/grants/${grantId}`)
    await page.locator('#limit').waitFor()
    expect(await page.locator('#limit tbody tr').count()).toBe(20)
    yield 'limit-console-grant'
    await page.getByRole('link', { name: 'Older draws' }).press('Enter')
    await page.waitForURL(/draws=/)
    expect(await page.locator('#limit tbody tr').count()).toBe(1)
    await page.goto(`${grantor.adminUrl}/console/wallet?wallet=${testWallet(0).address}`)
    await page.getByText('Left: ').first().waitFor()
    yield 'limit-console-wallet'
  },
)
