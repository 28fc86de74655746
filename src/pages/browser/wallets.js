// @ts-check

/**
 * Finds the wallets of this browser: those that announce themselves (EIP-6963), however late, and where none does, the one
 * that older extensions leave at `window.ethereum`.
 *
 * What a wallet says about itself is not trusted: its name is text of limited length, its icon an image from a `data:` URL.
 */

/**
 * @typedef {{
 *   request(call: { method: string, params?: unknown[] }): Promise<unknown>,
 *   on?(event: string, listener: (value: any) => void): void,
 *   removeListener?(event: string, listener: (value: any) => void): void,
 * }} Provider  an EIP-1193 provider
 * @typedef {{ key: string, rdns: string, name: string, icon: string | null, provider: Provider }} Wallet
 */

/** Announcements answer at once; after this long a wallet counts as silent. It is still listed when it speaks later. */
const PATIENCE_MS = 400
const LONGEST_NAME = 40
const LARGEST_ICON = 200_000

/**
 * Calls `show` with all wallets known so far, each time there is news, and once after `PATIENCE_MS` even when there is none.
 *
 * @param {{ legacyName: string, show: (wallets: Wallet[]) => void }} options
 */
export function watchWallets({ legacyName, show }) {
  /** @type {Wallet[]} */
  const announced = []
  let waited = false

  const publish = () => {
    const legacy = /** @type {any} */ (window).ethereum
    // EIP-6963: window.ethereum is one of several fighting for the same name, so it counts only where nobody announces
    if (announced.length > 0) show([...announced])
    else if (waited) show(isProvider(legacy) ? [{ key: 'legacy', rdns: '', name: legacyName, icon: null, provider: legacy }] : [])
  }

  window.addEventListener('eip6963:announceProvider', (event) => {
    const wallet = readAnnouncement(/** @type {CustomEvent} */ (event).detail, legacyName)
    if (!wallet || announced.some((known) => isSame(known, wallet))) return
    announced.push(wallet)
    publish()
  })
  window.addEventListener('ethereum#initialized', publish)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  setTimeout(() => {
    waited = true
    publish()
  }, PATIENCE_MS)
}

/**
 * @param {any} detail what the event carries: anything
 * @param {string} namelessName
 * @returns {Wallet | null}
 */
function readAnnouncement(detail, namelessName) {
  const { info, provider } = detail ?? {}
  if (!info || typeof info.uuid !== 'string' || !isProvider(provider)) return null
  return {
    key: info.uuid,
    rdns: typeof info.rdns === 'string' ? info.rdns : '',
    name: readName(info.name) || namelessName,
    icon: readIcon(info.icon),
    provider,
  }
}

/** @param {any} provider @returns {boolean} */
function isProvider(provider) {
  return typeof provider?.request === 'function'
}

/** The same wallet announces itself again when asked again, sometimes under a new uuid. @param {Wallet} a @param {Wallet} b */
function isSame(a, b) {
  return a.key === b.key || a.provider === b.provider || (a.rdns !== '' && a.rdns === b.rdns)
}

/** @param {unknown} name @returns {string} without control and direction characters, at most 40 characters */
function readName(name) {
  if (typeof name !== 'string') return ''
  const characters = Array.from(
    name
      .slice(0, 1000)
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
      .trim(),
  )
  return characters.length <= LONGEST_NAME ? characters.join('') : `${characters.slice(0, LONGEST_NAME - 1).join('')}…`
}

/** An `https:` icon would tell its server who signs in where; in an <img>, a `data:` one runs nothing. @param {unknown} icon */
function readIcon(icon) {
  const fits = typeof icon === 'string' && icon.length <= LARGEST_ICON
  return fits && /^data:image\/(png|svg\+xml|webp|jpeg|gif|avif)[;,]/i.test(icon) ? icon : null
}
