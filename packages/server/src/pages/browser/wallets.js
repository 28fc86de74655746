/**
 * Finds the wallets of this browser: every wallet that announces itself (EIP-6963), however late, or `window.ethereum`
 * if none does. Announcements are not trusted: a name is cut to a short text, and an icon must be a `data:` image.
 */

/** @import { Wallet, WalletWatch } from './types.d.ts' */

/** After this time the page shows that there is no wallet. A later announcement is still listed. */
const ANNOUNCEMENT_WAIT_MS = 400
const LONGEST_NAME = 40
const LARGEST_ICON = 200_000

/** Calls `show` with all wallets after each change, and once if there are none. @param {WalletWatch} options */
export function watchWallets({ legacyName, show }) {
  /** @type {Wallet[]} */
  const announced = []
  let waited = false

  const publish = () => {
    const legacy = /** @type {any} */ (window).ethereum
    // Several wallets compete for window.ethereum, so it is used only if no wallet announces itself
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
  }, ANNOUNCEMENT_WAIT_MS)
}

/** @param {any} detail @param {string} namelessName @returns {Wallet | null} */
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

/** @param {any} provider */
function isProvider(provider) {
  return typeof provider?.request === 'function'
}

/** A wallet may announce itself repeatedly, sometimes with a new uuid. @param {Wallet} a @param {Wallet} b */
function isSame(a, b) {
  return a.key === b.key || a.provider === b.provider || (a.rdns !== '' && a.rdns === b.rdns)
}

/** Removes invisible characters. @param {unknown} name */
function readName(name) {
  if (typeof name !== 'string') return ''
  const visible = name.slice(0, 1000).replace(/[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}\u2800]/gu, '')
  const characters = Array.from(visible.trim())
  return characters.length <= LONGEST_NAME ? characters.join('') : `${characters.slice(0, LONGEST_NAME - 1).join('')}…`
}

/** An `https:` icon would reveal the user to its server; a `data:` image in <img> runs no script. @param {unknown} icon */
function readIcon(icon) {
  const fits = typeof icon === 'string' && icon.length <= LARGEST_ICON
  return fits && /^data:image\/(png|svg\+xml|webp|jpeg|gif|avif)[;,]/i.test(icon) ? icon : null
}
