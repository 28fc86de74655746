/** What `@grantor/connect` shows in the reader's app: the button in each state, the window, and the code for both. */
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'

const STATES = [
  { status: 'signed_out', label: 'Sign in with your wallet', meaning: 'a click opens the login page in a window of its own' },
  { status: 'checking', label: 'One moment', meaning: 'with `silent`: does the browser have a session at the service already?' },
  { status: 'waiting', label: 'Waiting for your wallet', meaning: 'a user who closed the window opens it again with a click' },
  { status: 'failed', label: 'Try again', meaning: '`signIn.error` has the reason, such as popup_blocked or access_denied' },
  {
    status: 'signed_in',
    label: 'Sign out 0xf39F…2266',
    meaning: '`signIn.user` has the wallet, the access token and the granted scope',
  },
] as const

export function inYourAppPage({ issuer, clientId }: { issuer: string; clientId: string }): string {
  return layout({
    title: 'In your app · Demo builder app',
    tab: '/in-your-app',
    content: html`<h1>What your own app shows</h1>
<p class="lead">The package <code>@grantor/connect</code> has the button and the window. It uses the standard flow, so any other client library works
too. The buttons on this page are pictures: this demo has no scripts.</p>
<section aria-labelledby="new-app">
<h2 id="new-app">A new app in two minutes</h2>
<p>The command makes an app, registers it, and starts Grantor beside it. Its template <code>hono</code> has the window, <code>next</code> has the React
button.</p>
<pre class="code" tabindex="0">npm create grantor-app my-app -- --template hono
cd my-app
npm run dev</pre>
</section>
<section aria-labelledby="button">
<h2 id="button">The React button</h2>
<dl class="states">${STATES.map(
      ({ status, label, meaning }) =>
        html`<div><dt><span class="sample ${status}">${MARK}${label}</span></dt><dd><code>${status}</code> ${withCode(meaning)}</dd></div>`,
    )}</dl>
<pre class="code" tabindex="0">import { SignInButton, useSignIn } from '@grantor/connect/react'

const connection = { issuer: '${issuer}', clientId: 'YOUR_CLIENT_ID' }

export function Account() {
  const signIn = useSignIn(connection, { silent: true })
  return &lt;SignInButton signIn={signIn} /&gt;
}</pre>
<p>An app whose server signs users in, as this one does with the client <code>${clientId.slice(0, 8)}…</code>, uses the button as a link:
<code>&lt;SignInButton href="/login" /&gt;</code>.</p>
</section>
<section aria-labelledby="popup">
<h2 id="popup">The window</h2>
<p>The login page separates itself from the page that opened it, so that no other page can reach into it. The response comes to your own callback page,
which sends it to your first page over a <code>BroadcastChannel</code> and closes.</p>
<ol class="flow">
<li><b>Your page</b> opens a window with the authorization request</li>
<li><b>Login page</b> shows the text, and the wallet signs</li>
<li><b>Your callback page</b> sends the code to your page, and closes</li>
<li><b>Your page</b> exchanges the code for tokens</li>
</ol>
<pre class="code" tabindex="0">import { signInWithPopup } from '@grantor/connect'

button.onclick = async () =&gt; {
  const { wallet, accessToken } = await signInWithPopup(connection)
}</pre>
</section>`,
  })
}

/** The mark of the button. */
const MARK = html`<svg viewBox="4 4 24 24" width="20" height="20" aria-hidden="true"><path d="M22.2 11.2A8 8 0 1 0 24 16h-7" fill="none" stroke="currentColor" stroke-width="3.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/** Words between backquotes as code. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
