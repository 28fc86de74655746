import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { WALLETS } from './wallet-links.ts'

/** For a user without a wallet: the wallets that a phone's page opens, at their makers, and a list of others. */
export function findWallet({ texts }: Reader): Html {
  const { none, find } = texts.noWallet
  const link = (href: string, name: Html | string): Html =>
    html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>`
  return html`<p id="no-wallet" class="fine without-wallet find-wallet"><span>${none}</span> ${WALLETS.map(({ name, site }) => html`<span class="off-phone">${link(site, html`<bdi>${name}</bdi>`)}</span> `)}${link('https://ethereum.org/wallets/find-wallet/', find)}</p>`
}
