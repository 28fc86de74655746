import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'

/** For a user without a wallet, on one line of a wide window: the best known wallet, and a list of others. */
export function findWallet({ texts }: Reader): Html {
  const { none, find } = texts.noWallet
  const link = (href: string, name: Html | string): Html =>
    html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>`
  return html`<p id="no-wallet" class="fine without-wallet find-wallet"><span>${none}</span> <span class="off-phone">${link('https://metamask.io/', html`<bdi>MetaMask</bdi>`)}</span> ${link('https://ethereum.org/wallets/find-wallet/', find)}</p>`
}
