/**
 * Announces a smart wallet that opens in a window of its site (EIP-6963). Before the click, the site receives
 * nothing. The protocol is that of `@coinbase/wallet-sdk` 4: messages between the two windows, encrypted with
 * a key that both derive.
 */

const PROTOCOL = { sdkName: '@coinbase/wallet-sdk', sdkVersion: '4.4.0' }
const ECDH = { name: 'ECDH', namedCurve: 'P-256' }
const AES = { name: 'AES-GCM', length: 256 }

const setting = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name="wallet-window"]'))
const site = new URL(setting.content)
const chainId = Number(setting.dataset.chainId)
const preference = { options: 'smartWalletOnly' }
const app = { appName: document.title, appChainIds: [chainId] }
const { publicKey, privateKey } = await crypto.subtle.generateKey(ECDH, false, ['deriveKey'])
const sender = toHex(await crypto.subtle.exportKey('spki', publicKey))

/** @type {Window | null} */
let opened = null
/** Set by the first response. @type {CryptoKey} */
let secret

/** @param {{ method: string, params?: unknown[] }} call */
async function request({ method, params }) {
  if (method === 'eth_chainId') return `0x${chainId.toString(16)}`
  // First: browsers block a window that does not follow a click
  await openWindow()
  if (method !== 'eth_requestAccounts')
    return unseal(await send({ encrypted: await seal({ action: { method, params }, chainId }) }))
  await ask({ event: 'selectSignerType', data: { ...preference, handshakeRequest: { method } } })
  const answer = await send({ handshake: { method, params: app } })
  const peer = await crypto.subtle.importKey('spki', fromHex(answer.sender), ECDH, false, [])
  secret = await crypto.subtle.deriveKey({ name: 'ECDH', public: peer }, privateKey, AES, false, ['encrypt', 'decrypt'])
  return unseal(answer)
}

async function openWindow() {
  if (opened && !opened.closed) return opened.focus()
  const { origin } = location
  const names = { ...PROTOCOL, origin, coop: 'same-origin-allow-popups' }
  opened = window.open(`${site}?${new URLSearchParams(names)}`, '', 'popup,width=420,height=700')
  if (!opened) throw new Error('No window')
  const { id } = await receive(({ event }) => event === 'PopupLoaded')
  // `origin` instead of the page's address, which contains the login challenge
  const data = { version: PROTOCOL.sdkVersion, metadata: app, preference, location: origin }
  opened.postMessage({ requestId: id, data }, site.origin)
}

/** @param {object} content */
async function send(content) {
  const answer = await ask({ sender, content, timestamp: new Date() })
  if ('failure' in answer.content) throw answer.content.failure
  return answer
}

/** @param {object} message */
function ask(message) {
  const id = crypto.randomUUID()
  const answer = receive(({ requestId }) => requestId === id)
  opened?.postMessage({ id, ...message }, site.origin)
  return answer
}

/** The next message that fits. Rejects if the window is closed. @param {(message: any) => boolean} fits @returns {Promise<any>} */
function receive(fits) {
  const from = opened
  return new Promise((resolve, reject) => {
    const end = (/** @type {unknown} */ message = null) => {
      removeEventListener('message', listener)
      clearInterval(watch)
      if (message) resolve(message)
      else reject(new Error('rejected'))
    }
    const listener = (/** @type {MessageEvent} */ { origin, source, data }) => {
      // The source is null if the window has closed since
      if (origin !== site.origin || (source && source !== from) || !data) return
      if (data.event === 'PopupUnload') end(null)
      else if (fits(data)) end(data)
    }
    addEventListener('message', listener)
    // A window that is closed before it has loaded sends nothing; a last message may come late
    const watch = setInterval(() => from?.closed && setTimeout(end, 500), 500)
  })
}

/** @param {any} answer */
async function unseal({ content: { encrypted } }) {
  const { iv, cipherText } = encrypted
  const text = await crypto.subtle.decrypt({ ...AES, iv }, secret, cipherText)
  const { result } = JSON.parse(new TextDecoder().decode(text))
  if ('error' in result) throw result.error
  return result.value
}

/** @param {unknown} value */
async function seal(value) {
  const iv = crypto.getRandomValues(new Uint8Array(12))
  return { iv, cipherText: await crypto.subtle.encrypt({ ...AES, iv }, secret, new TextEncoder().encode(JSON.stringify(value))) }
}

/** @param {ArrayBuffer} bytes */
function toHex(bytes) {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** @param {string} hex */
function fromHex(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

const detail = { info: { uuid: 'service:window', name: site.host }, provider: { request } }
const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
addEventListener('eip6963:requestProvider', announce)
announce()
