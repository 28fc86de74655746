/** A person lowers the numbers of a limit in a real browser, with a wallet in the browser and by hand without a script, and the API draws. */
import { expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { startLimitApp, WEEKLY } from '../support/limits.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin, wordsIn } from './login-visit.ts'

const test = base.extend(
  'app',
  FILE,
  started(
    async () => {
      const app = await startLimitApp()
      await app.register(WEEKLY)
      return app
    },
    (app) => app.close(),
  ),
)

const REQUEST = { resource: 'https://api.example.com/', scope: 'enhancement' }

test('The numbers of the request stand in the fields, a lowered one is signed, and the API reads and draws it', async ({
  app,
  browser,
}) => {
  const page = await newVisitor(browser)
  const { signed } = await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, app.grantor, app.client, REQUEST)
  const values = () => page.locator('#limit input').evaluateAll((all) => all.map((input) => (input as HTMLInputElement).value))
  expect(await values()).toEqual(['20', '50.00', '500.00'])
  await page.getByLabel('Times a week').fill('5')
  await page.getByLabel('NESO a week').fill('60.5')
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  const text = await page.locator('#message').textContent()
  expect(text).toContain('Limit: enhancement at most 5 times a week, 50.00 NESO each, 60.50 a week.')
  await page.locator('#sign').click()
  const code = (await backAtApp(page)).get('code') ?? ''
  expect(signed).toEqual([text])
  const token = (await app.walk.exchange(app.client, code)).json().access_token as string
  expect((await app.draw(token, { amount: '5000' })).json()).toMatchObject({ draw: 1, left: { uses: 4, amount: 1050 } })
  await page.context().close()
})

test('A number that is raised is refused in words, what was typed stays, and nothing is signed', async ({ app, browser }) => {
  const page = await newVisitor(browser)
  const { signed } = await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, app.grantor, app.client, REQUEST)
  await page.getByLabel('NESO a week').fill('600')
  await page.locator('.wallet').click()
  expect(await wordsIn(page, 'problem')).toBe('Each number can only be lowered. Check the numbers, then try again.')
  expect(await page.getByLabel('NESO a week').inputValue()).toBe('600')
  expect(await page.locator('#review').isVisible()).toBe(false)
  await page.getByLabel('NESO a week').fill('400')
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  expect(await page.locator('#message').textContent()).toContain('400.00 a week')
  // A change beside the text needs a new text.
  await page.getByLabel('Times a week').fill('1')
  await page.getByLabel('Times a week').press('Tab')
  await expect.poll(() => page.locator('#message').textContent()).toContain('at most 1 time a week')
  expect(signed).toEqual([])
  await page.context().close()
})

test('Without a script, the numbers go through the forms, a raised one comes back with the reason, and a lowered one is in the text', async ({
  app,
  browser,
}) => {
  const page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, app.grantor, app.client, REQUEST)
  await page.locator('#limit-amount').fill('600')
  await page.locator('#no-script-address').fill(testWallet(0).address)
  await page.locator('#no-script-show').click()
  expect(await page.locator('#limit-problem').innerText()).toBe(
    'Each number can only be lowered. Check the numbers, then try again.',
  )
  expect(await page.locator('#limit-amount').inputValue()).toBe('600')
  await page.locator('#limit-amount').fill('60')
  await page.locator('#no-script-address').fill(testWallet(0).address)
  await page.locator('#no-script-show').click()
  const text = await page.locator('#message').inputValue()
  expect(text).toContain('60.00 a week')
  await page.locator('#signature').fill(testWallet(0).sign(text))
  await page.locator('#sign-in').click()
  expect((await backAtApp(page)).get('code')).not.toBeNull()
  await page.context().close()
})
