/** The generated page of errors names every error and every reason of the service. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorsPage } from '../../../../scripts/docs/errors-page.ts'
import { resourceReasons } from '../../../resource/src/resource-reasons.ts'
import { loginErrors, oauthErrors, pageReasons } from '../../src/protocol/oauth/reasons.ts'

test('The generated page of errors has a heading for each error, and a row for each reason', () => {
  const page = errorsPage()
  for (const [error, { status, reasons }] of [...Object.entries(oauthErrors), ...Object.entries(loginErrors)]) {
    expect(page).toContain(`\n### ${status} \`${error}\`\n`)
    for (const reason of Object.keys(reasons)) expect(page).toContain(`\n| \`${reason}\` |`)
  }
})

test('Every reason in the tables of errors is used by the source code', () => {
  const packages = new URL('../../../', import.meta.url)
  const code = globSync('{server,resource,protocol}/src/**/*.ts', { cwd: packages.pathname })
    .filter((path) => !path.endsWith('reasons.ts'))
    .map((path) => readFileSync(new URL(path, packages), 'utf8'))
    .join('')
  // A reason is a literal or a template, such as `pushed_${outcome}` and `${parameter}_missing`.
  const templates = [...code.matchAll(/`([a-z_]*_)?\$\{[\w.]+\}(_[a-z0-9_]+)?`/g)].map(([, before = '', after = '']) => [
    before,
    after,
  ])
  const isUsed = (name: string): boolean =>
    code.includes(`'${name}'`) ||
    templates.some(([before = '', after = '']) =>
      name.startsWith('PARAMETER') ? name === `PARAMETER${after}` : after === '' && before !== '' && name.startsWith(before),
    )
  const tables = [...Object.values(oauthErrors), ...Object.values(loginErrors)].map(({ reasons }) => reasons)
  const unused = [...tables, pageReasons, ...Object.values(resourceReasons)]
    .flatMap((reasons) => Object.keys(reasons))
    .filter((name) => !isUsed(name))
  expect(unused).toEqual([])
})

/** The errors of RFC 6749 §5.2 and §4.1.2.1, RFC 6750 §3.1, RFC 8707 §2, RFC 9101 §7, RFC 9449 §5 and §8, OpenID Connect Core §3.1.2.6. */
const REGISTERED = [
  'access_denied',
  'account_selection_required',
  'authorization_pending',
  'consent_required',
  'expired_token',
  'insufficient_scope',
  'interaction_required',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_dpop_proof',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_request_object',
  'invalid_scope',
  'invalid_target',
  'invalid_token',
  'login_required',
  'registration_not_supported',
  'request_not_supported',
  'request_uri_not_supported',
  'server_error',
  'slow_down',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'use_dpop_nonce',
]

// An API that asks for approvals reads these (docs/guides/approvals.md).
const OF_APPROVALS = [
  'already_used',
  'approvals_declined',
  'key_used',
  'not_approved',
  'not_yours',
  'token_inactive',
  'too_many_approvals',
  'unknown_approval',
]

// An API that draws from a limit reads these (docs/guides/limits.md), and some of those above.
const OF_LIMITS = [
  'above_draw',
  'already_returned',
  'amount_exceeded',
  'each_exceeded',
  'limit_not_signed',
  'no_limit',
  'unknown_draw',
  'uses_exceeded',
]

test('The errors of the OAuth endpoints are those that a standard defines (RFC 6749 §11.4), eight at the endpoint for approvals, and eight at the endpoint for draws', () => {
  expect(Object.keys(oauthErrors).sort()).toEqual([...REGISTERED, ...OF_APPROVALS, ...OF_LIMITS].sort())
  const pageOf = (error: string) => oauthErrors[error as keyof typeof oauthErrors].definedIn
  for (const error of OF_APPROVALS) expect(pageOf(error)).toBe('approvals.md')
  for (const error of OF_LIMITS) expect(pageOf(error)).toBe('limits.md')
})
