import type { StepReport } from '../report.ts'
import { html } from './html.ts'
import { layout } from './layout.ts'
import { noticeView } from './step-view.ts'

export interface Addresses {
  issuer: string
  baseUrl: string
  apiUrl: string
}

/** The first page: what will happen, who takes part, and one button. */
export function welcomePage({ issuer, baseUrl, apiUrl }: Addresses, notice: StepReport | undefined): string {
  return layout({
    title: 'Demo builder app',
    tab: '/',
    content: html`${noticeView(notice)}
<section class="hero">
<div>
<h1>Let an app act for your wallet, without giving it your wallet</h1>
<p class="lead">This is an ordinary web app. It never gets a key or a password: it requests your permission at the authorization
service, you sign a text that transfers nothing, and the app gets a token that soon expires. Here you can watch every message.</p>
<p><a class="button" id="start" href="/start">Sign in with your wallet</a></p>
<p class="hint">You have no wallet? In development, the login page offers test accounts.</p>
</div>
<ol class="phases">
<li><b>Sign in</b> and get tokens <code>GET /oauth/authorize</code> <code>POST /oauth/token</code></li>
<li><b>Refresh</b> them before they expire <code>POST /oauth/token</code></li>
<li><b>Introspect</b>: does a token still work? <code>POST /oauth/introspect</code></li>
<li><b>Revoke</b>: end all of them, at once <code>POST /oauth/revoke</code></li>
</ol>
</section>
<section class="who" aria-labelledby="who">
<h2 id="who">Who takes part</h2>
<dl>
<div><dt>You</dt><dd>your browser, and a wallet that signs</dd></div>
<div><dt>This app</dt><dd><code>${baseUrl}</code> acts for you, if you allow it</dd></div>
<div><dt>Authorization service</dt><dd><code>${issuer}</code> gets your permission, and issues tokens</dd></div>
<div><dt>Resource API</dt><dd><code>${apiUrl}</code> accepts the token and does the work</dd></div>
</dl>
</section>`,
  })
}
