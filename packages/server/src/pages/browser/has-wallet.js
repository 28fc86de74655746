/**
 * Marks the page before the first paint if this browser has a wallet: the wallet then has the place of the QR code. Wallets announce themselves at
 * once (EIP-6963), so the page never shows the one and then the other. The script of the page corrects the mark.
 */
{
  const mark = () => document.documentElement.classList.add('has-wallet')
  addEventListener('eip6963:announceProvider', mark)
  dispatchEvent(new Event('eip6963:requestProvider'))
  removeEventListener('eip6963:announceProvider', mark)
  if ('ethereum' in window) mark()
}
