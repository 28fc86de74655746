/** The pages of a sign-in, opened as an app opens them: with and without a wallet, without script, and in the looks of operators. */
import { afterAll, expect } from 'vitest'
import { buildWalletConnect } from '../../../walletconnect/build.ts'
import { PLATFORM_LOGO, readLogo } from '../../src/config/look/logo.ts'
import { setClientLogo } from '../../src/domain/clients/client-logo.ts'
import type { LookValues } from '../../src/pages/look.ts'
import { connectApp, openAccount } from '../flows/account-visit.ts'
import { newVisitor, openLogin, wordsIn } from '../flows/login-visit.ts'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { pngLogo } from '../support/pictures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { startRelay } from '../support/walletconnect-relay.ts'
import { checkLooks, checkTranslations, LOOKS, type Service, TWO_LOOKS, test, type Visit } from './looks.ts'

const wallet = testWallet(0)
const DEVELOPMENT: Service = () => ({ developmentWallet })
const icon = (colour: string): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" rx="20" fill="${colour}"/><circle cx="48" cy="48" r="21" fill="none" stroke="#fff" stroke-width="10"/></svg>`)}`

async function openAsApp({ grantor, page }: Visit): Promise<void> {
  await openLogin(page, grantor, await grantor.createClient({ name: 'Aurora Notes' }))
}

async function openWithWallet(visit: Visit): Promise<void> {
  await installWallet(visit.page, wallet, { name: 'Foxglove' })
  await openAsApp(visit)
  await visit.page.locator('.wallet').first().waitFor()
}

checkLooks(
  'The choice of a wallet is accessible at 320 px and on a desktop, light and dark (WCAG 2.2 AA)',
  { service: DEVELOPMENT },
  async function* (visit) {
    await installWallet(visit.page, wallet, { name: 'Foxglove', icon: icon('#e2761b') })
    await installWallet(visit.page, testWallet(1), { name: 'Harbour Wallet', icon: icon('#3b5bdb') })
    await openAsApp(visit)
    await visit.page.locator('.wallet').nth(1).waitFor()
    yield 'choose-wallet'
  },
)

checkLooks(
  'The page for a browser without a wallet is accessible',
  { service: DEVELOPMENT, looks: TWO_LOOKS },
  async function* (visit) {
    await openAsApp(visit)
    await visit.page.locator('#no-wallet').waitFor()
    yield 'no-wallet'
    await visit.page.locator('#by-hand summary').click()
    yield null
  },
)

checkLooks('The text to sign, and a refusal below it, are accessible', { service: DEVELOPMENT }, async function* (visit) {
  const { page } = visit
  await installWallet(page, wallet, { name: 'Foxglove', accounts: [wallet, testWallet(1)], policy: 'reject' })
  await openAsApp(visit)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  yield 'review-text'
  await page.locator('#sign').click()
  await wordsIn(page, 'problem')
  yield null
})

checkLooks('The notice that an open page has expired is accessible', { service: DEVELOPMENT }, async function* (visit) {
  await visit.page.clock.install()
  await openAsApp(visit)
  await visit.page.clock.fastForward(11 * 60_000)
  await visit.page.locator('[data-notice="expired"]').waitFor()
  yield null
})

checkLooks(
  'The page without script is accessible, with its errors',
  { service: DEVELOPMENT, device: { javaScriptEnabled: false } },
  async function* (visit) {
    const { page } = visit
    await openAsApp(visit)
    yield null
    await page.locator('#no-script-address').fill('0x12')
    await page.locator('#no-script-show').click()
    yield null
    await page.locator('#no-script-address').fill(wallet.address)
    await page.locator('#no-script-show').click()
    yield { picture: 'sign-by-hand', looks: TWO_LOOKS }
    await page.locator('#signature').fill(testWallet(1).sign('another text'))
    await page.locator('#sign-in').click()
    await page.locator('#signature-problem').waitFor()
    yield null
  },
)

checkLooks('The development login is accessible, with its errors', { service: DEVELOPMENT }, async function* (visit) {
  const { page } = visit
  await openAsApp(visit)
  await page.locator('#development > summary').click()
  await page.locator('#address').fill('0x12')
  await page.locator('#sign-in').click()
  await page.locator('#address-problem').waitFor()
  yield { picture: 'development-refused', looks: TWO_LOOKS }
  await page.locator('#address').fill(wallet.address)
  await page.locator('#sign-in').click()
  await page.locator('#approve').waitFor()
  yield 'development-approve'
})

