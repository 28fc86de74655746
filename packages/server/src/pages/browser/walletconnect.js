/**
 * Announces WalletConnect as one more wallet (EIP-6963). After the click, loads the client library from this origin, and shows the link that
 * a wallet scans or opens.
 */

import { say } from './words.js'

/** @import { Call, Provider } from './types.d.ts' */

/** @typedef {{ uri: string, picture: string }} Link */

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('walletconnect'))
const { script = '', projectId, relay, chainIds = '' } = dialog.dataset
const [picture, open, copy] = /** @type {any[]} */ (['img', 'a', '.copy'].map((part) => dialog.querySelector(part)))
const copyLabel = copy.textContent
const pageName = document.title
/** @type {(Provider & { cancel(): void }) | null} */
let wallet = null
/** @type {Promise<Provider & { cancel(): void }> | null} */
let loading = null
let failures = 0

/** @param {Call} call */
async function request(call) {
  // Two clicks share one library
  const loaded = await (loading ??= load())
  wallet = loaded
  return loaded.request(call)
}

async function load() {
  // A browser may remember that an address failed
  const address = failures ? `${script}?${failures}` : script
  // The address contains a hash of the text, and the policy allows no other
  // oxlint-disable-next-line import/no-dynamic-require
  const { createWallet } = await import(address).catch(() => {
    failures++
    loading = null
    throw Object.assign(new Error('No library'), { code: 'not_loaded' })
  })
  return createWallet({
    projectId,
    relay,
    chainIds: chainIds.split(' ').map(Number),
    name: pageName,
    origin: location.origin,
    show,
  })
}

/** @param {Link | null} link */
function show(link) {
  if (!link) return dialog.close()
  picture.src = link.picture
  open.href = link.uri
  copy.textContent = copyLabel
  dialog.showModal()
}

copy.hidden = !navigator.clipboard
copy.addEventListener('click', async () => {
  await navigator.clipboard.writeText(open.href)
  copy.textContent = say('copied')
})
dialog.querySelector('.close')?.addEventListener('click', () => dialog.close())
dialog.addEventListener('close', () => wallet?.cancel())

const provider = {
  request,
  on: (/** @type {string} */ event, /** @type {any} */ listener) => wallet?.on?.(event, listener),
  removeListener: (/** @type {string} */ event, /** @type {any} */ listener) => wallet?.removeListener?.(event, listener),
}
const detail = { info: { uuid: 'service:walletconnect', name: 'WalletConnect' }, provider }
const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
addEventListener('eip6963:requestProvider', announce)
announce()
