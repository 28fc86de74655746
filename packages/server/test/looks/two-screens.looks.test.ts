/** The pages of both screens: the letters at the desktop, the three pages of the phone, and what can go wrong between them. */
import type { Page } from 'playwright-core'
import { newVisitor, openLogin } from '../flows/login-visit.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { checkLooks, LOOKS, type Service, type Visit } from './looks.ts'

const PHONE = { width: 390, height: 844, isPhone: true }
const PHONE_LOOKS = [LOOKS[2], LOOKS[3], { width: 390, colorScheme: 'light' } as const]
const TWO_OF_DESKTOP = LOOKS.slice(1, 3)

async function openAsApp(page: Page, { grantor }: Visit): Promise<void> {
  const client = await grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] })
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
}

async function openCode(page: Page): Promise<string> {
  await page.getByText('Waiting for the signature of your wallet').waitFor()
  return page.locator('#phone-link').inputValue()
}

async function openDesktop({ browser, onFinished }: Visit): Promise<Page> {
  const desktop = await newVisitor(browser)
  onFinished(() => desktop.context().close())
  return desktop
}

/** Compares the letters and chooses the wallet, so that the text to sign is open. */
async function openText(phone: Page, url: string): Promise<void> {
  await phone.goto(url)
  await phone.getByRole('button', { name: 'The letters match' }).click()
  await phone.locator('.wallet').click()
  await phone.locator('#sign').waitFor()
}

checkLooks(
  'The letters and the QR code for a phone are accessible, also with the second choice open',
  {},
  async function* (visit) {
    await openAsApp(visit.page, visit)
    await openCode(visit.page)
    yield 'cross-device-code'
    await visit.page.getByText('Continue on your phone instead').click()
    yield { picture: 'cross-device-second-choice', looks: TWO_OF_DESKTOP }
  },
)

checkLooks(
  'The pages on the phone are accessible: the letters to compare, the text to sign, and the end',
  { device: PHONE, looks: PHONE_LOOKS },
  async function* (visit) {
    const { page: phone } = visit
    const desktop = await openDesktop(visit)
    await openAsApp(desktop, visit)
    const url = await openCode(desktop)
    await installWallet(phone, testWallet(1), { name: 'Foxglove' })
    await phone.goto(url)
    yield 'cross-device-compare'
    await phone.getByRole('button', { name: 'The letters match' }).click()
    await phone.locator('.wallet').click()
    await phone.locator('#sign').waitFor()
    yield 'cross-device-sign'
    await phone.locator('#sign').click()
    await phone.getByRole('heading', { name: 'Done: look at your other screen' }).waitFor()
    yield 'cross-device-done'
  },
)

checkLooks(
  'On a phone without a wallet in its browser, the wallet apps are accessible before and after the comparison',
  { device: PHONE, looks: PHONE_LOOKS },
  async function* (visit) {
    const { page: phone } = visit
    await openAsApp(phone, visit)
    await phone.locator('.wallet-app').first().waitFor()
    yield 'cross-device-wallet-apps'
    await phone.goto(await phone.locator('#phone-link').inputValue())
    await phone.getByRole('button', { name: 'The letters match' }).click()
    await phone.locator('.wallet-app').first().waitFor()
    yield 'cross-device-to-wallet-app'
  },
)

/** The row changes a setting and the clock, so it has a service of its own. */
const FAULTS: Service = () => ({})

checkLooks(
  'The sentences for what can go wrong between two screens are accessible',
  { service: FAULTS, device: PHONE, looks: PHONE_LOOKS },
  async function* (visit) {
    const { grantor, browser, page: phone } = visit
    const { settings } = grantor.deps
    const titled = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    const page = await openDesktop(visit)
    await openAsApp(page, visit)
    const url = await openCode(page)
    const complete = `${grantor.authUrl}/login/cross-device/complete${new URL(page.url()).search}`
    await installWallet(phone, testWallet(1), { name: 'Foxglove' })

    await page.route('**/login/status*', (route) => route.abort())
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await page.getByText('We cannot reach this site right now.').waitFor()
    yield { picture: 'cross-device-no-network', page, looks: TWO_OF_DESKTOP }

    await phone.goto(url)
    await phone.getByRole('button', { name: 'Give no access', exact: true }).click()
    await titled(phone, 'The other screen gets no access')
    yield 'cross-device-denied'
    settings.crossDevice = false
    await phone.goto(url)
    await titled(phone, 'This way is switched off')
    yield 'cross-device-off'
    settings.crossDevice = true
    await page.goto(complete)
    await titled(page, 'Nothing was signed yet')
    yield { picture: 'cross-device-not-signed', page }
    await phone.goto(complete)
    await titled(phone, 'This sign-in began in another browser')
    yield 'cross-device-wrong-browser'

    const second = await newVisitor(browser, PHONE)
    visit.onFinished(() => second.context().close())
    await installWallet(second, testWallet(2), { name: 'Foxglove' })
    for (const device of [phone, second]) await openText(device, url)
    await phone.locator('#sign').click()
    await phone.getByRole('heading', { name: 'Done: look at your other screen' }).waitFor()
    await second.locator('#sign').click()
    await titled(second, 'Another device has signed already')
    yield { picture: 'cross-device-second-wallet', page: second }
    await second.goto(url)
    await titled(second, 'This code was used already')
    yield { picture: 'cross-device-used', page: second }
    grantor.clock.advance(601)
    await second.goto(url)
    await titled(second, 'This code has run out of time')
    yield { picture: 'cross-device-expired', page: second }
  },
)
