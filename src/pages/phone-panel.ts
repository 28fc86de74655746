import { type Html, html } from './html.ts'
import { qrCode } from './qr-code.ts'
import { texts } from './texts.ts'
import { walletLinks } from './wallet-links.ts'

/**
 * The login with a phone: a QR code and a link that start a separate login on the phone, and on a phone the wallet apps
 * that can open the link (the stylesheet shows them if there is no mouse). While the panel is open, the page's script
 * polls whether the phone completed the login.
 */
export function phonePanel(resumeUrl: string): Html {
  const words = texts.phone
  const code = qrCode(resumeUrl, words.codeLabel)
  const links = walletLinks(resumeUrl)
  return html`<details class="fold" id="phone">
<summary>${words.title}</summary>
${
  links.length > 0 &&
  html`<div class="on-phone">
<h3>${words.here}</h3>
<p>${words.openIn}</p>
<ul class="wallets">
${links.map(({ name, href }) => html`<li><a class="wallet-app" href="${href}" rel="noopener noreferrer">${name}</a></li>`)}
</ul>
<p>${words.otherWallet}</p>
</div>`
}
<p>${code ? words.explain : words.noCode}</p>
${code}
<label for="phone-link">${words.link}</label>
<div class="copying">
<input class="code" id="phone-link" value="${resumeUrl}" readonly>
<button type="button" class="button quiet" id="copy" hidden>${words.copy}</button>
</div>
</details>`
}
