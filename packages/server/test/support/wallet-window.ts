/**
 * The site of a smart wallet that opens in a window of its own: the side of keys.coinbase.com in the protocol of
 * `@coinbase/wallet-sdk` 4. `packages/server/test/clients/wallet-window.test.ts` shows that the library itself works with this window.
 *
 * The window shows one request with the buttons `#allow` and `#refuse`, and closes after each of them, as the real one does.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import type { PasskeyAccount } from './metamask-account.ts'
import { type Passkey, readAssertion } from './passkey.ts'

export type WalletWindow = {
  /** the page that opens */
  url: string
  /** every message that the window received, as JSON */
  received: string[]
  /** the addresses of all requests to the site */
  requested: string[]
  close(): Promise<void>
}

export async function startWalletWindow(): Promise<WalletWindow> {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url ?? '')
    response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Smart wallet</title>
<p id="request"></p><button id="allow" hidden>Allow</button><button id="refuse" hidden>Refuse</button>
<script type="module">(${runWindow.toString()})()</script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/connect`,
    received: [],
    requested,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Asserted = Record<'authenticatorData' | 'clientDataJSON' | 'signature', string>

/** Gives the windows of this browser an account. `wrap` completes a signature, for an account that is not deployed. */
export async function signInWindow(
  context: BrowserContext,
  { received }: WalletWindow,
  { account, wrap }: { account: PasskeyAccount; wrap(signature: string): string },
): Promise<void> {
  const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64')
  await context.addInitScript(rememberOpened)
  await context.exposeFunction('walletReceived', (message: string) => void received.push(message))
  await context.exposeFunction('walletAccount', () => account.wallet.address)
  await context.exposeFunction('walletChallenge', (hex: string) =>
    Buffer.from(account.challengeOf(Buffer.from(hex.slice(2), 'hex').toString('utf8'))).toString('base64'),
  )
  await context.exposeFunction('walletSignature', (asserted: Asserted) => {
    const { authenticatorData, clientDataJSON, signature } = asserted
    const assertion = readAssertion(bytes(authenticatorData), bytes(clientDataJSON).toString('utf8'), bytes(signature))
    return wrap(account.signatureOf(assertion))
  })
}

/** Opens the window with `click`, with a virtual authenticator that has the passkey. */
export async function openWindow(page: Page, click: () => Promise<void>, key: Passkey): Promise<Page> {
  const [window] = await Promise.all([page.waitForEvent('popup'), click()])
  const session = await page.context().newCDPSession(window)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  await session.send('WebAuthn.addCredential', {
    authenticatorId,
    credential: {
      credentialId: Buffer.from(key.id).toString('base64'),
      isResidentCredential: true,
      rpId: 'localhost',
      userHandle: Buffer.from(key.id).toString('base64'),
      privateKey: key.pkcs8,
      signCount: 0,
    },
  })
  return window
}

/** Runs in a page: keeps the window that the page opens. */
function rememberOpened(): void {
  const { open } = window
  window.open = (...at) => {
    const opened = open.apply(window, at)
    Object.assign(window, { opened })
    return opened
  }
}

/**
 * Presses a button of the window, which then closes. Resolves when the window also counts as closed in the page that opened the window.
 * Until then, the page would not open another window.
 */
export async function press(window: Page, button: 'allow' | 'refuse'): Promise<void> {
  const opener = await window.opener()
  const closed = window.waitForEvent('close')
  // The window may be gone before the click has its result.
  window
    .locator(`#${button}`)
    .click()
    .catch(() => {})
  await closed
  // After the signature the page may already be another one.
  await opener?.waitForFunction(() => (globalThis as { opened?: Window }).opened?.closed !== false)
}

