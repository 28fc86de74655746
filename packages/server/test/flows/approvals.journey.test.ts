/** A person approves one action of an API in a real browser: the link, the words of the API, the wallet, and what the API may do afterwards. */
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { LONG_SUMMARY } from '../pages/samples.ts'
import { type Approval, type ApprovalApp, type Receipt, startApprovalApp } from '../support/approvals.ts'
import { newPage } from '../support/browser.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { requestOf } from '../support/walk.ts'
import { type InstalledWallet, installWallet, testWallet } from '../support/wallet.ts'
import { openAccount } from './account-visit.ts'
import { isInView, WINDOWS, wordsIn } from './login-visit.ts'

const SUMMARY = 'Enhance item 7 to level 3, for 120 gold'
const OWNER = testWallet(0)
const OTHER = testWallet(1)

const test = base
  .extend(
    'api',
    FILE,
    started(
      () => startApprovalApp({ developmentWallet }),
      (api) => api.close(),
    ),
  )
  // a token of a grant of its own, so that no limit of another test counts
  .extend('token', async ({ api }) => {
    api.grantor.clock.advance(3601)
    await api.walk.signIn({ ...requestOf(api.client), prompt: 'login' })
    return api.freshToken()
  })
  .extend('approval', ({ api, token }) => api.asked(token, { summary: SUMMARY }))

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const stateOf = async (api: ApprovalApp, approval: Approval) => (await api.read(approval)).json().state

/** Opens the link with a wallet in the browser, and goes on to the page on which the wallet signs. */
async function goOnToSign(page: Page, approval: Approval, wallet = OWNER, options: InstalledWallet = {}) {
  const installation = await installWallet(page, wallet, { name: 'Foxglove', ...options })
  await page.goto(approval.approval_uri)
  await page.getByRole('button', { name: 'Go on to sign' }).click()
  await page.locator('.wallet').waitFor()
  return installation
}

describe('Signing', () => {
  test('A person reads the action in the words of the API, signs the text once, and the API acts once', async ({
    api,
    approval,
    page,
  }) => {
    const { signed } = await installWallet(page, OWNER, { name: 'Foxglove' })
    await page.goto(approval.approval_uri)
    await heading(page, 'Approve one action of MyApp?')
    const action = page.getByRole('figure')
    expect(await action.locator('figcaption').innerText()).toBe('These are the words of api.example.com, not ours.')
    expect(await action.locator('blockquote').innerText()).toBe(`“${SUMMARY}”`)
    expect(await page.locator('.facts').innerText()).toContain('0xf39F…2266')
    expect(await page.getByText('This request is open until').innerText()).toMatch(/ \d\d:\d\d UTC in 10 minutes$/)
    await page.getByRole('button', { name: 'Go on to sign' }).click()

    expect(await page.locator('#signer').innerText()).toBe('Only 0xf39F…2266 can sign this.')
    await page.locator('.wallet').click()
    await page.locator('#sign').waitFor()
    expect(await page.locator('figure.action blockquote').innerText()).toBe(`“${SUMMARY}”`)
    const text = await page.locator('#message').textContent()
    expect(text).toContain(`Once: '${SUMMARY}' (words of api.example.com), for 'MyApp'`)
    await page.locator('#sign').click()
    await heading(page, 'Approved')
    expect(signed).toEqual([text])

    const used = await api.use(approval)
    expect(used.status).toBe(200)
    expect((used.json() as { receipt: Receipt }).receipt.message).toBe(text)
    expect((await api.use(approval, 'second')).status).toBe(409)
    await page.goto(approval.approval_uri)
    await heading(page, 'This was approved already')
  })

  test.for(WINDOWS)(
    'With the text to sign, the longest action, the account and the buttons are in view at $width x $height',
    async (window, { api, token, page }) => {
      await page.setViewportSize(window)
      await goOnToSign(page, await api.asked(token, { summary: LONG_SUMMARY }))
      await page.locator('.wallet').click()
      await page.locator('#sign').waitFor()
      for (const part of ['h1', 'figure.action blockquote', '#review-title', '#account-name', '#sign', '#back'])
        expect([part, await isInView(page, part)]).toEqual([part, true])
    },
  )

  test('The keyboard alone is enough to approve an action', async ({ api, approval, page }) => {
    await installWallet(page, OWNER, { name: 'Foxglove' })
    await page.goto(approval.approval_uri)
    await press(page, 'Go on to sign')
    await page.locator('.wallet').waitFor()
    await press(page, 'Foxglove')
    await page.locator('#sign').waitFor()
    await press(page, 'Sign with Foxglove')
    await heading(page, 'Approved')
    expect(await stateOf(api, approval)).toBe('signed')
  })

  test('Nothing on the page of an approval moves after the page is painted', async ({ approval, page }) => {
    await page.goto(approval.approval_uri)
    await page.evaluate(() => document.fonts.ready)
    const shift = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          let sum = 0
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value
          }).observe({ type: 'layout-shift', buffered: true })
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)))
        }),
    )
    expect(shift).toBe(0)
  })
})

