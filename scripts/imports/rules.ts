/**
 * The import rules, written once. `npm run import-rules` derives the linter's overrides in .oxlintrc.json and the table in
 * docs/reference/architecture.md from this list; test/imports breaks each rule once.
 */

export type ImportRule = {
  /** The rule covers this folder and its subfolders, except for subfolders that have a rule of their own. */
  folder: string
  /** what the folder is responsible for: one sentence without a full stop, for the table */
  owns: string
  /** other folders of this list, each with its subfolders as far as they have no rule of their own */
  mayImport: readonly string[]
  /** npm packages */
  packages: readonly string[] | 'any'
  /** modules of Node, without `node:` */
  node: readonly string[] | 'any'
}

const DOMAIN = { packages: [], node: ['crypto'] } as const
const COMMAND_LINE = { packages: 'any', node: 'any' } as const

/** A folder comes before its subfolders, because a later override of the linter replaces an earlier one. */
export const importRules: readonly ImportRule[] = [
  {
    folder: 'src/oauth',
    owns: 'the values of the protocol: errors, parameters, redirect URIs, scopes, metadata; pure functions',
    mayImport: [],
    packages: [],
    node: ['crypto'],
  },
  {
    folder: 'src/wallet',
    owns: 'addresses, texts to sign, signatures, receipts; pure functions',
    mayImport: [],
    packages: ['@noble/curves', '@noble/hashes'],
    node: [],
  },
  {
    folder: 'src/chain',
    owns: 'JSON-RPC calls to chains, which check the signatures of contract wallets',
    mayImport: ['src/wallet'],
    packages: [],
    node: [],
  },
  {
    folder: 'src/outbound',
    owns: 'HTTP requests to addresses that clients registered: their keys and their logout endpoints',
    mayImport: [],
    packages: [],
    node: ['dns', 'http', 'https', 'net'],
  },
  {
    folder: 'src/keys',
    owns: 'the key ring, sealed values, MACs, client secrets, JWTs',
    mayImport: ['src/oauth'],
    packages: ['@noble/curves'],
    node: ['crypto'],
  },
  {
    folder: 'src/domain/model',
    owns: 'the records, the store interface, ids, and what the domain takes as arguments',
    mayImport: ['src/oauth', 'src/wallet', 'src/keys'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/clients',
    owns: 'client authentication, client keys, registration and its rules, clients in memory',
    mayImport: ['src/oauth', 'src/wallet', 'src/keys', 'src/domain/model'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/resources',
    owns: 'the registered resources in memory, their rules, and which scopes belong to which resource',
    mayImport: ['src/oauth', 'src/domain/model'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/consent',
    owns: 'what a wallet allowed: sessions, receipts, checking them again, ending grants',
    mayImport: ['src/oauth', 'src/wallet', 'src/keys', 'src/domain/model'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/tokens',
    owns: 'code exchange, refresh, client credentials, DPoP, ID tokens, introspection, revocation, userinfo',
    mayImport: [
      'src/oauth',
      'src/wallet',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/resources',
      'src/domain/consent',
    ],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/authorization',
    owns: 'the authorization request and its response, the login challenge, the confirmation',
    mayImport: [
      'src/oauth',
      'src/wallet',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/resources',
      'src/domain/consent',
      'src/domain/tokens',
    ],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/login',
    owns: 'the login: the text to sign, the proof of the wallet, the new session, the way back to the app',
    mayImport: [
      'src/oauth',
      'src/wallet',
      'src/keys',
      'src/domain/model',
      'src/domain/resources',
      'src/domain/consent',
      'src/domain/authorization',
    ],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/account',
    owns: 'the account page of a wallet, logout, and logout notices to clients',
    mayImport: [
      'src/oauth',
      'src/wallet',
      'src/keys',
      'src/domain/model',
      'src/domain/consent',
      'src/domain/tokens',
      'src/domain/authorization',
    ],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/audit',
    owns: 'the audit trail: its lines, its chain of hashes, signed heads, retention, and the check of a chain',
    mayImport: ['src/wallet', 'src/keys', 'src/domain/model'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/maintenance',
    owns: 'key rotation, deletion of old rows, bounds for one wallet, restoring a backup',
    mayImport: ['src/keys', 'src/domain/model', 'src/domain/consent'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/operators',
    owns: 'who may use the admin API, roles, and long work that operators start',
    mayImport: ['src/oauth', 'src/wallet', 'src/keys', 'src/domain/model', 'src/domain/consent', 'src/domain/tokens'],
    ...DOMAIN,
  },
  {
    folder: 'src/domain/configuration',
    owns: 'the clients and resources of a store as one configuration: the plan, the changes, the export',
    mayImport: ['src/oauth', 'src/keys', 'src/domain/model', 'src/domain/clients', 'src/domain/resources', 'src/domain/consent'],
    ...DOMAIN,
  },
  {
    folder: 'src/store',
    owns: 'what both stores share',
    mayImport: [],
    packages: [],
    node: ['timers/promises'],
  },
  {
    folder: 'src/store/sqlite',
    owns: 'the store on SQLite',
    mayImport: ['src/store', 'src/domain/model'],
    packages: [],
    node: ['fs', 'path', 'sqlite', 'worker_threads'],
  },
  {
    folder: 'src/store/postgres',
    owns: 'the store on PostgreSQL: the same file names, the same contract suite',
    mayImport: ['src/store', 'src/domain/model'],
    packages: ['pg'],
    node: ['crypto', 'fs', 'net', 'os', 'tls'],
  },
  {
    folder: 'src/pages',
    owns: 'pages as pure functions from data to HTML, and the scripts of the browser',
    mayImport: ['src/oauth'],
    packages: ['qr'],
    node: ['crypto', 'fs'],
  },
  {
    folder: 'src/ops',
    owns: 'logs, metrics, rate limits, TLS, shutdown',
    mayImport: [],
    packages: ['fastify', 'pino', 'prom-client'],
    node: ['async_hooks', 'crypto', 'http', 'https', 'net', 'stream', 'timers/promises'],
  },
  {
    folder: 'src/config',
    owns: 'the settings: their table, their parsers, their errors',
    mayImport: ['src/oauth'],
    packages: [],
    node: ['crypto', 'fs', 'net', 'tls'],
  },
  {
    folder: 'src/http',
    owns: 'the HTTP server of the authorization server, with one file per endpoint',
    mayImport: [
      'src/oauth',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/resources',
      'src/domain/consent',
      'src/domain/tokens',
      'src/domain/authorization',
      'src/domain/login',
      'src/domain/account',
      'src/pages',
      'src/ops',
    ],
    packages: ['fastify'],
    node: ['crypto', 'https'],
  },
  {
    folder: 'src/admin',
    owns: 'the admin API and the console, on a listener of their own, and the OpenAPI document of the API',
    mayImport: [
      'src/oauth',
      'src/wallet',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/resources',
      'src/domain/consent',
      'src/domain/tokens',
      'src/domain/audit',
      'src/domain/maintenance',
      'src/domain/operators',
      'src/domain/configuration',
      'src/pages',
      'src/ops',
    ],
    packages: ['@fastify/swagger', 'fastify', 'typebox'],
    node: ['async_hooks', 'crypto', 'http', 'https', 'os'],
  },
  {
    folder: 'src/login-server',
    owns: 'the login server, which reaches the authorization server over HTTP only',
    mayImport: ['src/oauth', 'src/pages', 'src/ops'],
    packages: ['fastify'],
    node: ['https'],
  },
  {
    folder: 'src/resource',
    owns: '`grantor/resource`, which a resource API or an MCP server imports to check access tokens, and its adapters for frameworks',
    mayImport: ['src/oauth', 'src/keys'],
    packages: ['jose'],
    node: ['http'],
  },
  {
    folder: 'src/cli',
    owns: 'the entry point, the list of commands, `--help`',
    mayImport: ['src/cli/terminal', 'src/cli/commands', 'src/config', 'src/ops'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/terminal',
    owns: 'what a command is: its arguments, its output, its errors',
    mayImport: ['src/config', 'src/wallet'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/clients',
    owns: 'what the `clients` commands share: options, lookup, output',
    mayImport: ['src/cli/terminal', 'src/oauth', 'src/keys', 'src/domain/model'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/resources',
    owns: 'what the `resources` commands share: options, lookup, output',
    mayImport: ['src/cli/terminal', 'src/domain/model', 'src/domain/resources'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/operators',
    owns: 'what the `operators` commands share',
    mayImport: ['src/cli/terminal', 'src/wallet', 'src/domain/operators'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/configuration',
    owns: 'what `apply` and `export` share: the file, the printed plan, the file of new secrets',
    mayImport: ['src/cli/terminal', 'src/config', 'src/domain/configuration'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/compose',
    owns: 'the composition: from settings to the store, the keys and the servers',
    mayImport: [
      'src/cli/terminal',
      'src/config',
      'src/ops',
      'src/wallet',
      'src/chain',
      'src/outbound',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/resources',
      'src/domain/account',
      'src/domain/audit',
      'src/domain/maintenance',
      'src/domain/operators',
      'src/store/sqlite',
      'src/store/postgres',
      'src/http',
      'src/admin',
      'src/login-server',
    ],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/doctor',
    owns: 'the checks of `grantor doctor`',
    mayImport: ['src/cli/terminal', 'src/cli/compose', 'src/config', 'src/ops', 'src/domain/maintenance'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/init',
    owns: 'what `grantor init` writes and prints',
    mayImport: ['src/cli/terminal', 'src/config'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/serve',
    owns: 'running servers: listening, workers, shutdown',
    mayImport: ['src/cli/terminal', 'src/cli/compose', 'src/config', 'src/ops', 'src/http'],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/development',
    owns: 'what exists for `grantor start` only: the demo, the development wallet, the readable log',
    mayImport: [
      'src/cli/compose',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/ops',
      'src/login-server',
      'examples',
    ],
    ...COMMAND_LINE,
  },
  {
    folder: 'src/cli/commands',
    owns: 'one file per command',
    mayImport: [
      'src/cli/terminal',
      'src/cli/clients',
      'src/cli/resources',
      'src/cli/operators',
      'src/cli/configuration',
      'src/cli/compose',
      'src/cli/serve',
      'src/cli/doctor',
      'src/cli/init',
      'src/cli/development',
      'src/config',
      'src/ops',
      'src/wallet',
      'src/chain',
      'src/keys',
      'src/domain/model',
      'src/domain/clients',
      'src/domain/consent',
      'src/domain/configuration',
      'src/domain/audit',
      'src/domain/maintenance',
      'src/domain/operators',
      'src/login-server',
    ],
    ...COMMAND_LINE,
  },
  {
    folder: 'examples',
    owns: 'a demo builder app, a resource API, an MCP server and a login server, which use only HTTP and the exports of the package',
    mayImport: [],
    packages: 'any',
    node: 'any',
  },
  {
    folder: 'bench',
    owns: 'measurements of the built package, over HTTP',
    mayImport: [],
    packages: 'any',
    node: 'any',
  },
]

/** Folders that hold no rule and that nothing in this list may import. */
export const OTHER_FOLDERS = ['bin', 'dist', 'scripts', 'test'] as const

/** The rule of a folder: its own, or that of the nearest folder above it. */
export function ruleOf(path: string): ImportRule | undefined {
  return importRules.findLast(({ folder }) => path === folder || path.startsWith(`${folder}/`))
}
