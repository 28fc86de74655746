/** What the user needs to decide is in the window, however small it is: what the app may do, and the buttons. */
import { expect } from 'vitest'
import { test as base, FILE } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { isInView, newVisitor, openLogin, WINDOWS } from './login-visit.ts'

const test = base.extend('client', FILE, ({ grantor }) =>
  grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] }),
)

test.for(WINDOWS)(
  'With the text to sign, what the app may do, the buttons and each message are in view at $width x $height, and the text scrolls in its box',
  async (window, { browser, grantor, client, onTestFinished }) => {
    const page = await newVisitor(browser, window)
    onTestFinished(() => page.context().close())
    const installed = await installWallet(page, testWallet(0), { name: 'Foxglove', policy: 'reject' })
    await openLogin(page, grantor, client, { scope: 'enhancement profile' })
    await page.locator('.wallet').click()
    await page.locator('#sign').waitFor()
    for (const part of ['.app h1', '#scopes', '#review-title', '#sign', '#back'])
      expect([part, await isInView(page, part)]).toEqual([part, true])

    const text = page.locator('#message')
    const { height, rest } = await text.evaluate(({ clientHeight, scrollHeight }) => ({
      height: clientHeight,
      rest: scrollHeight - clientHeight,
    }))
    expect(height).toBeLessThan(window.height * 0.6)
    expect(rest).toBeGreaterThan(0)
    // The page itself moves the focus to the text's heading once, when it shows the text.
    const scrollToEnd = async () => {
      await text.press('End')
      return text.evaluate(({ scrollTop }) => Math.ceil(scrollTop))
    }
    await expect.poll(scrollToEnd).toBeGreaterThanOrEqual(rest)

    await page.locator('#sign').click()
    await page.locator('#problem:not(:empty)').waitFor()
    for (const part of ['#problem', '#sign']) expect([part, await isInView(page, part)]).toEqual([part, true])
    installed.policy = 'hang'
    await page.locator('#sign').click()
    await page.locator('#progress:not(:empty)').waitFor()
    expect(await isInView(page, '#progress')).toBe(true)
  },
)

test.for([
  { width: 390, height: 844, isPhone: true },
  { width: 320, height: 640, isPhone: true },
])(
  'A phone that signs for another screen has the letters, what the app may do and the buttons in view at $width x $height',
  async (window, { browser, grantor, client, onTestFinished }) => {
    const [desktop, phone] = [await newVisitor(browser), await newVisitor(browser, window)]
    onTestFinished(async () => {
      for (const page of [desktop, phone]) await page.context().close()
    })
    await openLogin(desktop, grantor, client, { scope: 'enhancement profile' })
    await installWallet(phone, testWallet(1), { name: 'Foxglove' })
    await phone.goto(await desktop.locator('#phone-link').inputValue())
    await phone.getByRole('button', { name: 'The letters match' }).click()
    await phone.locator('.wallet').click()
    await phone.locator('#sign').waitFor()
    for (const part of ['.user-code', '#scopes', '#sign', '#back'])
      expect([part, await isInView(phone, part)]).toEqual([part, true])
  },
)

test('An element that receives the focus is not behind the buttons (WCAG 2.2, 2.4.11)', async ({
  browser,
  grantor,
  client,
  onTestFinished,
}) => {
  const page = await newVisitor(browser, { width: 320, height: 640 })
  onTestFinished(() => page.context().close())
  await installWallet(page, testWallet(0), { name: 'Foxglove', accounts: [testWallet(0), testWallet(1)] })
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  for (const id of ['account', 'message', 'sign', 'back', 'cancel']) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(id)
    expect([id, await isInView(page, `#${id}`)]).toEqual([id, true])
  }
})

test.for([
  { width: 1280, height: 800, lines: 16 },
  { width: 320, height: 640, lines: 4 },
])(
  'At $width x $height the box of the text shows $lines lines, above the buttons',
  async ({ lines, ...window }, { browser, grantor, client, onTestFinished }) => {
    const page = await newVisitor(browser, window)
    onTestFinished(() => page.context().close())
    await installWallet(page, testWallet(0), { name: 'Foxglove' })
    await openLogin(page, grantor, client, { scope: 'enhancement profile' })
    await page.locator('.wallet').first().click()
    await page.locator('#sign').waitFor()
    const shown = await page.locator('#message').evaluate((box) => {
      const { paddingTop, lineHeight } = getComputedStyle(box)
      const end = Math.min(box.getBoundingClientRect().bottom, document.querySelector('.dock')?.getBoundingClientRect().top ?? 0)
      return (end - box.getBoundingClientRect().top - parseFloat(paddingTop)) / parseFloat(lineHeight)
    })
    expect(shown).toBeGreaterThanOrEqual(lines)
    // Nothing but the sentence about the text and the way back comes after the buttons
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    const [dock, sentence] = await Promise.all(['.dock', '#same-text'].map((part) => page.locator(part).boundingBox()))
    expect((sentence?.y ?? 0) - ((dock?.y ?? 0) + (dock?.height ?? 0))).toBeLessThanOrEqual(16)
  },
)

test('The button names the wallet, unless the name would break it in three lines', async ({
  browser,
  grantor,
  client,
  onTestFinished,
}) => {
  const page = await newVisitor(browser, { width: 320, height: 640 })
  onTestFinished(() => page.context().close())
  await installWallet(page, testWallet(0), { name: 'Institutional Custody Wallet' })
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  await page.locator('.wallet').first().click()
  await page.getByRole('button', { name: 'Sign', exact: true }).waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.getByRole('button', { name: 'Sign with Institutional Custody Wallet' }).waitFor()
  await page.setViewportSize({ width: 320, height: 640 })
  await page.getByRole('button', { name: 'Sign', exact: true }).waitFor()
})
