/**
 * Links that open a page in the browser inside a wallet app, as each wallet documents them. They are plain links: the
 * page loads nothing from these sites and contacts none of them before the user taps a link.
 *
 * A link contains the URL of the QR code. That URL starts a separate login wherever it is opened, so it is worthless to
 * anyone else who reads it. The list has widely used wallets whose makers document such a link for any https page.
 * Users of other wallets can copy the link.
 */
export const WALLETS: readonly { name: string; site: string; link: (url: string) => string }[] = [
  // docs.metamask.io, "Use deeplinks": the address without its scheme, not encoded (MetaMask adds https)
  {
    name: 'MetaMask',
    site: 'https://metamask.io/',
    link: (url) => `https://link.metamask.io/dapp/${url.slice('https://'.length)}`,
  },
  // docs.cdp.coinbase.com, "Mobile dapp integration"
  {
    name: 'Base (Coinbase Wallet)',
    site: 'https://wallet.coinbase.com/',
    link: (url) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(url)}`,
  },
  // developer.trustwallet.com, "Deep linking"; 60 is Ethereum in SLIP-44
  {
    name: 'Trust Wallet',
    site: 'https://trustwallet.com/',
    link: (url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(url)}`,
  },
  // docs.phantom.com, "Browse"
  {
    name: 'Phantom',
    site: 'https://phantom.com/',
    link: (url) => `https://phantom.app/ul/browse/${encodeURIComponent(url)}?ref=${encodeURIComponent(new URL(url).origin)}`,
  },
  // web3.okx.com, "App universal link"
  {
    name: 'OKX Wallet',
    site: 'https://web3.okx.com/',
    link: (url) =>
      `https://web3.okx.com/download?deeplink=${encodeURIComponent(`okx://wallet/dapp/url?dappUrl=${encodeURIComponent(url)}`)}`,
  },
]

/** Over plain http, which only development uses, without the wallet whose links always lead to https. */
export function walletLinks(url: string): { name: string; href: string }[] {
  if (!/^https?:\/\//.test(url)) return []
  const wallets = url.startsWith('https://') ? WALLETS : WALLETS.filter(({ name }) => name !== 'MetaMask')
  return wallets.map(({ name, link }) => ({ name, href: link(url) }))
}
