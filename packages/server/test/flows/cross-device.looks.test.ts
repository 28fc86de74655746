/** Pictures of the pages of both screens: the letters at the desktop, and the three pages of the phone. */
import type { Browser, Page } from 'playwright-core'
import { test as base, FILE } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin, visitor } from './login-visit.ts'
import { expectGoodLooks, LOOKS } from './looks.ts'

const test = base
  .extend('client', FILE, ({ grantor }) =>
    grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] }),
  )
  .extend('page', visitor)
  .extend('phone', async ({ browser }, { onCleanup }) => {
    const phone = await newVisitor(browser, { width: 390, height: 844, isPhone: true })
    onCleanup(() => phone.context().close())
    return phone
  })

const PHONE_LOOKS = [LOOKS[2], LOOKS[3], { width: 390, colorScheme: 'light' } as const]

async function openCode(page: Page): Promise<string> {
  await page.locator('#phone > summary').click()
  await page.getByText('Waiting for the signature of your wallet').waitFor()
  return page.locator('#phone-link').inputValue()
}

test('The letters and the QR code for a phone are accessible, also with the second choice open', async ({
  grantor,
  client,
  page,
}) => {
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  await openCode(page)
  await expectGoodLooks(page, 'cross-device-code')
  await page.getByText('Continue on your phone instead').click()
  await expectGoodLooks(page, 'cross-device-second-choice', LOOKS.slice(1, 3))
})

test('The pages on the phone are accessible: the letters to compare, the text to sign, and the end', async ({
  grantor,
  client,
  page,
  phone,
}) => {
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  const url = await openCode(page)
  await installWallet(phone, testWallet(1), { name: 'Foxglove' })
  await phone.goto(url)
  await expectGoodLooks(phone, 'cross-device-compare', PHONE_LOOKS)
  await phone.getByRole('button', { name: 'The letters match' }).click()
  await phone.locator('.wallet').click()
  await phone.locator('#sign').waitFor()
  await expectGoodLooks(phone, 'cross-device-sign', PHONE_LOOKS)
  await phone.locator('#sign').click()
  await phone.getByRole('heading', { name: 'Done: look at your other screen' }).waitFor()
  await expectGoodLooks(phone, 'cross-device-done', PHONE_LOOKS)
})

test('On a phone without a wallet in its browser, the wallet apps are accessible before and after the comparison', async ({
  grantor,
  client,
  phone,
}) => {
  await openLogin(phone, grantor, client, { scope: 'enhancement profile' })
  await phone.locator('.wallet-app').first().waitFor()
  await expectGoodLooks(phone, 'cross-device-wallet-apps', PHONE_LOOKS)
  await phone.goto(await phone.locator('#phone-link').inputValue())
  await phone.getByRole('button', { name: 'The letters match' }).click()
  await phone.locator('.wallet-app').first().waitFor()
  await expectGoodLooks(phone, 'cross-device-to-wallet-app', PHONE_LOOKS)
})

test('The sentences for what can go wrong between two screens are accessible', async ({
  grantor,
  client,
  page,
  phone,
  onTestFinished,
}) => {
  const { settings } = grantor.deps
  const look = async (on: Page, title: string, name: string) => {
    await on.getByRole('heading', { level: 1, name: title }).waitFor()
    await expectGoodLooks(on, name, PHONE_LOOKS)
  }
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  const url = await openCode(page)
  await installWallet(phone, testWallet(1), { name: 'Foxglove' })

  await page.route('**/login/status*', (route) => route.abort())
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByText('We cannot reach this site right now.').waitFor()
  await expectGoodLooks(page, 'cross-device-no-network', LOOKS.slice(1, 3))

  await phone.goto(url)
  await phone.getByRole('button', { name: 'Give no access', exact: true }).click()
  await look(phone, 'The other screen gets no access', 'cross-device-denied')
  settings.crossDevice = false
  onTestFinished(() => {
    settings.crossDevice = true
  })
  await phone.goto(url)
  await look(phone, 'This way is switched off', 'cross-device-off')
  settings.crossDevice = true
  await page.goto(url.replace('/login/cross-device', '/login/cross-device/complete'))
  await look(page, 'Nothing was signed yet', 'cross-device-not-signed')
  await phone.goto(url.replace('/login/cross-device', '/login/cross-device/complete'))
  await look(phone, 'This sign-in began in another browser', 'cross-device-wrong-browser')

  const second = await newVisitor(phone.context().browser() as Browser, { width: 390, height: 844, isPhone: true })
  onTestFinished(() => second.context().close())
  await installWallet(second, testWallet(2), { name: 'Foxglove' })
  for (const device of [phone, second]) {
    await device.goto(url)
    await device.getByRole('button', { name: 'The letters match' }).click()
    await device.locator('.wallet').click()
    await device.locator('#sign').waitFor()
  }
  await phone.locator('#sign').click()
  await phone.getByRole('heading', { name: 'Done: look at your other screen' }).waitFor()
  await second.locator('#sign').click()
  await look(second, 'Another device has signed already', 'cross-device-second-wallet')
  await second.goto(url)
  await look(second, 'This code was used already', 'cross-device-used')
  grantor.clock.advance(601)
  await second.goto(url)
  await look(second, 'This code has run out of time', 'cross-device-expired')
})
