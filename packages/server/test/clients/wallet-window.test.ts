/**
 * `@coinbase/wallet-sdk`, unchanged, with the window of the tests (`packages/server/test/support/wallet-window.ts`): so the window speaks the library's
 * protocol, and `packages/server/src/pages/browser/wallet-window.js`, which works with this window, does too. The package and its dependencies have
 * 80 MB, so the test installs them in a temporary folder.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect } from 'vitest'
import { verifierAt } from '../protocol/wallet/ask-wallet.ts'
import { chainTest as test } from '../support/fixtures.ts'
import { metaMaskContracts } from '../support/metamask-account.ts'
import { passkey } from '../support/passkey.ts'
import { openWindow, press, signInWindow, startWalletWindow } from '../support/wallet-window.ts'

const SDK = '@coinbase/wallet-sdk@4.4.0'

/** The app: two buttons, and the results as text. */
const APP = `
import { createCoinbaseWalletSDK } from '@coinbase/wallet-sdk'
const { walletUrl, text } = window.test
const preference = { options: 'smartWalletOnly', keysUrl: walletUrl, telemetry: false }
const provider = createCoinbaseWalletSDK({ appName: 'An app', appChainIds: [1], preference }).getProvider()
const [connect, sign, result] = ['connect', 'sign', 'result'].map((id) => document.getElementById(id))
const hex = '0x' + Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
connect.onclick = async () => (result.textContent = await provider.request({ method: 'eth_requestAccounts' }))
sign.onclick = async () => (result.textContent = await provider.request({ method: 'personal_sign', params: [hex, result.textContent] }))
`

/** Installs the library, and returns the app with it as one script. */
async function bundleApp(folder: string): Promise<string> {
  const argv = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error', SDK]
  const { status, stderr } = spawnSync('npm', argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm could not install ${SDK}: ${stderr}`)
  writeFileSync(join(folder, 'app.js'), APP)
  const build = await rolldown({ input: join(folder, 'app.js'), platform: 'browser', logLevel: 'silent' })
  const { output } = await build.generate({ format: 'iife' })
  await build.close()
  return output[0].code
}

test.runIf(process.env.TEST_CLIENTS)(
  'The library @coinbase/wallet-sdk connects and signs with the window that the tests of GRANTOR_WALLET_WINDOW use',
  async ({ home, page }) => {
    const folder = mkdtempSync(join(tmpdir(), 'grantor-wallet-sdk-'))
    const site = await startWalletWindow()
    try {
      const key = passkey('alice')
      const account = (await metaMaskContracts(home.chain)).accountOf(key)
      const text = 'A text of the app'
      await signInWindow(page.context(), site, { account, wrap: account.wrap })
      const values = JSON.stringify({ walletUrl: site.url, text })
      const script = `window.test = ${values};\n${await bundleApp(folder)}`
      const body = '<button id="connect">Connect</button><button id="sign">Sign</button><output id="result"></output>'
      await page.route('http://app.localhost/', (route) => route.fulfill({ contentType: 'text/html', body }))
      await page.goto('http://app.localhost/')
      await page.addScriptTag({ content: script })

      const result = page.locator('#result')
      for (const button of ['connect', 'sign']) {
        const window = await openWindow(page, () => page.locator(`#${button}`).click(), key)
        await press(window, 'allow')
        await expect.poll(() => result.textContent()).toMatch(button === 'connect' ? /^0x.{40}$/ : /^0x.{1000}/)
      }
      const verify = verifierAt(home.chain.chainId, home.chain)
      expect(await verify(account.wallet.address, (await result.textContent()) ?? '', text)).toEqual({ kind: 'valid' })
    } finally {
      await site.close()
      rmSync(folder, { recursive: true })
    }
  },
)
