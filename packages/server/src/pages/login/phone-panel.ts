import { type Html, html } from '../html.ts'
import type { Reader } from '../languages.ts'
import type { LoginRequest } from '../login-request.ts'
import { qrCode } from './qr-code.ts'
import { walletLinks } from './wallet-links.ts'

/**
 * The login with a wallet on another device: a QR code, and on a phone the wallet apps that can open the link (the stylesheet shows the apps
 * if there is no mouse). The other device signs, and this browser continues. Continuing on the other device is the second choice, or the
 * only one if the operator switched cross-device logins off. While the panel is open, the page's script polls for the signature.
 */
export function phonePanel({ purpose, resumeUrl, crossDevice }: LoginRequest, reader: Reader): Html | null {
  if (resumeUrl === null) return null
  const { title, signThere, signed, goOnThere, signElsewhere } = reader.texts.phone
  const status = html`<p id="phone-status" class="fine" role="status"></p>`
  const ways = crossDevice
    ? html`${wayToDevice(crossDevice.url, { words: signThere, prefix: 'phone', code: crossDevice.code, status }, reader)}
<noscript><p class="actions"><a class="button quiet" id="signed-there" href="${crossDevice.continueUrl}">${signed}</a></p></noscript>
<details class="fold" id="go-on-there">
<summary>${goOnThere.title}</summary>
${wayToDevice(resumeUrl, { words: goOnThere, prefix: 'go-on-there', apps: [] }, reader)}
</details>`
    : wayToDevice(resumeUrl, { words: purpose === 'app' ? goOnThere : signElsewhere, prefix: 'phone', status }, reader)
  return html`<details class="fold" id="phone">
<summary>${title}</summary>
${ways}
</details>`
}

type Way = {
  words: { explain: string; openIn: string }
  prefix: string
  code?: string
  status?: Html
  /** The links of all wallets are a tenth of the page, so the second choice has none. */
  apps?: ReturnType<typeof walletLinks>
}

/** `code`: the letters that both devices show. */
function wayToDevice(url: string, { words, prefix, code, status, apps = walletLinks(url) }: Way, { texts }: Reader): Html {
  const { codeLabel, noCode, link, copy, otherWallet, compare } = texts.phone
  const picture = qrCode(url, codeLabel)
  return html`<p class="off-phone">${picture ? words.explain : noCode}</p>
<p class="on-phone">${words.openIn}</p>
${
  code &&
  html`<p class="user-code"><code id="cross-device-code">${code}</code></p>
<p class="fine">${compare}</p>`
}
<div class="off-phone">${picture}</div>
${
  apps.length > 0 &&
  html`<ul class="on-phone wallets">
${apps.map(({ name, href }) => html`<li><a class="wallet-app" href="${href}" rel="noopener noreferrer">${name}</a></li>`)}
</ul>
<p class="on-phone fine">${otherWallet}</p>`
}
${status}
<label for="${prefix}-link">${link}</label>
<div class="copying">
<input class="code" id="${prefix}-link" value="${url}" readonly>
<button type="button" class="button quiet" data-copies="${prefix}-link" hidden>${copy}</button>
</div>`
}