checkTranslations(
  'The choice of a wallet and the text to sign with its translation are accessible',
  async function* ({ grantor, page, language }) {
    const client = await grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] })
    await installWallet(page, wallet, { name: 'Foxglove' })
    await openLogin(page, grantor, client, { scope: 'enhancement profile', ui_locales: language.tag })
    await page.locator('.wallet').waitFor()
    yield `${language.tag}-login`
    await page.locator('.wallet').click()
    await page.locator('#translated p').first().waitFor()
    expect(await page.locator('#message').getAttribute('lang')).toBe('en')
    yield `${language.tag}-login-text`
  },
)

const NOTES = 'https://notes.example.com/mcp'
const FILES = 'https://files.example.com/a/very/long/address/of/an/interface/that/wraps/v1'

checkLooks(
  'The choice of scopes is accessible, with the text below that lists the remaining scopes',
  { looks: TWO_LOOKS },
  async function* ({ grantor, page }) {
    const resources = ['https://api.example.com/', 'https://files.example.com/v1']
    const scopes = ['enhancement', 'profile']
    const client = await grantor.createClient({ name: 'Aurora Notes', scopes, resources, consent: 'signed' })
    await installWallet(page, wallet, { name: 'Foxglove' })
    await openLogin(page, grantor, client, { scope: scopes.join(' '), resource: resources })
    await page.locator('.wallet').click()
    await page.getByRole('switch', { name: 'See your profile' }).uncheck()
    await page.getByText('You changed what you allow').waitFor()
    yield 'scope-choice'
  },
)

checkLooks(
  'Scopes that belong to different resources are shown in groups, each under the names of its resources, and the choice is accessible',
  {},
  async function* ({ grantor, page }) {
    for (const [uri, name, scope, description] of [
      [NOTES, 'Aurora Notes', 'notes.read', 'read your notes'],
      [FILES, 'Harbour Files', 'files.write', 'change and delete your files'],
    ] as const)
      await grantor.store.resources.insertResource({
        uri,
        name,
        scopes: [{ name: scope, description }],
        openTo: ['registered'],
        createdAt: 1,
      })
    await grantor.noticeChanges()
    const scopes = ['openid', 'notes.read', 'files.write']
    const client = await grantor.createClient({ name: 'Aurora', scopes, resources: [NOTES, FILES], consent: 'signed' })
    await installWallet(page, wallet, { name: 'Foxglove' })
    await openLogin(page, grantor, client, { scope: scopes.join(' '), response_type: 'code', resource: [NOTES, FILES] })
    await page.locator('.wallet').click()
    await page.getByText("'files.write+openid' for").waitFor()
    yield 'resource-choice'
    await page.getByRole('switch', { name: 'change and delete your files' }).uncheck()
    await page.getByText('You changed what you allow').waitFor()
    expect(await page.locator('#message').textContent()).not.toContain('files.write')
  },
)

checkLooks(
  'A scope that cannot be switched off and the expected account are accessible; the script does not free the switch',
  { looks: TWO_LOOKS },
  async function* ({ grantor, page }) {
    grantor.deps.settings.scopeDescriptions.openid = 'Know that it is you, by your wallet’s address'
    const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['openid', 'profile'], consent: 'signed' })
    await installWallet(page, wallet, { name: 'Foxglove' })
    const request = { scope: 'openid profile', response_type: 'code', login_hint: testWallet(1).address }
    await openLogin(page, grantor, client, request)
    await page.getByText('expects 0x7099…79C8').waitFor()
    await page.locator('.wallet').click()
    await page.getByRole('switch', { name: 'See your profile' }).uncheck()
    await page.getByText('You changed what you allow').waitFor()
    expect(await page.getByRole('switch', { name: 'openid' }).isDisabled()).toBe(true)
    expect(await page.locator('#message').textContent()).toContain("'openid' for")
    yield 'openid-choice'
  },
)

let closeRelay = async (): Promise<void> => {}
afterAll(() => closeRelay())
const WALLETCONNECT: Service = async () => {
  const [relay, { script }] = await Promise.all([startRelay(), buildWalletConnect()])
  closeRelay = () => relay.close()
  return { walletConnect: { projectId: '0123456789abcdef0123456789abcdef', relay: relay.url, script } }
}

