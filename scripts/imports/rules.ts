/**
 * The import rules of the folders of `packages/server`, written once. Manifests and project references decide what a package may import.
 * `npm run check:imports` checks each file. `npx vitest run packages/server/test/imports -u` derives the table in
 * docs/reference/architecture.md from this list.
 */

export type ImportRule = {
  /** From `packages/server`. The rule covers this folder and its subfolders, except for subfolders that have a rule of their own. */
  folder: string
  /** what the folder is responsible for: one sentence without a full stop, for the table */
  owns: string
  /** other folders of this list, each with its subfolders as far as they have no rule of their own */
  mayImport: readonly string[]
  /** npm packages, and modules of Node as `node:fs`; every folder may use `@grantor/protocol` */
  others: readonly string[] | 'any'
}

/** A folder comes before its subfolders. */
export const importRules: readonly ImportRule[] = [
  rule('locales', 'the texts of the pages, one file for each language'),
  rule('src', 'what `@grantor/testing` takes from the server', {
    ours: `
      cli cli/terminal cli/configuration cli/compose cli/serve cli/development config wallet operations ops/process login-server
    `,
  }),
  rule('src/protocol/oauth', 'the values of the protocol: errors, parameters, redirect URIs, scopes, metadata; pure functions', {
    ours: 'locales',
    others: 'node:crypto',
  }),
  rule('src/protocol/wallet', 'addresses, texts to sign, signatures, receipts; pure functions', {
    others: '@noble/curves @noble/hashes',
  }),
  rule('src/outbound/chain', 'JSON-RPC calls to chains, which check the signatures of contract wallets and read ENS names', {
    ours: 'wallet',
  }),
  rule(
    'src/outbound/http',
    'HTTP requests to addresses that others chose: keys and logout endpoints of clients, webhooks, the hook of the operator, pictures of names',
    {
      others: 'node:dns node:http node:https node:net',
    },
  ),
  rule(
    'src/config/look',
    "the values of the operator's look: colours, the name of the platform, the check of pictures; pure functions",
    {
      ours: 'oauth',
      others: 'node:crypto node:zlib',
    },
  ),
  rule('src/protocol/keys', 'the key ring, sealed values, MACs, client secrets, JWTs', {
    others: '@noble/curves node:crypto',
  }),
  rule('src/domain/model', 'the records, the store interface, ids, and what the domain takes as arguments', {
    ours: 'oauth wallet keys',
    others: 'node:crypto',
  }),
  rule('src/domain/clients', 'client authentication, client keys, registration and its rules, clients in memory', {
    ours: 'oauth look wallet keys domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/resources', 'the registered resources in memory, their rules, and which scopes belong to which resource', {
    ours: 'oauth wallet domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/consent', 'what a wallet allowed: sessions, receipts, checking them again, ending grants', {
    ours: 'oauth wallet keys domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/hook', "the operator's hook: its questions, its answers, its limits", {
    ours: 'oauth wallet keys domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/tokens', 'code exchange, refresh, client credentials, DPoP, ID tokens, introspection, revocation, userinfo', {
    ours: 'oauth wallet keys domain/model domain/clients domain/resources domain/consent',
    others: 'node:crypto',
  }),
  rule('src/domain/authorization', 'the authorization request and its response, the login challenge, the confirmation', {
    ours: 'oauth wallet keys domain/model domain/clients domain/resources domain/consent domain/tokens',
    others: 'node:crypto',
  }),
  rule('src/domain/login', 'the login: the text to sign, the proof of the wallet, the new session, the way back to the app', {
    ours: 'oauth wallet keys domain/model domain/resources domain/consent domain/authorization',
    others: 'node:crypto',
  }),
  rule('src/domain/account', 'the account page of a wallet, names of accounts, logout, and logout notices to clients', {
    ours: 'oauth look wallet keys domain/model domain/consent domain/tokens domain/authorization',
    others: 'node:crypto',
  }),
  rule('src/domain/endings', 'the feed of endings that resource servers read', {
    ours: 'keys domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/audit', 'the audit trail: its lines, its chain of hashes, signed heads, retention, and the check of a chain', {
    ours: 'wallet keys domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/activity', 'how many wallets are active and how many sign-ins there are, over all nodes', {
    ours: 'wallet domain/model',
    others: 'node:crypto',
  }),
  rule('src/domain/maintenance', 'key rotation, deletion of old rows, bounds for one wallet, restoring a backup', {
    ours: 'wallet keys domain/model domain/consent',
    others: 'node:crypto',
  }),
  rule('src/domain/operators', 'who may use the admin API, roles, and long work that operators start', {
    ours: 'oauth wallet keys domain/model domain/consent domain/tokens',
    others: 'node:crypto',
  }),
  rule('src/store', 'what both stores share', { ours: 'domain/model', others: 'node:timers/promises' }),
  rule('src/store/sqlite', 'the store on SQLite', {
    ours: 'store domain/model',
    others: 'node:fs node:path node:sqlite node:worker_threads',
  }),
  rule('src/store/postgres', 'the store on PostgreSQL: the same file names, the same contract suite', {
    ours: 'store domain/model',
    others: 'pg node:crypto node:fs node:net node:os node:tls node:util',
  }),
  rule('src/store/citus', 'the placement of rows on the machines of a Citus cluster; plain PostgreSQL never loads it', {
    ours: 'store/postgres domain/model',
    others: 'pg node:crypto',
  }),
  rule('src/pages', 'what all pages share: the frame, the pieces, the headers, notices', {
    ours: 'locales oauth look wallet',
    others: 'node:crypto node:fs node:zlib',
  }),
  rule('src/pages/login', 'the pages of a sign-in, as pure functions from data to HTML', {
    ours: 'oauth pages',
    others: 'qr node:zlib',
  }),
  rule('src/pages/account', 'the pages on which a wallet sees and ends what it allowed', { ours: 'oauth pages' }),
  rule('src/pages/device', 'the page for the code of a device', { ours: 'oauth pages' }),
  rule('src/pages/browser', 'the scripts and the styles of the browser'),
  rule('src/observability/metrics', 'what is counted and measured; the type of traces', { others: 'fastify prom-client' }),
  rule('src/app/process', 'background work, shutdown, options of the engine', {
    others: 'pino node:crypto node:http node:timers/promises node:v8',
  }),
  rule('src/http', 'what every HTTP server needs: request lines, malformed requests, limits, TLS, the listener of the metrics', {
    ours: 'ops/metrics ops/process',
    others: 'fastify pino node:async_hooks node:crypto node:http node:https node:net node:stream',
  }),
  rule('src/observability/log', 'the log and its redaction', { ours: 'ops/metrics ops/http', others: 'pino' }),
  rule('src/observability/traces', 'traces with OpenTelemetry; imported only if a collector is configured', {
    ours: 'ops/metrics',
    others:
      '@opentelemetry/api @opentelemetry/exporter-trace-otlp-http @opentelemetry/resources @opentelemetry/sdk-trace fastify node:async_hooks node:crypto node:timers/promises',
  }),
  rule('src/config', 'the settings: their table, their parsers, their errors', {
    ours: 'oauth look',
    others: 'node:crypto node:fs node:net node:tls',
  }),
  rule('src/http/auth', 'the HTTP server of the authorization server, with one file per endpoint', {
    ours: `
      oauth domain/model domain/clients domain/resources domain/consent domain/tokens domain/authorization domain/login
      domain/account domain/endings pages pages/login pages/account pages/device ops/http ops/metrics ops/process
    `,
    others: 'fastify node:crypto node:https node:stream node:timers/promises',
  }),
  rule(
    'src/operators/operations',
    'what an operator can do, each operation once as a value; the members of records; plan, apply and export',
    {
      ours: `
      oauth look wallet keys domain/model domain/clients domain/resources domain/consent domain/audit
      domain/activity domain/maintenance domain/operators
    `,
      others: 'node:crypto node:util',
    },
  ),
  rule(
    'src/operators/api',
    'the HTTP side of the operations: the admin API, on a listener of its own, and its OpenAPI document',
    {
      ours: `
      oauth domain/endings domain/model domain/consent domain/tokens domain/maintenance domain/operators operations ops/http
      ops/metrics pages
    `,
      others: '@fastify/swagger fastify node:http node:https',
    },
  ),
  rule('src/operators/console', 'the pages for operators, on the listener of the admin API', {
    ours: `
      oauth wallet keys domain/model domain/resources domain/tokens domain/operators operations admin pages
      ops/http
    `,
    others: 'fastify node:crypto node:os',
  }),
  rule('src/http/login', 'the login server, which reaches the authorization server over HTTP only', {
    ours: 'oauth pages pages/login ops/http ops/metrics',
    others: 'fastify node:crypto node:https node:zlib',
  }),
  rule('src/app', 'the entry point, the list of commands, `--help`', {
    ours: 'cli/terminal cli/commands cli/operation-commands oauth config ops/log operations',
    others: 'any',
  }),
  rule('src/operators/terminal', 'what a command is: its arguments, its output, its errors', {
    ours: 'oauth config wallet look',
    others: 'any',
  }),
  rule('src/operators/terminal/operations', 'the terminal side of the operations: their commands, options and output', {
    ours: 'cli/terminal cli/compose operations',
    others: 'any',
  }),
  rule('src/operators/terminal/configuration', 'what `apply` reads and prints: the file, the plan, the file of new secrets', {
    ours: 'cli/terminal look oauth domain/model operations',
    others: 'any',
  }),
  rule('src/app/compose', 'the composition: from settings to the store, the keys and the servers', {
    ours: `
      cli/terminal config ops/http ops/log ops/metrics ops/process wallet chain outbound keys domain/consent
      domain/hook domain/model domain/clients domain/resources domain/account domain/endings domain/audit domain/maintenance
      domain/activity domain/operators operations store store/sqlite store/postgres store/citus http admin console login-server telemetry pages
    `,
    others: 'any',
  }),
  rule('src/app/doctor', 'the checks of `grantor doctor`', {
    ours: 'cli/terminal cli/compose config look oauth keys ops/http domain/hook domain/maintenance domain/resources',
    others: 'any',
  }),
  rule('src/app/init', 'what `grantor init` writes and prints', { ours: 'cli/terminal config', others: 'any' }),
  rule('src/app/serve', 'running servers: listening, workers, shutdown', {
    ours: 'cli/terminal cli/compose config ops/http ops/log ops/metrics ops/process http',
    others: 'any',
  }),
  rule(
    'src/app/development',
    'what exists for `grantor start` and `test-issuer` only: the demo, the development wallet, the readable log',
    {
      ours: `
      cli/compose cli/configuration cli/terminal keys domain/model domain/clients operations ops/log login-server demo
    `,
      others: 'any',
    },
  ),
  rule('src/app/commands', 'one file per command', {
    ours: `
      cli/terminal cli/operation-commands cli/configuration cli/compose cli/serve cli/doctor cli/init cli/development
      config ops/log ops/metrics ops/process wallet chain keys domain/model domain/audit
      domain/maintenance domain/operators operations store login-server
    `,
    others: 'any',
  }),
  rule('demo', 'the apps and the APIs of `grantor start`, which use only HTTP and the packages', { others: 'any' }),
]

/** The rule of a file or folder: that of the nearest folder above it. */
export function ruleOf(path: string): ImportRule | undefined {
  return importRules.findLast(({ folder }) => path === folder || path.startsWith(`${folder}/`))
}

/** A rule from names that are separated by spaces. `ours` are `demo`, `locales` and folders of `src`. */
function rule(folder: string, owns: string, { ours = '', others = '' }: { ours?: string; others?: string } = {}): ImportRule {
  const mayImport = listOf(ours).map((name) => (['demo', 'locales'].includes(name) ? name : `src/${name}`))
  return { folder, owns, mayImport, others: others === 'any' ? 'any' : ['@grantor/protocol', ...listOf(others)] }
}

function listOf(names: string): string[] {
  return names.split(/\s+/).filter(Boolean)
}
