import { createHash } from 'node:crypto'

/** The response of `GET /login/challenge`. Times are epoch seconds. */
export interface Login {
  purpose: 'app' | 'account' | 'end_everything'
  client_name: string
  client_host: string
  /** Only for an app on the device, which has no host. */
  client_scheme?: string
  scopes: { name: string; description: string }[]
  may_choose_scopes: boolean
  resources: string[]
  chain_ids: number[]
  expires_at: number
  until: number
  resume_url: string | null
}

const style = `
:root { color-scheme: light dark }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 36rem; margin: 0 auto; padding: 2rem 1rem }
button { display: block; width: 100%; margin: .5rem 0; padding: .75rem; font: inherit }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid; padding: 1rem }
[hidden] { display: none }
`

export const pageHeaders = {
  // One script of this server and one style, identified by its hash. No other site may load anything or frame the page.
  'content-security-policy': `default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
  // `same-origin` would break wallets that open a window.
  'cross-origin-opener-policy': 'same-origin-allow-popups',
  // The address contains a challenge, which other sites must not receive. With `no-referrer`, browsers would send `Origin: null`.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** The login page. `wallet`: the wallet that the platform would vouch for, if any. */
export function loginPage(challenge: string, login: Login, wallet: string | undefined): string {
  const name = login.client_name || login.client_host || 'an app on this device'
  const place = login.client_scheme ? `an app on this device that opens ${login.client_scheme}: links` : `at ${login.client_host}`
  const { title, intro } = {
    app: { title: `Sign in to ${name}`, intro: `${name} is ${place}. Once you sign in, it may:` },
    account: { title: 'See your connected apps', intro: 'This allows no app anything.' },
    end_everything: { title: 'End everything', intro: 'Every app loses its access, and every browser is signed out.' },
  }[login.purpose]
  const fixed = login.may_choose_scopes ? '' : 'disabled'
  const scopes = login.scopes.map(
    (scope) =>
      `<li><label><input type="checkbox" checked ${fixed} value="${escape(scope.name)}"> ${escape(scope.description)}</label></li>`,
  )
  const until = new Date(login.until * 1_000).toISOString().slice(0, 10)
  const where =
    login.purpose === 'app' ? `<p>Until ${until}, or until you end it, at ${escape(login.resources.join(', '))}.</p>` : ''
  const vouch = wallet ? `<button id="vouch">Continue as ${escape(`${wallet.slice(0, 6)}…${wallet.slice(-4)}`)}</button>` : ''
  const phone = login.resume_url
    ? `<details><summary>My wallet is on my phone</summary><p>Open this address there:</p><pre>${escape(login.resume_url)}</pre></details>`
    : ''
  return page(
    title,
    `<ul id="scopes">${scopes.join('')}</ul>
${where}
<div id="wallets" data-challenge="${escape(challenge)}" data-chain-ids="${login.chain_ids.join(' ')}">${vouch}</div>
<pre id="message" aria-label="The text that you sign" tabindex="0" hidden></pre>
<p id="no-wallet" hidden>There is no wallet in this browser.</p>
<p id="status" role="status"></p>
${phone}
<button id="cancel">Cancel</button>
<noscript><p>This page needs its script to reach your wallet.</p></noscript>
<script type="module" src="/sign-in.js"></script>`,
    intro,
  )
}

export function errorPage(description: string): string {
  return page('This did not work', '<p>Go back to the app, and sign in again from there.</p>', description)
}

function page(title: string, body: string, intro: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
<p>${escape(intro)}</p>
${body}
</main>
</body>
</html>
`
}

/** Escapes text for HTML. An app chooses its name, and the name must not become markup. */
function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
