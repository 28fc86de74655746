/** Pictures of the login page with WalletConnect: the button, and the code. The pictures need no wallet and no relay that responds. */
import { buildWalletConnect } from '../../../walletconnect/build.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { startRelay } from '../support/walletconnect-relay.ts'
import { newVisitor, openLogin, visitor } from './login-visit.ts'
import { expectGoodLooks, LOOKS } from './looks.ts'

const test = base
  .extend(
    'relay',
    FILE,
    started(startRelay, (relay) => relay.close()),
  )
  .extend('options', FILE, async ({ relay }) => {
    const { script } = await buildWalletConnect()
    return { walletConnect: { projectId: '0123456789abcdef0123456789abcdef', relay: relay.url, script } }
  })
  .extend('client', FILE, ({ grantor }) => grantor.createClient({ name: 'Aurora Notes' }))
  .extend('page', visitor)
  .extend('phone', async ({ browser }, { onCleanup }) => {
    const phone = await newVisitor(browser, { width: 390, height: 844, isPhone: true })
    onCleanup(() => phone.context().close())
    return phone
  })

test('The login page with WalletConnect, and the code for a wallet app, are accessible', async ({ grantor, client, page }) => {
  await openLogin(page, grantor, client)
  await page.locator('.wallet').waitFor()
  await expectGoodLooks(page, 'walletconnect-button', [LOOKS[0], LOOKS[3]])
  await page.locator('.wallet').click()
  await page.locator('dialog[open]').waitFor()
  await expectGoodLooks(page, 'walletconnect-code')
})

test('In French and on a phone, the code for a wallet app is accessible', async ({ grantor, client, phone }) => {
  await openLogin(phone, grantor, client, { ui_locales: 'fr' })
  await phone.locator('.wallet').click()
  await phone.locator('dialog[open]').waitFor()
  await expectGoodLooks(phone, 'walletconnect-code-fr', [LOOKS[2], { width: 390, colorScheme: 'dark' }])
})
