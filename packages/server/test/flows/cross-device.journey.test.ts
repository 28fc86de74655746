/** A person at a desktop signs in with the wallet on a phone: two browsers that share nothing but the letters and the QR code. */
import type { Browser, Page } from 'playwright-core'
import { afterEach, describe, expect } from 'vitest'
import type { PageOptions } from '../support/browser.ts'
import { test as base, FILE } from '../support/fixtures.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import { encode, parameterOf, Walk } from '../support/walk.ts'
import { installWallet, type TestWallet, testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin, wordsIn } from './login-visit.ts'
import { readCode } from './read-qr-code.ts'

const test = base.extend('client', FILE, ({ grantor }) =>
  grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] }),
)

const opened: Page[] = []
let browser: Browser
let grantor: Grantor
let client: TestClient
let desktop: Page

test.beforeEach(async ({ browser: shared, grantor: service, client: registered }) => {
  ;[browser, grantor, client] = [shared, service, registered]
  desktop = await open()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((page) => page.context().close()))
})

async function open(options?: PageOptions): Promise<Page> {
  const page = await newVisitor(browser, options)
  opened.push(page)
  return page
}

/** A phone, in the browser of a wallet app. */
async function openPhone(wallet: TestWallet | null = testWallet(1), width = 390): Promise<Page> {
  const phone = await open({ width, height: 844, isPhone: true })
  if (wallet) await installWallet(phone, wallet, { name: 'Foxglove' })
  return phone
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const lettersOn = (page: Page) => page.locator('.user-code').first().innerText()
const codeUrl = () => desktop.locator('#phone-link').inputValue()

/** Opens the login page with the letters. Returns the URL of the QR code. */
async function showCode(page = desktop): Promise<string> {
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  return page.locator('#phone-link').inputValue()
}

/** Compares the letters on the phone, and reads the text to sign. */
async function compare(phone: Page, url: string): Promise<void> {
  await phone.goto(url)
  expect(await lettersOn(phone)).toBe(await lettersOn(desktop))
  await phone.getByRole('button', { name: 'The letters match' }).click()
  await phone.locator('.wallet').click()
  await phone.locator('#sign').waitFor()
}

async function signOn(phone: Page, url: string): Promise<void> {
  await compare(phone, url)
  await phone.locator('#sign').click()
  await heading(phone, 'Done: look at your other screen')
}

const sessionCookies = async (page: Page) =>
  (await page.context().cookies()).map(({ name }) => name).filter((name) => name.includes('session'))

async function walletOf(code: string): Promise<unknown> {
  const walk = new Walk(grantor)
  const { access_token } = (await walk.exchange(client, code)).json()
  return (await walk.introspect(client, String(access_token))).json().sub
}

describe('A login at a desktop with the wallet on a phone', () => {
  test.for([390, 320])(
    'The phone of %s px scans the code, shows the same letters and signs, and the desktop continues by itself with its own state',
    async (width) => {
      await showCode()
      const phone = await openPhone(testWallet(1), width)
      const visited: string[] = []
      phone.on('request', (request) => void visited.push(new URL(request.url()).origin))
      const url = await readCode(desktop)
      expect(url).toBe(await codeUrl())
      await signOn(phone, url)

      const answer = await backAtApp(desktop)
      expect(answer.get('state')).toBe('a state/1')
      expect(await walletOf(answer.get('code') ?? '')).toBe(testWallet(1).address)
      expect(await sessionCookies(desktop)).toHaveLength(1)
      expect(await sessionCookies(phone)).toEqual([])
      expect(visited).not.toContain('https://app.example.net')
    },
  )

  test('Before the signature the phone reads the app, the letters and the place of the browser, and the signed text names the letters', async () => {
    const url = await showCode()
    const phone = await openPhone()
    await phone.goto(url)
    await heading(phone, 'Sign in to Aurora Notes on your other screen?')
    const words = await phone.locator('main').innerText()
    for (const part of ['app.example.net', 'Chromium on', 'Use the enhancement features for you', 'Then stop'])
      expect(words).toContain(part)
    expect(words).not.toContain('network')
    await compare(phone, url)
    const text = (await phone.locator('#message').textContent()) ?? ''
    expect(text).toContain(`Gives access to the browser that shows the code ${await lettersOn(desktop)}.`)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024)
  })

  test('A phone whose camera opens a browser without a wallet leads on to the wallet app, which shows the letters again', async () => {
    const url = await showCode()
    const camera = await openPhone(null)
    await camera.goto(url)
    await camera.getByRole('button', { name: 'The letters match' }).tap()
    const onward = camera.getByRole('link', { name: 'Trust Wallet' })
    await onward.waitFor()
    const target = new URL((await onward.getAttribute('href')) ?? '').searchParams.get('url') ?? ''
    await signOn(await openPhone(), target)
    await heading(camera, 'Another device has signed already')
    expect((await backAtApp(desktop)).has('code')).toBe(true)
  })

  test('On one phone the user goes to the wallet app and comes back: the first tab then continues at once', async () => {
    desktop = await openPhone(null)
    await openLogin(desktop, grantor, client, { scope: 'enhancement profile' })
    await desktop.getByRole('link', { name: 'Trust Wallet' }).waitFor()
    const url = await codeUrl()
    await countHiddenRequests(desktop)
    await setVisible(desktop, false)
    const walletApp = await desktop.context().newPage()
    await installWallet(walletApp, testWallet(1), { name: 'Foxglove' })
    await signOn(walletApp, url)
    expect(await walletApp.locator('.next').innerText()).toContain('go back to where you began')
    expect(await desktop.evaluate(() => Reflect.get(window, 'hiddenRequests'))).toBe(0)
    await desktop.bringToFront()
    await setVisible(desktop, true)
    const answer = await backAtApp(desktop)
    expect([answer.get('state'), answer.has('code')]).toEqual(['a state/1', true])
  })

  test('The page leaves once for the address that works once, also if several answers name it', async () => {
    const url = await showCode()
    await setVisible(desktop, false)
    await signOn(await openPhone(), url)
    let left = 0
    await desktop.exposeFunction('onLeave', () => left++)
    // The page stays, as while a slow network answers
    await desktop.evaluate(() => {
      Reflect.get(window, 'navigation').addEventListener('navigate', (event: Event) => {
        event.preventDefault()
        Reflect.get(window, 'onLeave')()
      })
    })
    for (const _ of [1, 2]) {
      const answered = desktop.waitForResponse((response) => response.url().includes('/login/status?'))
      await setVisible(desktop, true)
      await (await answered).finished()
    }
    await expect.poll(() => left).toBeGreaterThan(0)
    await setVisible(desktop, false)
    expect(left).toBe(1)
  })

  test('Without script the user says with a link that the phone has signed', async () => {
    desktop = await open({ javaScriptEnabled: false })
    const url = await showCode()
    const signed = desktop.getByRole('link', { name: 'I have signed on my phone' })
    await signed.click()
    await heading(desktop, 'Nothing was signed yet')
    const phone = await openPhone()
    await desktop.goBack()
    await signOn(phone, url)
    await signed.click()
    expect((await backAtApp(desktop)).get('state')).toBe('a state/1')
  })

  test('With a wallet in the browser of the desktop the user opens the letters with the keyboard alone, and compares and signs on the other device', async () => {
    await installWallet(desktop, testWallet(0), { name: 'Foxglove' })
    await openLogin(desktop, grantor, client)
    await desktop.locator('.wallet').first().waitFor()
    expect(await desktop.locator('#phone').isVisible()).toBe(false)
    await desktop.locator('#use-phone').focus()
    await desktop.keyboard.press('Enter')
    await desktop.locator('#cross-device-code').waitFor()
    const other = await open()
    await installWallet(other, testWallet(1), { name: 'Foxglove' })
    await other.goto(await codeUrl())
    await other.keyboard.press('Tab')
    expect(await other.evaluate(() => document.activeElement?.id)).toBe('allow')
    await other.keyboard.press('Enter')
    await other.locator('.wallet').focus()
    await other.keyboard.press('Enter')
    await other.locator('#sign').waitFor()
    await other.locator('#sign').focus()
    await other.keyboard.press('Enter')
    expect((await backAtApp(desktop)).has('code')).toBe(true)
  })
})

