/** Explains how the reader tests an app against a real Grantor. */
import { html } from './html.ts'
import { layout } from './layout.ts'

export function forYourTestsPage({ baseUrl }: { baseUrl: string }): string {
  return layout({
    title: 'For your tests · Demo builder app',
    tab: '/for-your-tests',
    content: html`<h1>Test your app without a wallet</h1>
<p class="lead"><code>@grantor/testing</code> runs a real Grantor in the process of a test: in memory, on free ports, with wallets whose keys it has. It is no mock:
it refuses the same requests as the real service.</p>
<section aria-labelledby="token">
<h2 id="token">A token, without a browser</h2>
<pre class="code" tabindex="0">import { startTestGrantor } from '@grantor/testing'

const grantor = await startTestGrantor({
  clients: [{ name: 'My app', redirect_uris: ['${baseUrl}/callback'] }],
})
const { access_token } = await grantor.tokenFor()</pre>
</section>
<section aria-labelledby="browser">
<h2 id="browser">A sign-in in a browser, with Playwright</h2>
<pre class="code" tabindex="0">import { installTestWallet } from '@grantor/testing'

await installTestWallet(page, { account: grantor.wallets[0], answer: 'sign' })
await page.goto('${baseUrl}/')
await page.locator('#start').click()</pre>
<dl class="facts">
<div><dt><code>sign</code></dt><dd>the user signs</dd></div>
<div><dt><code>refuse</code></dt><dd>the user refuses the signature</dd></div>
<div><dt><code>slow</code></dt><dd>the wallet signs after two seconds</dd></div>
<div><dt><code>hang</code></dt><dd>the wallet never answers</dd></div>
</dl>
</section>
<section aria-labelledby="time">
<h2 id="time">Time and faults</h2>
<pre class="code" tabindex="0">grantor.clock.advance(601)
// the access token has expired
grantor.faults.failNext('token', 503)
// the next request for tokens fails
await grantor.stop()</pre>
</section>
<section aria-labelledby="others">
<h2 id="others">Python, Go and other languages</h2>
<p>The same as a command, with an endpoint for tokens, the clock and faults:</p>
<pre class="code" tabindex="0">npx @grantor/testing --port 4400 --client 'My app=${baseUrl}/callback'</pre>
<p>It refuses to run with <code>NODE_ENV=production</code> and on a public address. The guide is <code>docs/guides/testing.md</code>.</p>
</section>`,
  })
}
