/**
 * Finds the wallets of this browser: those that announce themselves (EIP-6963), however late, and where none does, the one
 * at `window.ethereum`. What a wallet says about itself is not trusted: its name is short text, its icon a `data:` image.
 */

/** @import { Wallet, WalletWatch } from './types.d.ts' */

/** After this long a wallet counts as silent. It is still listed when it speaks later. */
const PATIENCE_MS = 400
const LONGEST_NAME = 40
const LARGEST_ICON = 200_000

/** Calls `show` with all wallets at each news, and once without any. @param {WalletWatch} options */
export function watchWallets({ legacyName, show }) {
  /** @type {Wallet[]} */
  const announced = []
  let waited = false

  const publish = () => {
    const legacy = /** @type {any} */ (window).ethereum
    // Several wallets fight for window.ethereum, so it counts only where nobody announces
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

/** The same wallet announces itself again when asked again, sometimes under a new uuid. @param {Wallet} a @param {Wallet} b */
function isSame(a, b) {
  return a.key === b.key || a.provider === b.provider || (a.rdns !== '' && a.rdns === b.rdns)
}

/** Without invisible characters. @param {unknown} name */
function readName(name) {
  if (typeof name !== 'string') return ''
  const visible = name.slice(0, 1000).replace(/[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}\u2800]/gu, '')
  const characters = Array.from(visible.trim())
  return characters.length <= LONGEST_NAME ? characters.join('') : `${characters.slice(0, LONGEST_NAME - 1).join('')}…`
}

/** An `https:` icon would tell its server who signs in; in <img>, a `data:` one runs nothing. @param {unknown} icon */
function readIcon(icon) {
  const fits = typeof icon === 'string' && icon.length <= LARGEST_ICON
  return fits && /^data:image\/(png|svg\+xml|webp|jpeg|gif|avif)[;,]/i.test(icon) ? icon : null
}
