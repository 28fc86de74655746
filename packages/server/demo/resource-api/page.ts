import { createHash } from 'node:crypto'

const style = `
:root { color-scheme: light dark; --ink: #1c1b22; --paper: #f7f6f2; --card: #fff; --line: #e2dfd6; --muted: #5b5966; --accent: #4338ca }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eceaf3; --paper: #141318; --card: #1d1c23; --line: #33313d; --muted: #aeabbd; --accent: #b4bffd }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif }
main { max-width: 40rem; margin: 0 auto; padding: clamp(1.5rem, 6vw, 4rem) 1.25rem }
h1 { font-size: clamp(1.5rem, 5vw, 2rem); line-height: 1.2; letter-spacing: -0.02em }
code, pre { font: 0.9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere }
p, li { color: var(--muted) } strong, code { color: var(--ink) }
`

/** Explains the API to a person who opens it in a browser. No part of the page comes from a request. */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo resource API</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Demo resource API</h1>
<p>An API that apps call <strong>on behalf of a wallet</strong>:</p>
<pre>GET /me
Authorization: Bearer &lt;ACCESS_TOKEN&gt;</pre>
<p>The response has the wallet of the token, the app that called, and what that app may do:</p>
<pre>{ "wallet": "0x…", "client_id": "…", "scope": "enhancement" }</pre>
<ul>
<li>The token is checked with <code>@grantor/resource</code>: signature, issuer, audience, time, scope.</li>
<li>Every call also uses introspection at the authorization service, so a revoked token is refused <strong>at once</strong>.</li>
<li>A token that is bound to a key (<code>Authorization: DPoP</code>, RFC 9449) needs a <strong>fresh proof</strong> of that key with each call.</li>
<li><code>POST /enhancements/helmet</code> needs the scope <code>enhance</code>, and draws from the <strong>limit</strong> that the wallet signed.</li>
<li>Without a valid token or without the scope, the status is 401 or 403 (RFC 6750).</li>
</ul>
</main>
</body>
</html>
`

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  // Only the style sheet, identified by its hash, may load. No script may run, and no site may frame the page.
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}