describe('Another wallet', () => {
  test('The page names the wallet that must sign, the other wallet signs nothing, and a switch of the account is enough', async ({
    api,
    approval,
    page,
  }) => {
    const installation = await goOnToSign(page, approval, OTHER)
    await page.locator('.wallet').click()
    expect(await wordsIn(page, 'problem')).toBe(
      '0x7099…79c8 cannot sign this, only 0xf39F…2266 can. In Foxglove, choose that account, then try again.',
    )
    expect(await page.locator('#sign').isVisible()).toBe(false)
    expect(installation.signed).toEqual([])
    expect(await stateOf(api, approval)).toBe('waiting')

    await installation.switchTo([OWNER])
    await page.locator('#sign').click()
    await heading(page, 'Approved')
    expect(installation.signed).toHaveLength(1)
  })

  test('If a wallet shares several accounts, the page chooses the account that can sign', async ({ approval, page }) => {
    const { signed } = await goOnToSign(page, approval, OTHER, { accounts: [OTHER, OWNER] })
    await page.locator('.wallet').click()
    await page.locator('#sign').click()
    await heading(page, 'Approved')
    expect(signed.map((text) => text.split('\n')[1])).toEqual([OWNER.address])
  })

  test('Without script, the form names the wallet that must sign, and is not filled in with its whole address', async ({
    api,
    approval,
    browser,
    onTestFinished,
  }) => {
    const plain = await newPage(browser, { javaScriptEnabled: false })
    onTestFinished(() => plain.context().close())
    await plain.goto(approval.approval_uri)
    await plain.getByRole('button', { name: 'Go on to sign' }).click()
    await plain.locator('#no-script-address').waitFor()
    expect(await plain.locator('#no-script-address').inputValue()).toBe('')
    await plain.locator('#no-script-address').fill(OTHER.address)
    await plain.locator('#no-script-show').click()
    expect(await plain.locator('#no-script-address-problem').innerText()).toBe('Only 0xf39F…2266 can sign this.')
    await plain.locator('#no-script-address').fill(OWNER.address)
    await plain.locator('#no-script-show').click()
    const text = await plain.locator('textarea#message').inputValue()
    await plain.locator('#signature').fill(OWNER.sign(text))
    await plain.locator('#sign-in').click()
    await heading(plain, 'Approved')
    expect(await stateOf(api, approval)).toBe('signed')
  })

  test('The development login names the account that must sign', async ({ approval, page }) => {
    await page.goto(approval.approval_uri)
    await page.getByRole('button', { name: 'Go on to sign' }).click()
    await page.locator('#development > summary').click()
    await page.locator('#address').fill(OTHER.address)
    await page.locator('#sign-in').click()
    expect(await page.locator('#address-problem').innerText()).toBe('Only 0xf39F…2266 can sign this.')
  })
})

describe('Declining, and being late', () => {
  test.for([
    ['Decline', 200],
    ['Decline, and ask me no more for this app', 403],
  ] as const)('A person presses “%s”, and the action does not happen', async ([button, next], { api, token, approval, page }) => {
    await page.goto(approval.approval_uri)
    await page.getByRole('button', { name: button, exact: true }).click()
    await heading(page, 'You declined')
    expect((await api.use(approval)).json()).toMatchObject({ error: 'not_approved', state: 'declined' })
    await page.goto(approval.approval_uri)
    await heading(page, 'This was declined already')
    expect((await api.ask(token)).status).toBe(next)
  })

  test('A person declines on the page on which the wallet signs, and nothing is signed', async ({ api, approval, page }) => {
    const { signed } = await goOnToSign(page, approval)
    await page.getByRole('button', { name: 'Decline' }).click()
    await heading(page, 'You declined')
    expect(signed).toEqual([])
    expect(await stateOf(api, approval)).toBe('declined')
  })

  test('The link of a question that has run out of time says so, and so does a page that was open meanwhile', async ({
    api,
    approval,
    page,
  }) => {
    const { signed } = await goOnToSign(page, approval)
    await page.locator('.wallet').click()
    await page.locator('#sign').waitFor()
    api.grantor.clock.advance(600)
    await page.locator('#sign').click()
    await heading(page, 'This question has run out of time')
    expect(await stateOf(api, approval)).toBe('expired')
    expect(signed).toHaveLength(1)
    const response = await page.goto(approval.approval_uri)
    expect(response?.status()).toBe(410)
    await heading(page, 'This question has run out of time')
  })
})

test('The account page leads to a question that waits, and lists the receipt after the signature', async ({
  api,
  approval,
  page,
}) => {
  await openAccount(page, api.grantor, OWNER)
  const waiting = page.getByRole('region', { name: 'Waiting for you' })
  const row = waiting.getByRole('listitem').filter({ has: page.locator(`a[href="${approval.approval_uri}"]`) })
  expect(await row.locator('blockquote').innerText()).toBe(`“${SUMMARY}”`)
  await row.getByRole('link', { name: 'Look and answer' }).click()
  await page.getByRole('button', { name: 'Go on to sign' }).click()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await heading(page, 'Approved')
  await page.getByRole('link', { name: 'Your connected apps' }).click()
  await heading(page, 'Your connected apps')
  expect(await waiting.count()).toBe(0)
  const approved = page.locator('tbody', { hasText: 'MyApp' }).locator('details', { hasText: 'What you approved once' })
  await approved.locator('summary', { hasText: 'What you approved once' }).click()
  const newest = approved.locator('li').first()
  expect(await newest.locator('blockquote').innerText()).toBe(`“${SUMMARY}”`)
  await newest.getByRole('link', { name: 'View' }).click()
  await heading(page, 'You approved one action of MyApp')
  expect(await page.locator('figure.action blockquote').innerText()).toBe(`“${SUMMARY}”`)
  expect(await page.locator('#message').textContent()).toContain(`Once: '${SUMMARY}'`)
})

/** Moves the focus with the tab key until it is on this button, and presses the button. */
async function press(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true })
  for (let tabs = 0; tabs < 30; tabs++) {
    if (await button.evaluate((each) => each === document.activeElement)) return page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
  }
  throw new Error(`the tab key does not reach the button ${name}`)
}
