/** @import { Wallet } from './types.d.ts' */

/**
 * The wallets, one button each. Existing buttons do not move, so that a late wallet does not change what the user taps.
 *
 * @param {HTMLElement} list @param {(wallet: Wallet) => void} choose
 */
export function createWalletList(list, choose) {
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map()
  return (/** @type {Wallet[]} */ wallets) => {
    for (const [key, item] of shown) {
      if (!wallets.some((wallet) => wallet.key === key)) item.remove()
    }
    for (const wallet of wallets) {
      if (shown.has(wallet.key)) continue
      const item = document.createElement('li')
      item.append(walletButton(wallet, choose))
      list.append(item)
      shown.set(wallet.key, item)
    }
  }
}

/** @param {Wallet} wallet @param {(wallet: Wallet) => void} choose */
function walletButton(wallet, choose) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'wallet'
  const name = document.createElement('bdi')
  name.textContent = wallet.name
  button.append(walletIcon(wallet), name)
  button.addEventListener('click', () => choose(wallet))
  return button
}

/** The wallet's icon, or the first letter of its name. @param {Wallet} wallet */
function walletIcon({ name, icon }) {
  const letter = document.createElement('span')
  letter.className = 'wallet-icon'
  letter.ariaHidden = 'true'
  letter.textContent = Array.from(name)[0]?.toUpperCase() ?? ''
  if (!icon) return letter
  const image = new Image()
  image.className = 'wallet-icon'
  image.alt = ''
  image.addEventListener('error', () => image.replaceWith(letter))
  image.src = icon
  return image
}
