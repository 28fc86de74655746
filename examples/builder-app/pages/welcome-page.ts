import type { StepReport } from '../report.ts'
import { html } from './html.ts'
import { layout } from './layout.ts'
import { noticeView } from './step-view.ts'

export interface Addresses {
  issuer: string
  baseUrl: string
  apiUrl: string
}

/** What a newcomer sees first: what will happen, who takes part, and one button. */
export function welcomePage({ issuer, baseUrl, apiUrl }: Addresses, notice: StepReport | undefined): string {
  return layout({
    title: 'Demo builder app',
    tab: '/',
    content: html`${noticeView(notice)}
<section class="hero">
<div>
<h1>Let an app act for your wallet, without giving it your wallet</h1>
<p class="lead">This is an ordinary web app. It never sees a key or a password: it asks the authorization service for your
permission, you sign a text that moves nothing, and the app gets a token that soon runs out. Here you can watch every message.</p>
<p><a class="button" id="start" href="/start">Sign in with your wallet</a></p>
<p class="hint">No wallet at hand? The login page offers test accounts in development.</p>
</div>
<ol class="phases">
<li><b>Sign in</b> and get tokens <code>GET /oauth/authorize</code> <code>POST /oauth/token</code></li>
<li><b>Refresh</b> them before they run out <code>POST /oauth/token</code></li>
<li><b>Introspect</b>: does a token still work? <code>POST /oauth/introspect</code></li>
<li><b>Revoke</b>: end it all, at once <code>POST /oauth/revoke</code></li>
</ol>
</section>
<section class="who" aria-labelledby="who">
<h2 id="who">Who takes part</h2>
<dl>
<div><dt>You</dt><dd>your browser, and a wallet that signs</dd></div>
<div><dt>This app</dt><dd><code>${baseUrl}</code> wants to act for you</dd></div>
<div><dt>Authorization service</dt><dd><code>${issuer}</code> asks you, and gives out tokens</dd></div>
<div><dt>Resource API</dt><dd><code>${apiUrl}</code> takes the token and does the work</dd></div>
</dl>
</section>`,
  })
}