/** The pictures need no wallet and no relay that responds. */
checkLooks(
  'The login page with WalletConnect, and the code for a wallet app, are accessible',
  { service: WALLETCONNECT },
  async function* (visit) {
    await openAsApp(visit)
    await visit.page.locator('.wallet').waitFor()
    yield { picture: 'walletconnect-button', looks: [LOOKS[0], LOOKS[3]] }
    await visit.page.locator('.wallet').click()
    await visit.page.locator('dialog[open]').waitFor()
    yield 'walletconnect-code'
  },
)

checkLooks(
  'In French and on a phone, the code for a wallet app is accessible',
  {
    service: WALLETCONNECT,
    device: { width: 390, height: 844, isPhone: true },
    looks: [LOOKS[2], { width: 390, colorScheme: 'dark' }],
  },
  async function* ({ grantor, page }) {
    await openLogin(page, grantor, await grantor.createClient({ name: 'Aurora Notes' }), { ui_locales: 'fr' })
    await page.locator('.wallet').click()
    await page.locator('dialog[open]').waitFor()
    yield 'walletconnect-code-fr'
  },
)

function logo(width: number, height: number, color: [number, number, number, number]) {
  const read = readLogo(pngLogo({ width, height, color }), PLATFORM_LOGO)
  if ('fault' in read) throw new Error(read.fault)
  return read.logo
}

const helpUrl = 'https://aurora.example/help'
const links = { helpUrl, privacyUrl: 'https://aurora.example/privacy' }
const OPERATORS: [name: string, look: LookValues][] = [
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
  ['letter', { name: 'Øresund', accentColor: '#7a1a1a', helpUrl }],
]

for (const [name, look] of OPERATORS)
  checkLooks(
    `The login page with the look of an operator is accessible in every width and scheme: ${name}`,
    { service: () => ({ look }) },
    async function* (visit) {
      await openWithWallet(visit)
      yield `branding-choose-${name}`
      await visit.page.locator('.wallet').first().click()
      await visit.page.locator('#sign').waitFor()
      yield `branding-review-${name}`
      expect(await visit.page.locator('.masthead').textContent()).toContain(look.name)
    },
  )

checkLooks(
  'The logo of an app is beside its name on the login page and on the account page, in every width and scheme',
  { service: () => ({ look: { name: 'Aurora Pay', accentColor: '#0b2a6f' } }) },
  async function* ({ grantor, browser, page, errors, onFinished }) {
    const client = await grantor.createClient({ name: 'Aurora Notes' })
    await setClientLogo(grantor.store, client.id, { logo: logo(240, 90, [122, 26, 26, 255]) })
    await grantor.noticeChanges()
    const isDrawn = (on: typeof page) => on.locator('img.tile').evaluate((image: HTMLImageElement) => image.naturalWidth === 240)
    await installWallet(page, wallet, { name: 'Foxglove' })
    await openLogin(page, grantor, client)
    await page.locator('.wallet').first().waitFor()
    await expect.poll(() => isDrawn(page)).toBe(true)
    yield 'branding-app-logo'
    expect(errors).toEqual([])
    await connectApp(grantor, client, wallet)
    const account = await newVisitor(browser)
    onFinished(() => account.context().close())
    await openAccount(account, grantor, wallet)
    await expect.poll(() => isDrawn(account)).toBe(true)
    yield { picture: 'branding-account', page: account }
  },
)

test('Every focused element shows the focus', async ({ services, page }) => {
  const grantor = await services(DEVELOPMENT)
  await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, await grantor.createClient())
  await page.locator('.wallet').waitFor()
  const reached: string[] = []
  for (let step = 0; step < 12; step++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate(() => {
      const element = document.activeElement ?? document.body
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      return `${element.id || element.className || element.tagName}: ${outlineStyle} ${outlineWidth}`
    })
    if (focus.startsWith('BODY')) break
    reached.push(focus)
  }
  // The last one opens the choice of languages.
  const places = ['wallet', 'use-phone', 'SUMMARY', 'SUMMARY', 'cancel', 'SUMMARY']
  expect(reached).toEqual(places.map((place) => `${place}: solid 3px`))
})

test('A user who prefers less motion sees no motion', async ({ services, page }) => {
  const grantor = await services(DEVELOPMENT)
  await openLogin(page, grantor, await grantor.createClient())
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const duration = () => getComputedStyle(document.querySelector('#sign-in') as Element).transitionDuration
  expect(await page.evaluate(duration)).toBe('0s')
})
