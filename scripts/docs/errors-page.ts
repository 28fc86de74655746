/** The page of errors and reasons, from the tables of reasons. */

import { resourceReasons } from '../../packages/resource/src/resource-reasons.ts'
import { endReasons } from '../../packages/server/src/domain/model/records.ts'
import { type Endpoint, loginErrors, oauthErrors, pageReasons } from '../../packages/server/src/protocol/oauth/reasons.ts'

type Row = readonly [at: Endpoint | readonly Endpoint[], means: string, act?: string]
type ErrorRow = { status: number; definedIn: string; description: string; act: string; reasons: Readonly<Record<string, Row>> }
type ErrorTable = Readonly<Record<string, ErrorRow>>

export function errorsPage(): string {
  return [
    INTRODUCTION,
    '## All errors',
    allErrors({ ...oauthErrors, ...ownErrors() }),
    '## OAuth 2.0 and OpenID Connect',
    ...sections(oauthErrors),
    '## Pages',
    PAGES,
    reasonTable(pageReasons),
    '## The API between the two servers',
    LOGIN_API,
    ...sections(loginErrors),
    '## What a resource API logs',
    RESOURCE,
    ...Object.entries(resourceReasons).map(
      ([error, reasons]) => `### ${error === 'no_error' ? 'no error' : `\`${error}\``}\n\n${meanings(reasons)}`,
    ),
    '## Why a grant ended',
    ENDINGS,
    meanings(endReasons),
  ]
    .join('\n\n')
    .concat('\n')
}

const INTRODUCTION = `# Errors and reasons

For builders whose request was refused, and for operators who look up why.

A refusal has two names. The **error** is for the client: a registered code with a fixed description, the same for every cause, so
that the description does not help an attacker. The **reason** is for the operator: the log and the metric \`grantor_refusals_total\` name the exact cause.

Every response has a header \`X-Request-Id\`. A builder sends this id to the operator, and the operator finds the reason:

\`\`\`sh
grep 3f0c1c0e-7c5e-4a53-9e0c-0d6f2a1b9c77 grantor.log
\`\`\`

The audit line has the id as \`request_id\`, the request line as \`reqId\`. The service generates the id. An \`X-Request-Id\` that a
caller or a proxy sends is ignored: otherwise a caller could write into the log, or make two requests look like one.

In the tables, \`PARAMETER\` stands for the name of a parameter: the reason of a missing code is \`code_missing\`. "Clients" are the
endpoints that authenticate clients: \`/oauth/token\`, \`/oauth/introspect\`, \`/oauth/revoke\` and \`/oauth/par\`.`

const PAGES = `The response to these requests is a page, because no redirect URI is safe to use. The audit line has the event
\`authorize_refused\`, \`logout_refused\` or \`login_refused\`. A request that names no redirect URI of the client can have any reason of
the authorization endpoint as well.`

const LOGIN_API = `Codes of the login server's API ([own-login-server.md](../guides/own-login-server.md)). This API is no OAuth endpoint, so most codes are not those of OAuth. The
codes \`invalid_client\`, \`temporarily_unavailable\` and \`server_error\` mean what they mean above. Grantor's own login server sends the
same codes to the script of the page, and 403 \`foreign_origin\`, 404 \`not_found\` and 405 \`method_not_allowed\`.`

const RESOURCE = `The member \`reason\` of a \`ResourceError\` of \`@grantor/resource\`. It is for the log of the API, never for the caller. A DPoP
proof has the reasons of \`invalid_dpop_proof\` above, or \`nonce_wanted\`.`

const ENDINGS = 'The audit event `grant_ended` and `grantor grants list` have one of these.'

const WHERE: Record<Endpoint, string> = {
  any: 'any endpoint',
  clients: 'clients',
  authorize: '`/oauth/authorize`',
  par: '`/oauth/par`',
  'device-authorization': '`/oauth/device_authorization`',
  device: '`/device`',
  token: '`/oauth/token`',
  introspect: '`/oauth/introspect`',
  approvals: '`/oauth/approvals`',
  draw: '`/oauth/draw`',
  approve: '`/approve`',
  endings: '`/oauth/endings`',
  revoke: '`/oauth/revoke`',
  userinfo: '`/oauth/userinfo`',
  'login-api': 'login API',
  'cross-device': '`/login/cross-device`',
  'login-complete': '`/login/complete`',
  logout: '`/oauth/logout`',
  register: '`/oauth/register`',
  admin: 'admin API',
}

/** The error codes that the login API defines itself. */
function ownErrors(): ErrorTable {
  const isOwn = ([error, { definedIn }]: [string, ErrorRow]) => definedIn === 'own-login-server.md' || !(error in oauthErrors)
  return Object.fromEntries(Object.entries<ErrorRow>(loginErrors).filter(isOwn))
}

function allErrors(errors: ErrorTable): string {
  return table(
    ['`error`', 'status', 'defined in'],
    Object.entries(errors).map(([error, { status, definedIn }]) => [`\`${error}\``, String(status), definedIn]),
  )
}

function sections(errors: ErrorTable): string[] {
  return Object.entries(errors).map(
    ([error, { status, description, act, reasons }]) =>
      `### ${status} \`${error}\`\n\n> ${description}\n\n${act}\n\n${reasonTable(reasons)}`,
  )
}

function reasonTable(reasons: ErrorRow['reasons']): string {
  return table(
    ['reason', 'at', 'meaning', 'what to do'],
    Object.entries(reasons).map(([reason, [at, means, act = '']]) => [
      `\`${reason}\``,
      [at]
        .flat()
        .map((each) => WHERE[each])
        .join(', '),
      means,
      act,
    ]),
  )
}

function meanings(reasons: Readonly<Record<string, string>>): string {
  return table(
    ['reason', 'meaning'],
    Object.entries(reasons).map(([reason, means]) => [`\`${reason}\``, means]),
  )
}

export function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