/** What a browser reports to a tab that the user leaves or returns to. */
/** Counts the requests that begin while the page is hidden. A request that began before may be reported later. */
async function countHiddenRequests(page: Page): Promise<void> {
  await page.evaluate(() => {
    const send = window.fetch
    let count = 0
    Object.defineProperty(window, 'hiddenRequests', { get: () => count })
    window.fetch = (...request) => {
      if (document.hidden) count++
      return send(...request)
    }
  })
}

async function setVisible(page: Page, visible: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, !visible)
}

describe('What can go wrong between two screens', () => {
  test('A second phone reads that the code was used, also if its user already read the text to sign', async () => {
    const url = await showCode()
    const [first, second] = [await openPhone(), await openPhone(testWallet(2))]
    await compare(second, url)
    await signOn(first, url)
    await second.locator('#sign').click()
    await heading(second, 'Another device has signed already')
    await (await openPhone()).goto(url)
    await heading(opened.at(-1) as Page, 'This code was used already')
    expect(await walletOf((await backAtApp(desktop)).get('code') ?? '')).toBe(testWallet(1).address)
  })

  test('A wallet in the browser that began is refused after the phone signed, and the user decides whether to continue', async () => {
    await installWallet(desktop, testWallet(2))
    const url = await showCode()
    const phone = await openPhone()
    await compare(phone, url)
    await desktop.locator('.wallet').click()
    await desktop.locator('#sign').waitFor()
    await phone.locator('#sign').click()
    await heading(phone, 'Done: look at your other screen')
    await desktop.locator('#sign').click()
    await heading(desktop, 'Another device has signed already')
    await desktop.getByRole('link', { name: 'Go on here' }).click()
    expect(await walletOf((await backAtApp(desktop)).get('code') ?? '')).toBe(testWallet(1).address)
  })

  test('If the desktop is closed, the phone still reads what to do, and no session starts', async () => {
    const url = await showCode()
    const phone = await openPhone()
    await compare(phone, url)
    const sessions = (await grantor.rows()).sessions
    await desktop.context().close()
    await phone.locator('#sign').click()
    await heading(phone, 'Done: look at your other screen')
    expect(await phone.locator('.next').innerText()).toContain('If you closed the page there')
    expect((await grantor.rows()).sessions).toEqual(sessions)
  })

  test('A desktop that has lost its network says so, and continues by itself when the network is back', async () => {
    const url = await showCode()
    const phone = await openPhone()
    await compare(phone, url)
    await desktop.context().setOffline(true)
    await desktop.getByText('We cannot reach this site right now.').waitFor()
    await phone.locator('#sign').click()
    await heading(phone, 'Done: look at your other screen')
    await desktop.context().setOffline(false)
    expect((await backAtApp(desktop)).has('code')).toBe(true)
  })

  test('A phone that has lost its network keeps the signature and sends it again', async () => {
    const phone = await openPhone()
    await compare(phone, await showCode())
    await phone.context().setOffline(true)
    await phone.locator('#sign').click()
    expect(await wordsIn(phone, 'problem')).toContain('We could not reach this site.')
    await phone.context().setOffline(false)
    await phone.getByRole('button', { name: 'Check my signature again' }).click()
    await heading(phone, 'Done: look at your other screen')
    expect((await backAtApp(desktop)).has('code')).toBe(true)
  })

  test('A code that has expired has its sentence on every screen', async () => {
    const url = await showCode()
    const [reading, phone] = [await openPhone(), await openPhone()]
    await compare(reading, url)
    grantor.clock.advance(601)
    await phone.goto(url)
    await heading(phone, 'This code has run out of time')
    await reading.locator('#sign').click()
    await heading(reading, 'This code has run out of time')
    await heading(desktop, 'This sign-in has run out of time')
  })

  test('A refusal on the phone signs nothing, and the desktop continues to wait for another phone', async () => {
    const url = await showCode()
    const phone = await openPhone()
    await phone.goto(url)
    await phone.getByRole('button', { name: 'Give no access', exact: true }).click()
    await heading(phone, 'The other screen gets no access')
    await compare(phone, url)
    await phone.getByRole('button', { name: 'Cancel and give no access' }).click()
    await heading(phone, 'You declined')
    await desktop.getByText('Waiting for the signature of your wallet').waitFor()
    await signOn(await openPhone(testWallet(2)), url)
    expect(await walletOf((await backAtApp(desktop)).get('code') ?? '')).toBe(testWallet(2).address)
  })
})

