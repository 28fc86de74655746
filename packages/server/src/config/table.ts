/**
 * Every setting, once: name, description, default and parser. The parsing, `--help` and docs/reference/settings.md are derived
 * from this table.
 */
import { STANDARD_SCOPES } from '../protocol/oauth/standard-scopes.ts'
import { addresses } from './addresses.ts'
import { chains, hostsOfChains } from './chains.ts'
import { databaseUrl, withoutPassword } from './database-url.ts'
import { hook } from './hook.ts'
import { look } from './look.ts'
import * as read from './parsers.ts'
import {
  apart,
  auth,
  keyUsers,
  lifetimeUsers,
  nameOf,
  type Program,
  type Setting,
  servers,
  storeUsers,
  textUsers,
} from './setting.ts'
import { traces } from './traces.ts'

export type { Program, Setting }

const year = 365 * 86_400

const store = {
  databaseUrl: {
    name: 'DATABASE_URL',
    words:
      '`sqlite:PATH`, a file. The process needs write access to the file and to its folder. Or `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`, PostgreSQL 15 or newer; docs/operating/postgresql.md describes the parameters. Without `sslmode` the certificate is checked, except on this machine.',
    usedBy: storeUsers,
    parse: databaseUrl,
    shown: withoutPassword,
  },
  secret: {
    name: 'SECRET',
    words:
      'Wraps every key and the secrets of webhooks in the database; at least 32 characters. If this secret is lost, all sessions, grants and signing keys are lost.',
    usedBy: ['serve', 'keys'],
    parse: read.secret,
    secret: true,
  },
  secretPrevious: {
    name: 'SECRET_PREVIOUS',
    words:
      'The secret that GRANTOR_SECRET replaces. Keys that are wrapped with it can still be opened, until `grantor keys rewrap` has run.',
    usedBy: ['serve', 'keys'],
    parse: read.secret,
    secret: true,
  },
  loginSecret: {
    name: 'LOGIN_SECRET',
    words: 'Shared by auth service and login server; at least 32 characters, not the same as GRANTOR_SECRET.',
    usedBy: apart,
    parse: read.secret,
    secret: true,
  },
  loginSecretPrevious: {
    name: 'LOGIN_SECRET_PREVIOUS',
    words: 'The secret that GRANTOR_LOGIN_SECRET replaces. The auth service accepts both from a login server.',
    usedBy: ['serve'],
    parse: read.secret,
    secret: true,
  },
} satisfies Record<string, Setting>

