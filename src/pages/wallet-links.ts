/**
 * Links that open a page in the browser inside a wallet app, as each wallet documents them. They are plain links: nothing of
 * these sites is loaded, and none is asked before a person taps one.
 *
 * What they carry is the link of the QR code, which starts a login of its own where it is opened and is worth nothing to
 * whoever else reads it. Chosen: wallets in wide use whose maker documents such a link for any https page. Every other wallet
 * is as welcome by the link itself.
 */
const WALLETS: readonly [name: string, link: (url: string) => string][] = [
  // docs.metamask.io, "Use deeplinks": the address without its scheme, not encoded (MetaMask adds https)
  ['MetaMask', (url) => `https://link.metamask.io/dapp/${url.slice('https://'.length)}`],
  // docs.cdp.coinbase.com, "Mobile dapp integration"
  ['Base (Coinbase Wallet)', (url) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(url)}`],
  // developer.trustwallet.com, "Deep linking"; 60 is Ethereum in SLIP-44
  ['Trust Wallet', (url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(url)}`],
  // docs.phantom.com, "Browse"
  ['Phantom', (url) => `https://phantom.app/ul/browse/${encodeURIComponent(url)}?ref=${encodeURIComponent(new URL(url).origin)}`],
  // web3.okx.com, "App universal link"
  [
    'OKX Wallet',
    (url) =>
      `https://web3.okx.com/download?deeplink=${encodeURIComponent(`okx://wallet/dapp/url?dappUrl=${encodeURIComponent(url)}`)}`,
  ],
]

/** None for an address that only this machine can reach. */
export function walletLinks(url: string): { name: string; href: string }[] {
  if (!url.startsWith('https://')) return []
  return WALLETS.map(([name, link]) => ({ name, href: link(url) }))
}