describe('Attacks with the pages of a cross-device login', () => {
  const ATTACKER = 'https://attacker.example/'

  async function openAttacker(page: Page, body: string): Promise<void> {
    await page.route(ATTACKER, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(ATTACKER)
  }

  test('A page of another site cannot show the QR code, the letters or the text to sign in a frame (frame-ancestors)', async () => {
    const url = await showCode()
    const phone = await openPhone()
    await compare(phone, url)
    for (const framed of [desktop.url(), url, phone.url()]) {
      const attacker = await open()
      await openAttacker(attacker, `<iframe src="${framed.replaceAll('&', '&amp;')}"></iframe>`)
      const frame = attacker.frames()[1]
      await frame?.waitForURL('chrome-error://**')
      expect(await frame?.content()).not.toContain(await lettersOn(phone))
    }
  })

  test('A form of another site cannot skip the comparison of the letters, and a link or a form only opens the page with the letters', async () => {
    await showCode()
    const challenge = parameterOf(desktop.url(), 'login_challenge')
    const phone = await openPhone()
    const form = (method: string, fields: Record<string, string>) =>
      `<form method="${method}" action="${grantor.authUrl}/login/cross-device">${Object.entries(fields)
        .map(([name, value]) => `<input name="${name}" value="${value}">`)
        .join('')}<button>Win a prize</button></form>`
    await openAttacker(phone, form('post', { request: challenge, decision: 'allow' }))
    await phone.getByRole('button', { name: 'Win a prize' }).click()
    await heading(phone, 'We stopped a request from another site')
    await openAttacker(phone, form('get', { login_challenge: challenge }))
    await phone.getByRole('button', { name: 'Win a prize' }).click()
    await heading(phone, 'Sign in to Aurora Notes on your other screen?')
    expect(await sessionCookies(phone)).toEqual([])
  })

  test('A link to the text to sign, sent by an attacker who skipped the comparison, does not sign the attacker in', async () => {
    const url = await showCode()
    await desktop.goto(url)
    await desktop.getByRole('button', { name: 'The letters match' }).click()
    await desktop.locator('#login').waitFor()
    const victim = await openPhone()
    await victim.goto(desktop.url())
    await victim.locator('.wallet').click()
    await victim.locator('#sign').click()
    await heading(victim, 'This sign-in began in another browser')
    await desktop.goto(
      `${grantor.authUrl}/login/cross-device/complete?${encode({ login_challenge: parameterOf(desktop.url(), 'login_challenge') })}`,
    )
    await heading(desktop, 'Nothing was signed yet')
    expect(await sessionCookies(desktop)).toEqual([])
  })

  test('A link to the end of a login signs no other browser in', async () => {
    const url = await showCode()
    const challenge = parameterOf(desktop.url(), 'login_challenge')
    const phone = await openPhone()
    await compare(phone, url)
    await phone.locator('#sign').click()
    await heading(phone, 'Done: look at your other screen')
    const victim = await open()
    await openAttacker(victim, `<a href="${grantor.authUrl}/login/cross-device/complete?login_challenge=${challenge}">Win</a>`)
    await victim.getByText('Win').click()
    await heading(victim, 'This sign-in began in another browser')
    expect(await sessionCookies(victim)).toEqual([])
  })
})