const login = {
  chainIds: {
    name: 'CHAIN_IDS',
    words: 'EIP-155 chains on which a wallet may sign in, separated by commas; the first is preferred.',
    usedBy: textUsers,
    parse: read.chainIds,
    preset: '1',
  },
  chains: {
    name: 'CHAINS',
    words:
      'The chains and RPC endpoints for contract wallets, as JSON: `{"1": {"name": "Ethereum", "rpc": ["https://…", "https://…"], "home": true}}`. Exactly one home chain, one of GRANTOR_CHAIN_IDS: contract wallets sign in there only. Two RPC URLs of different operators must agree; `"one_rpc":true` trusts one alone. Other wallets do not need this setting.',
    usedBy: auth,
    parse: chains,
    shown: hostsOfChains,
    preset: '{}',
    otherwise: 'none: contract wallets cannot sign in',
  },
  ensNames: {
    name: 'ENS_NAMES',
    words:
      'on: the primary ENS name of a wallet is shown beside its address, and is its name in scope `profile`. Needs chain 1 in GRANTOR_CHAINS. The RPC endpoints of that chain receive the addresses of users; the servers of avatars are called.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
  },
  keyCheck: {
    name: 'KEY_CHECK',
    words:
      'on: before a signature of a key is trusted, the home chain of GRANTOR_CHAINS is called to check whether the account has switched its key off (EIP-7851, a draft). Ordinary wallets then cannot sign in while the chain does not respond. docs/decisions/0010-calls-to-chains.md.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
  },
  walletWindow: {
    name: 'WALLET_WINDOW',
    words:
      'The page of a smart wallet that opens in a window of its own, for people without a wallet extension: `https://keys.coinbase.com/connect`. The login page then lists the host of the page as one more wallet. The page must use the protocol of `@coinbase/wallet-sdk` 4. Its operator learns who opens the window. Needs a home chain in GRANTOR_CHAINS.',
    usedBy: ['start', 'login-server'],
    parse: read.pageUrl,
    otherwise: 'none: no such wallet is listed',
  },
  walletConnectProjectId: {
    name: 'WALLETCONNECT_PROJECT_ID',
    words:
      'The login page also offers WalletConnect, with this project id from dashboard.reown.com: 32 hexadecimal digits. It needs the package `@grantor/walletconnect`. From the click on, the relay is a third party: docs/operating/walletconnect.md.',
    usedBy: ['start', 'login-server'],
    parse: read.projectId,
    otherwise: 'none: WalletConnect is not offered',
  },
  walletConnectRelay: {
    name: 'WALLETCONNECT_RELAY',
    words: 'The relay of WalletConnect, through which the login page and the wallet send each other encrypted messages.',
    usedBy: ['start', 'login-server'],
    parse: read.relayUrl,
    preset: 'wss://relay.walletconnect.org',
  },
  loginMayVouch: {
    name: 'LOGIN_MAY_VOUCH',
    words:
      'on: the login server may sign in a wallet without a signature. Only for a platform whose own login has authenticated the wallet.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
  },
  crossDevice: {
    name: 'CROSS_DEVICE',
    words:
      'on: the login page shows a QR code and eight letters, and a wallet on another device can sign in this browser. off: a QR code only continues the login on the other device.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'on',
  },
  sessionIdleLifetime: {
    name: 'SESSION_IDLE_LIFETIME',
    words: 'Seconds after which an unused session ends.',
    usedBy: auth,
    parse: read.integer(60, year, 'seconds'),
    otherwise: '43200 (12 hours), at most GRANTOR_SESSION_LIFETIME',
  },
  sessionLifetime: {
    name: 'SESSION_LIFETIME',
    words: 'Seconds after which every session ends; 14 days unless set.',
    usedBy: auth,
    parse: read.integer(60, year, 'seconds'),
    preset: '1209600',
  },
  sessionsPerWallet: {
    name: 'SESSIONS_PER_WALLET',
    words:
      'Maximum number of open sessions of one wallet. Sign-ins beyond that end the oldest sessions (`superseded`). A limit above ten is checked after some sign-ins, and can be exceeded by a tenth on average.',
    usedBy: auth,
    parse: read.integer(1, 500, 'sessions'),
    preset: '200',
  },
  contractGrace: {
    name: 'CONTRACT_GRACE',
    words:
      'Seconds for which the last successful check of a contract wallet is accepted at a refresh if its chain does not respond; then 503.',
    usedBy: keyUsers,
    parse: read.integer(0, 86_400, 'seconds'),
    preset: '3600',
  },
  clientMetadata: {
    name: 'CLIENT_METADATA',
    words:
      'on: apps that are not registered may sign users in if their client id is the https URL of a metadata document (CIMD), as MCP clients do. Every consent is signed, and names the host of the document.',
    usedBy: auth,
    parse: read.onOff,
    otherwise: 'on under `grantor start`, off elsewhere',
  },
  clientMetadataHosts: {
    name: 'CLIENT_METADATA_HOSTS',
    words:
      'The only hosts whose metadata documents are accepted, separated by commas; `*.example.com` stands for every subdomain of example.com.',
    usedBy: auth,
    parse: read.hostPatterns,
    preset: '',
    otherwise: 'every host',
  },
  clientMetadataBlockedHosts: {
    name: 'CLIENT_METADATA_BLOCKED_HOSTS',
    words: 'Hosts whose metadata documents are not accepted, in the same form. Their access tokens stop working at once.',
    usedBy: auth,
    parse: read.hostPatterns,
    preset: '',
    otherwise: 'no host',
  },
  dynamicRegistration: {
    name: 'DYNAMIC_REGISTRATION',
    words:
      'on: any client may register itself (RFC 7591). Nothing is stored; the client id contains the registration. Every consent is signed. Prefer GRANTOR_CLIENT_METADATA: a metadata document proves at least a host.',
    usedBy: auth,
    parse: read.onOff,
    otherwise: 'on under `grantor start`, off elsewhere',
  },
  registrationToken: {
    name: 'REGISTRATION_TOKEN',
    words: 'An initial access token: only clients that send this token may register themselves.',
    usedBy: auth,
    parse: read.secret,
    secret: true,
    otherwise: 'none: registration is open',
  },
  registrationSchemes: {
    name: 'REGISTRATION_SCHEMES',
    words:
      'Private-use schemes without a dot that a client may register for itself, separated by commas. Schemes with a dot, such as com.example.app, are always allowed.',
    usedBy: auth,
    parse: read.schemes,
    preset: 'cursor,vscode,vscode-insiders',
  },
  scopeDescriptions: {
    name: 'SCOPE_DESCRIPTIONS',
    words: `What each scope allows, for the user who signs in: a JSON object from scope to description. These scopes belong to every resource; a scope of one resource is registered with \`grantor resources\`. \`enhancement\` and the scopes of the service (${STANDARD_SCOPES.map((scope) => `\`${scope}\``).join(', ')}) have descriptions already.`,
    usedBy: textUsers,
    parse: read.scopeDescriptions,
    preset: '{}',
  },
} satisfies Record<string, Setting>

const tokens = {
  defaultResource: {
    name: 'DEFAULT_RESOURCE',
    words: 'Audience of access tokens if the request names no `resource`.',
    usedBy: textUsers,
    parse: read.resourceUri,
    otherwise: 'GRANTOR_AUTH_URL; under `grantor start` the demo resource API',
  },
  accessTokenLifetime: {
    name: 'ACCESS_TOKEN_LIFETIME',
    words: 'Lifetime of an access token in seconds.',
    usedBy: lifetimeUsers,
    // RFC 6750 §5.3, OpenID Connect Core §16.18, RFC 9449 §11.2 advise "one hour or less"; the operator may set more
    parse: read.integer(10, 86_400, 'seconds'),
    preset: '600',
  },
  accessTokenLifetimeMax: {
    name: 'ACCESS_TOKEN_LIFETIME_MAX',
    words: 'The longest lifetime of an access token, in seconds, that a registered client may have.',
    usedBy: lifetimeUsers,
    parse: read.integer(10, 86_400, 'seconds'),
    otherwise: 'GRANTOR_ACCESS_TOKEN_LIFETIME: a client may only have a shorter one',
  },
  codeLifetime: {
    name: 'CODE_LIFETIME',
    words: 'Lifetime of an authorization code in seconds.',
    usedBy: lifetimeUsers,
    // RFC 6749 §4.1.2: ten minutes at most
    parse: read.integer(1, 600, 'seconds'),
    preset: '60',
  },
  refreshIdleLifetime: {
    name: 'REFRESH_IDLE_LIFETIME',
    words: 'Seconds after which an unused refresh token and its grant end.',
    usedBy: lifetimeUsers,
    parse: read.integer(60, year, 'seconds'),
    otherwise: '1209600 (14 days), at most GRANTOR_REFRESH_LIFETIME',
  },
  refreshLifetime: {
    name: 'REFRESH_LIFETIME',
    words: 'Seconds after which every grant ends, even if it is refreshed; 30 days unless set.',
    usedBy: lifetimeUsers,
    parse: read.integer(60, year, 'seconds'),
    preset: '2592000',
  },
  refreshLifetimeMax: {
    name: 'REFRESH_LIFETIME_MAX',
    words: 'The longest lifetime of a grant, and of an unused refresh token, in seconds, that a registered client may have.',
    usedBy: lifetimeUsers,
    parse: read.integer(60, year, 'seconds'),
    otherwise: 'GRANTOR_REFRESH_LIFETIME and GRANTOR_REFRESH_IDLE_LIFETIME: a client may only have shorter ones',
  },
  grantsPerWalletAndClient: {
    name: 'GRANTS_PER_WALLET_AND_CLIENT',
    words:
      'Maximum number of active grants of one wallet at one client. Code exchanges beyond that end the oldest grants (`superseded`). A limit above ten is checked after some code exchanges, and can be exceeded by a tenth on average.',
    usedBy: auth,
    parse: read.integer(1, 500, 'grants'),
    preset: '100',
  },
  refreshRetryWindow: {
    name: 'REFRESH_RETRY_WINDOW',
    words: 'Seconds in which a client may repeat a refresh with the old token if the response was lost; 0 turns this off.',
    usedBy: auth,
    parse: read.integer(0, 600, 'seconds'),
    preset: '60',
  },
  refreshRetryWindowPublic: {
    name: 'REFRESH_RETRY_WINDOW_PUBLIC',
    words: 'The same for public clients, whose refresh tokens are not bound to a DPoP key.',
    usedBy: auth,
    parse: read.integer(0, 600, 'seconds'),
    otherwise: '10, at most GRANTOR_REFRESH_RETRY_WINDOW',
  },
  dpopNonce: {
    name: 'DPOP_NONCE',
    words:
      'on: DPoP proofs must contain a nonce of the service, so that no proof can be made in advance and the clocks of apps need not be right. The first request of an app is then refused once.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
  },
  signingAlg: {
    name: 'SIGNING_ALG',
    words:
      'How access tokens are signed: ES256, EdDSA or RS256. After a change the next key is announced at once. Clients with profile fapi2 exclude RS256: if there are any, `serve` does not start, and with RS256 none can be registered.',
    usedBy: keyUsers,
    parse: read.choice('ES256', 'EdDSA', 'RS256'),
    preset: 'ES256',
  },
  keyRotationDays: {
    name: 'KEY_ROTATION_DAYS',
    words: 'Days after which a key is replaced by a new one.',
    usedBy: keyUsers,
    parse: read.integer(1, 365, 'days'),
    preset: '90',
  },
} satisfies Record<string, Setting>

const operation = {
  logLevel: {
    name: 'LOG_LEVEL',
    words: 'fatal, error, warn, info, debug, trace or silent. The audit log is written at every level but silent.',
    usedBy: servers,
    parse: read.choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    preset: 'info',
  },
  rateLimit: {
    name: 'RATE_LIMIT',
    words:
      'off: requests are not limited, except the checks of one contract wallet, and the requests of a client that is registered with limits of its own. Only if a proxy in front of the service limits requests.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'on',
  },
  failureLimit: {
    name: 'FAILURE_LIMIT',
    words: 'Failures per minute, per client address (IPv6: its /64) and client. Further failures receive 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'failures'),
    preset: '1000',
  },
  signInLimit: {
    name: 'SIGN_IN_LIMIT',
    words:
      'Sign-ins per minute, per client address (IPv6: its /64), whether or not they succeed. Further sign-ins receive 429 before the signature is checked. At most 60 of them may be of contract wallets.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'sign-ins'),
    preset: '600',
  },
  codeLimit: {
    name: 'CODE_LIMIT',
    words:
      'Codes per minute that one wallet gets from its sessions without a new sign-in, and a quarter of what all wallets of one client address (IPv6: its /64) get together. Further requests receive a page with 429, or `temporarily_unavailable` with `prompt=none`.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'codes'),
    preset: '300',
  },
  pushLimit: {
    name: 'PUSH_LIMIT',
    words:
      'Pushed authorization requests and requests of devices per minute, per client address (IPv6: its /64), of all clients together that do not authenticate or that no operator registered. Further requests receive 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'requests'),
    preset: '60',
  },
  clientPushLimit: {
    name: 'CLIENT_PUSH_LIMIT',
    words:
      'Pushed authorization requests and requests of devices per minute of one registered client that authenticates, from all addresses together. Further requests receive 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'requests'),
    preset: '6000',
  },
  assertionLimit: {
    name: 'ASSERTION_LIMIT',
    words:
      'Client assertions and DPoP proofs per minute, per client address (IPv6: its /64), of all clients together that no operator registered. The database keeps each of them until it expires. Further requests receive 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'requests'),
    preset: '600',
  },
  auditDays: {
    name: 'AUDIT_DAYS',
    words: 'Days for which the lines of the audit trail are kept in the database.',
    usedBy: auth,
    parse: read.integer(1, 3650, 'days'),
    preset: '400',
  },
  drainSeconds: {
    name: 'DRAIN_SECONDS',
    words:
      'Seconds for which a server that received the signal to stop still accepts requests, while /health/ready already responds with 503: longer than the load balancer needs to notice. The server exits at most seven seconds after that. 0 if nothing checks readiness.',
    usedBy: apart,
    parse: read.integer(0, 60, 'seconds'),
    preset: '3',
  },
  devWallet: {
    name: 'DEV_WALLET',
    words: 'on: the login page offers well-known test accounts. Only for `grantor start`; any other program refuses to start.',
    usedBy: ['start'],
    parse: read.onOff,
    otherwise: 'on under `grantor start`, off elsewhere',
  },
} satisfies Record<string, Setting>

/** The settings by subject, in the order of the documentation. */
export const sections: Readonly<Record<string, Record<string, Setting>>> = {
  Addresses: addresses,
  'Store and secrets': store,
  'Login and sessions': login,
  'Look of the pages': look,
  'Tokens and keys': tokens,
  'Hook of the operator': hook,
  Operation: operation,
  Traces: traces,
}

export const table = { ...addresses, ...store, ...login, ...look, ...tokens, ...hook, ...operation, ...traces }
export type SettingsTable = typeof table
export type SettingKey = keyof SettingsTable

/** The names that the environment may contain. */
export const knownNames: readonly string[] = Object.values<Setting>(table).flatMap((setting) =>
  setting.secret ? [nameOf(setting), `${nameOf(setting)}_FILE`] : [nameOf(setting)],
)
