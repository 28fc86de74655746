/**
 * The headers of every page of both servers (RFC 9700 §4.2.4, §4.16; OpenID Connect Core §3.1.2.3).
 *
 * - No inline script or style: a name that slips through the escaping still runs nothing. `data:` images are wallets' icons.
 * - `form-action 'self'` holds for every hop of a redirect, so a form that leads to another origin answers a moving-on page.
 * - `frame-ancestors` (and its forerunner): nobody can put the sign-in button under somebody else's picture.
 * - Opener policy: `same-origin` would cut off wallets that open a window of their own (passkey wallets).
 * - Referrer: a login challenge in our URL stays on our origin. `no-referrer` would make browsers send `Origin: null`.
 */
export function pageHeaders(): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin-allow-popups',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
