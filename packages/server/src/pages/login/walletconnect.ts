import { Html, html } from '../html.ts'
import { walletConnect } from '../inline.ts'
import type { Reader } from '../languages.ts'
import type { LoginRequest } from '../login-request.ts'
import { fill } from '../words.ts'

export type WalletConnect = {
  projectId: string
  /** The origin of the relay: `wss://relay.walletconnect.org`. */
  relay: string
  /** The address of the client library, on the origin of the login server. */
  scriptUrl: string
}

export const walletConnectStyle = (): Html => html`<style>${Html.trusted(walletConnect.style)}</style>`

/** The link for a wallet, as a QR code, as a link for this device and to copy; and the script that loads the client library. */
export function walletConnectDialog(
  { projectId, relay, scriptUrl }: WalletConnect,
  { chainIds }: LoginRequest,
  { texts }: Reader,
): Html {
  const { title, explain, onThisDevice, relayLearns, close } = texts.walletConnect
  const { copy, codeLabel } = texts.phone
  return html`<dialog id="walletconnect" aria-labelledby="walletconnect-title" data-script="${scriptUrl}" data-project-id="${projectId}" data-relay="${relay}" data-chain-ids="${chainIds.join(' ')}">
<h2 id="walletconnect-title">${title}</h2>
<p>${explain}</p>
<img class="qr" alt="${codeLabel}">
<p class="actions"><a class="button quiet">${onThisDevice}</a> <button type="button" class="button quiet copy" hidden>${copy}</button></p>
<p class="fine">${fill(relayLearns, { relay: new URL(relay).host })}</p>
<p class="actions"><button type="button" class="quiet-link close">${close}</button></p>
</dialog>
<script type="module">${Html.trusted(walletConnect.script)}</script>`
}
