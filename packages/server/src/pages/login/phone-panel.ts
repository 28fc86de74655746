import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import type { LoginRequest } from '../login-request.ts'
import { findWallet } from './find-wallet.ts'
import { qrCode } from './qr-code.ts'
import { walletLinks } from './wallet-links.ts'

/**
 * The login with a wallet on another device: a QR code, and on a phone the wallet apps that can open the link (the stylesheet shows the apps
 * if there is no mouse). The other device signs, and this browser continues. Continuing on the other device is the second choice, or the
 * only one if the operator switched cross-device logins off. While the panel is visible, the page's script polls for the signature.
 *
 * A browser without a wallet shows the panel at once. In a browser with a wallet, a button shows it.
 */
export function phonePanel({ purpose, resumeUrl, crossDevice }: LoginRequest, reader: Reader): Html | null {
  if (resumeUrl === null) return null
  const { title, scan, signThere, goOnThere, signElsewhere, compare, link } = reader.texts.phone
  const url = crossDevice?.url ?? resumeUrl
  const words = purpose === 'app' ? goOnThere : signElsewhere
  const said = crossDevice
    ? html`<p class="user-code"><code id="cross-device-code">${crossDevice.code}</code></p>
<p class="fine">${compare}</p>`
    : html`<p class="fine off-phone">${words.explain}</p>`
  return html`<section id="phone" aria-label="${title}">
<h2 class="off-phone">${scan}</h2>
<p class="on-phone">${crossDevice ? signThere.openIn : words.openIn}</p>
${besideCode(url, html`${said}${afterSigning(crossDevice, reader)}`, reader)}
${walletApps(url, reader)}
${findWallet(reader)}
<details class="fold">
<summary>${link}</summary>
${linkField(url, 'phone-link', reader)}
</details>
${crossDevice && continueThere(resumeUrl, reader)}
</section>`
}

/** The code, with its words at the side if there is room. */
function besideCode(url: string, words: Html, { texts }: Reader): Html {
  const picture = qrCode(url, texts.phone.codeLabel) ?? html`<p>${texts.phone.noCode}</p>`
  return html`<div class="scan">
<div class="off-phone">${picture}</div>
<div class="beside">${words}</div>
</div>`
}

/** The places for the messages of the script, and a button for browsers without a script. Each place has words from the start, so that nothing moves. */
function afterSigning(crossDevice: LoginRequest['crossDevice'], { texts }: Reader): Html {
  const { signed, copy } = texts.phone
  return html`<p id="phone-status" class="fine needs-script" role="status">${texts.script.waiting}</p>
${crossDevice && html`<noscript><a class="button quiet" id="signed-there" href="${crossDevice.continueUrl}">${signed}</a></noscript>`}
<button type="button" class="quiet-link needs-script" data-copies="phone-link">${copy}</button>`
}

function walletApps(url: string, { texts }: Reader): Html | false {
  const apps = walletLinks(url)
  return (
    apps.length > 0 &&
    html`<ul class="on-phone wallets">
${apps.map(({ name, href }) => html`<li><a class="wallet-app" href="${href}" rel="noopener noreferrer">${name}</a></li>`)}
</ul>
<p class="on-phone fine">${texts.phone.otherWallet}</p>`
  )
}

function continueThere(url: string, reader: Reader): Html {
  const { title, explain, openIn } = reader.texts.phone.goOnThere
  const words = html`<p class="fine">${explain}</p>
<button type="button" class="quiet-link needs-script" data-copies="go-on-there-link">${reader.texts.phone.copy}</button>`
  return html`<details class="fold" id="go-on-there">
<summary>${title}</summary>
<p class="on-phone">${openIn}</p>
${besideCode(url, words, reader)}
${linkField(url, 'go-on-there-link', reader)}
</details>`
}

function linkField(url: string, id: string, { texts }: Reader): Html {
  return html`<input class="code" id="${id}" aria-label="${texts.phone.link}" value="${url}" readonly>`
}
