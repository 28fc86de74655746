// @ts-check

/** @typedef {import('./wallets.js').Wallet} Wallet */

/**
 * The list of wallets, one button each, in the order they announced themselves. A button that is there stays there: the list
 * must not move under somebody's finger when a late wallet arrives.
 *
 * @param {{ list: HTMLElement, choose: (wallet: Wallet) => void }} options
 * @returns {(wallets: Wallet[]) => void} shows these wallets
 */
export function createWalletList({ list, choose }) {
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map()
  return (wallets) => {
    for (const [key, item] of shown) {
      if (wallets.some((wallet) => wallet.key === key)) continue
      item.remove()
      shown.delete(key)
    }
    for (const wallet of wallets) {
      if (shown.has(wallet.key)) continue
      const item = document.createElement('li')
      item.append(walletButton(wallet, choose))
      list.append(item)
      shown.set(wallet.key, item)
    }
    list.hidden = wallets.length === 0
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

/** @param {Wallet} wallet @returns {HTMLElement} its icon, or the first letter of its name */
function walletIcon(wallet) {
  const letter = document.createElement('span')
  letter.className = 'wallet-icon'
  letter.setAttribute('aria-hidden', 'true')
  letter.textContent = Array.from(wallet.name)[0]?.toUpperCase() ?? ''
  if (!wallet.icon) return letter
  const image = document.createElement('img')
  image.className = 'wallet-icon'
  image.alt = ''
  image.addEventListener('error', () => image.replaceWith(letter))
  image.src = wallet.icon
  return image
}
