import { hashSources, scripts, styles } from './inline.ts'
import { GRANTOR_LOOK, type Look, type LookReply } from './look.ts'

/** Further sources for one page. */
export type PolicyAdditions = { script?: string[]; style?: string[]; connect?: string[] }

const SCRIPTS = hashSources(scripts)
const STYLES = hashSources(styles)

/**
 * The headers of every page of both servers (RFC 9700 §4.2.4, §4.16; OpenID Connect Core §3.1.2.3).
 *
 * - Only the styles and scripts of the pages, by their hashes: a value that escapes the escaping still runs nothing. `data:` images are
 *   the icons of wallets and our own.
 * - The style of the operator's accent colour is allowed by its hash too. Pages of the login server show logos of clients, which the auth
 *   service serves.
 * - Browsers apply `form-action` to every hop of a redirect, so the response to a form that leads to another origin is
 *   a page that continues by itself. The value is `'self'` unless the page posts a response to an app: then it is the
 *   app's origin.
 * - `frame-ancestors` (and its predecessor): another site cannot place the sign-in button under its own content.
 * - Opener policy: `same-origin` would break wallets that open their own window (passkey wallets).
 * - Referrer: the login challenge in our URL stays on our origin. `no-referrer` would make browsers send `Origin:
 *   null`.
 */
export function pageHeaders(
  { look = GRANTOR_LOOK }: LookReply,
  formAction = "'self'",
  more: PolicyAdditions = {},
): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(formAction, look, more),
    'cross-origin-opener-policy': 'same-origin-allow-popups',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

type Policy = (formAction: string, look: Look, more: PolicyAdditions) => string

const policy: Policy = (formAction, { styleSources, imageSources }, { script = [], style = [], connect = [] }) =>
  [
    "default-src 'none'",
    ['script-src', SCRIPTS, ...script].join(' '),
    [`style-src ${STYLES}${styleSources}`, ...style].join(' '),
    `img-src 'self' data:${imageSources}`,
    ["connect-src 'self'", ...connect].join(' '),
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