/** Runs in the window. Its text is part of the page, so it uses nothing from this file. */
async function runWindow(): Promise<void> {
  const page = globalThis as any
  const origin = new URLSearchParams(location.search).get('origin') ?? ''
  const opener = window.opener as Window
  const ECDH = { name: 'ECDH', namedCurve: 'P-256' }
  const AES = { name: 'AES-GCM', length: 256 }
  const toHex = (bytes: ArrayBuffer): string =>
    Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const toBase64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  const send = (message: object): void => opener.postMessage({ id: crypto.randomUUID(), ...message }, origin)

  /** The site's own keys stay the same when the window closes. */
  async function ownKeys(): Promise<{ privateKey: CryptoKey; publicKey: string }> {
    const stored = localStorage.getItem('keys')
    if (stored !== null) {
      const { jwk, publicKey } = JSON.parse(stored)
      return { publicKey, privateKey: await crypto.subtle.importKey('jwk', jwk, ECDH, false, ['deriveKey']) }
    }
    const made = await crypto.subtle.generateKey(ECDH, true, ['deriveKey'])
    const publicKey = toHex(await crypto.subtle.exportKey('spki', made.publicKey))
    localStorage.setItem('keys', JSON.stringify({ publicKey, jwk: await crypto.subtle.exportKey('jwk', made.privateKey) }))
    return { publicKey, privateKey: made.privateKey }
  }

  const keys = await ownKeys()
  let selected = false

  async function secretWith(sender: string): Promise<CryptoKey> {
    const spki = Uint8Array.from(sender.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
    const peer = await crypto.subtle.importKey('spki', spki, ECDH, false, [])
    return crypto.subtle.deriveKey({ name: 'ECDH', public: peer }, keys.privateKey, AES, false, ['encrypt', 'decrypt'])
  }

  async function personalSign(hex: string): Promise<string> {
    const challenge = Uint8Array.from(atob(await page.walletChallenge(hex)), (character) => character.charCodeAt(0))
    const options = { challenge, rpId: 'localhost', userVerification: 'required' as const }
    const credential = (await navigator.credentials.get({ publicKey: options })) as PublicKeyCredential
    const { authenticatorData, clientDataJSON, signature } = credential.response as AuthenticatorAssertionResponse
    return page.walletSignature({
      authenticatorData: toBase64(authenticatorData),
      clientDataJSON: toBase64(clientDataJSON),
      signature: toBase64(signature),
    })
  }

  function decide(): Promise<boolean> {
    return new Promise((resolve) => {
      for (const [id, allowed] of [
        ['allow', true],
        ['refuse', false],
      ] as const) {
        const button = document.getElementById(id) as HTMLButtonElement
        button.hidden = false
        button.addEventListener('click', () => resolve(allowed), { once: true })
      }
    })
  }

  async function answer({ id, sender, content }: any): Promise<void> {
    const secret = await secretWith(sender)
    let action = content.handshake
    let chainId = content.handshake?.params.appChainIds[0]
    if (content.encrypted) {
      const { iv, cipherText } = content.encrypted
      const text = new TextDecoder().decode(await crypto.subtle.decrypt({ ...AES, iv }, secret, cipherText))
      await page.walletReceived(text)
      ;({ action, chainId } = JSON.parse(text))
    }
    const request = document.getElementById('request') as HTMLElement
    request.textContent = `${origin} requests ${action.method} on chain ${chainId}`
    const reply = async (value: object): Promise<void> => {
      const iv = crypto.getRandomValues(new Uint8Array(12))
      const cipherText = await crypto.subtle.encrypt({ ...AES, iv }, secret, new TextEncoder().encode(JSON.stringify(value)))
      send({ requestId: id, sender: keys.publicKey, content: { encrypted: { iv, cipherText } }, timestamp: new Date() })
    }
    if (!(await decide())) {
      const error = { code: 4001, message: 'The user refused.' }
      if (content.handshake) send({ requestId: id, sender: '', content: { failure: error }, timestamp: new Date() })
      else await reply({ result: { error } })
    } else if (action.method === 'eth_requestAccounts') {
      await reply({ result: { value: [await page.walletAccount()] }, data: { chains: { [chainId]: 'https://rpc.example.com' } } })
    } else await reply({ result: { value: await personalSign(action.params[0]) } })
    window.close()
  }

  async function receive(data: any): Promise<void> {
    await page.walletReceived(JSON.stringify(data))
    if (data.event === 'selectSignerType') {
      selected = true
      send({ requestId: data.id, data: 'scw' })
    } else if (data.content?.encrypted || (data.content?.handshake && selected)) await answer(data)
  }

  addEventListener('message', ({ source, origin: from, data }) => {
    if (source === opener && from === origin) void receive(data)
  })
  addEventListener('pagehide', () => send({ event: 'PopupUnload' }))
  send({ event: 'PopupLoaded' })
}
