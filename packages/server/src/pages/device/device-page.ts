import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import { browserTitle } from '../browser-title.ts'
import type { Texts } from '../catalogue.ts'
import { html } from '../html.ts'
import type { Reader } from '../languages.ts'
import { layout, slip } from '../layout.ts'
import { appHeading, permissions, type Scope } from '../parts.ts'
import { symbol } from '../symbols.ts'
import { appTitle, fill, fillPlain } from '../words.ts'

/** The form for the code of a device (RFC 8628 §3.3). A plain form works in every browser. */
export type DeviceCodePage = {
  action: string
  /** The wrong code that the user entered; absent on the first page. */
  wrongCode?: string
}

/** In characters. */
const ENTRY_SHOWN = 40

export function deviceCodePage({ action, wrongCode }: DeviceCodePage, reader: Reader): string {
  const words = reader.texts.device
  const isWrong = wrongCode !== undefined
  return layout({
    reader,
    hasChooser: true,
    title: words.enter,
    slip: slip({
      head: html`<h1>${words.enter}</h1>
<p class="lead">${words.enterIntro}</p>`,
      body: html`<form method="get" action="${action}">
<label for="user-code">${words.code}</label>
<input class="code user-code-entry" id="user-code" name="user_code" required autofocus autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="${ENTRY_SHOWN}" placeholder="XXXX-XXXX"${isWrong && html` value="${wrongCode.slice(0, ENTRY_SHOWN)}" aria-invalid="true" aria-describedby="user-code-problem"`}>
${isWrong && html`<p class="field-problem" id="user-code-problem" role="alert">${words.wrong}</p>`}
<p class="actions"><button class="button" id="continue">${words.next}</button></p>
</form>`,
    }),
  })
}

/** The request of a device, for the user to compare (RFC 8628 §3.3.1, §5.4). */
export type DeviceRequestPage = ClientPlace & {
  /** Path of the same origin that the form posts to. */
  action: string
  /** Returned in the hidden field `request`; the caller checks it. */
  sealed: string
  /** As the device shows it. */
  userCode: string
  clientName: string
  scopes: Scope[]
  resources: string[]
  /**
   * The first part of the address of the device, if it is not the same network as that of this browser; empty if it is the same or
   * unknown. The page never names the same network: an attacker can be in it, and the line would reassure.
   */
  otherNetwork: string
  /** The name of the program on the device, or the names of a browser and its system: `Firefox/Windows`; empty if unknown. */
  program: string
}

export function deviceRequestPage(page: DeviceRequestPage, reader: Reader): string {
  return requestPage(page, reader.texts.device, reader)
}

/** The request of a browser on another screen: the same questions as for a device. */
export function crossDevicePage(page: DeviceRequestPage, reader: Reader): string {
  return requestPage(page, reader.texts.crossDevice, reader)
}

/** The name of a browser and its system. The name of another program contains no slash. */
const BROWSER = /^[A-Za-z ]*\/[A-Za-z]*$/

function requestPage(page: DeviceRequestPage, words: Texts['device'] | Texts['crossDevice'], reader: Reader): string {
  const app = appTitle(page, reader.texts)
  const { scopes, resources, otherNetwork: network, program } = page
  const name = BROWSER.test(program) ? browserTitle(program, reader) : program
  const facts = [
    ...(network ? [[words.from, fill(words.otherNetwork, { network })] as const] : []),
    ...(program ? [[words.program, html`<bdi>${name}</bdi>`] as const] : []),
  ]
  return layout({
    reader,
    hasChooser: true,
    title: fillPlain(words.title, { app }),
    slip: slip({
      head: html`${appHeading({ sentence: words.title, app, place: page }, reader)}
<p class="lead">${words.intro}</p>
<p class="user-code"><code id="user-code">${page.userCode}</code></p>
${permissions({ scopes, app, some: words.mayDo, none: words.mayNothing }, reader)}
${resources.length > 1 && html`<h2 class="label">${words.at}</h2><ul class="places">${resources.map((resource) => html`<li><code>${resource}</code></li>`)}</ul>`}
${facts.length > 0 && html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}`,
      body: html`<p class="message problem with-symbol">${symbol('stop')}<span>${words.warning}</span></p>
<form method="post" action="${page.action}">
<input type="hidden" name="request" value="${page.sealed}">
<p class="actions">
<button class="button" id="allow" name="decision" value="allow">${words.allow}</button>
<button class="button quiet" id="deny" name="decision" value="deny">${words.deny}</button>
</p>
</form>`,
    }),
  })
}
