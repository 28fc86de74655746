/**
 * The headers of every page of both servers (RFC 9700 §4.2.4, §4.16; OpenID Connect Core §3.1.2.3).
 *
 * - No inline script or style: a name that slips through the escaping still runs nothing. `data:` images are wallets' icons.
 * - `form-action` holds for every hop of a redirect, so a form that leads to another origin answers a moving-on page. It is
 *   `'self'` unless the page posts an answer to an app: then it is the app's origin.
 * - `frame-ancestors` (and its forerunner): nobody can put the sign-in button under somebody else's picture.
 * - Opener policy: `same-origin` would cut off wallets that open a window of their own (passkey wallets).
 * - Referrer: a login challenge in our URL stays on our origin. `no-referrer` would make browsers send `Origin: null`.
 */
export function pageHeaders(formAction = "'self'"): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(formAction),
    'cross-origin-opener-policy': 'same-origin-allow-popups',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

const policy = (formAction: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
