/** The console in a real browser, by clicking. */
import { expect } from 'vitest'
import { seriousAxeViolations } from '../../support/browser.ts'
import { test as base } from '../../support/fixtures.ts'
import { addOperator, OTHER, OWNER, signInToConsole } from './visit.ts'

const test = base.extend('options', { admin: true })

test('An owner signs in with a wallet, sees every page, and signs out', async ({ grantor, page }) => {
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'auditor')
  await signInToConsole(page, grantor)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  for (const name of ['Clients', 'Resources', 'Wallets', 'Keys', 'Operators', 'Audit', 'Overview']) {
    await page.getByRole('navigation').getByRole('link', { name }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.locator('[data-problem]').count()).toBe(0)
    expect(await seriousAxeViolations(page)).toEqual([])
  }
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
  await page.goto(`${grantor.adminUrl}/console/clients`)
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
})
