/**
 * The import rules of the rooms of `packages/server`, written once. Manifests and project references decide what a package may import.
 * Within a room, folders may import each other as long as they form no circle. `npm run check:imports` checks each file and each folder. `npx vitest run packages/server/test/imports -u` derives the table in
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
  rule('src/protocol', 'the values of the standards, pure: OAuth, wallets and their texts, keys, tokens and sealed values', {
    ours: 'locales',
    others: '@noble/curves @noble/hashes node:crypto',
  }),
  rule('src/config', "the settings: their table, their parsers, their errors; the values of the operator's look", {
    ours: 'protocol',
    others: 'node:crypto node:fs node:net node:tls node:zlib',
  }),
  rule('src/outbound', 'requests to others: HTTP to addresses that clients or the operator named, JSON-RPC to chains', {
    ours: 'protocol',
    others: 'node:dns node:http node:https node:net',
  }),
  rule('src/observability', 'the log and its redaction, what is counted and measured, the type of traces', {
    others: 'fastify pino prom-client node:async_hooks node:crypto node:net',
  }),
  rule('src/observability/traces', 'traces with OpenTelemetry; imported only if a collector is configured', {
    ours: 'observability',
    others:
      '@opentelemetry/api @opentelemetry/exporter-trace-otlp-http @opentelemetry/resources @opentelemetry/sdk-trace fastify node:async_hooks node:crypto node:timers/promises',
  }),
  rule('src/domain', 'who allowed what, and each lawful change', { ours: 'protocol config', others: 'node:crypto node:zlib' }),
  rule('src/store', 'what both stores share: tables that are described once', { ours: 'domain', others: 'node:timers/promises' }),
  rule('src/store/sqlite', 'the store on SQLite', {
    ours: 'store domain',
    others: 'node:fs node:path node:sqlite node:worker_threads',
  }),
  rule('src/store/postgres', 'the store on PostgreSQL: the same file names, the same contract suite', {
    ours: 'store domain',
    others: 'pg node:crypto node:fs node:net node:os node:tls node:util',
  }),
  rule('src/store/citus', 'the placement of rows on the machines of a Citus cluster; plain PostgreSQL never loads it', {
    ours: 'store store/postgres domain',
    others: 'pg node:crypto',
  }),
  rule('src/pages', 'the pages, as pure functions from data to HTML, with their styles and the scripts of the browser', {
    ours: 'locales protocol config',
    others: 'qr node:crypto node:fs node:zlib',
  }),
  rule('src/http', 'what every HTTP server needs: malformed requests, limits, TLS, cookies, the listener of the metrics', {
    ours: 'observability',
    others: 'fastify pino node:crypto node:http node:https node:net node:stream',
  }),
  rule('src/http/auth', 'the HTTP server of the authorization server, with one file per endpoint', {
    ours: 'protocol domain pages http observability',
    others: 'fastify node:crypto node:https node:stream node:timers/promises',
  }),
  rule('src/http/login', 'the login server, which reaches the authorization server over HTTP only', {
    ours: 'protocol pages http observability',
    others: 'fastify node:crypto node:https node:zlib',
  }),
  rule('src/operators', 'what an operator can do, each operation once as a value, and its doors: API, console, command line', {
    ours: 'protocol config domain pages http observability',
    others:
      '@fastify/swagger fastify yaml node:crypto node:fs node:http node:https node:os node:path node:readline node:timers/promises node:util',
  }),
  rule('src/app', 'the composition: from settings to the store, the keys and the servers; the commands that are no operation', {
    ours: 'protocol config outbound observability observability/traces domain store store/sqlite store/postgres store/citus pages http http/auth http/login operators demo',
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
