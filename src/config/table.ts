/** Every setting, once: its name, its words, its default and how it is read. Parsing, `--help` and docs/settings.md come from here. */
import { addresses } from './addresses.ts'
import { chains } from './chains.ts'
import { databaseUrl } from './database-url.ts'
import * as read from './parsers.ts'
import { apart, auth, keyUsers, type Program, type Setting, servers, storeUsers } from './setting.ts'

export type { Program, Setting }

const year = 365 * 86_400

const store = {
  databaseUrl: {
    name: 'DATABASE_URL',
    words:
      '`sqlite:PATH`, a file that is writable as its folder is; or `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`, PostgreSQL 15 or newer, with parameters as described in operations.md. Without `sslmode` the certificate is checked, except on this machine.',
    usedBy: storeUsers,
    parse: databaseUrl,
  },
  secret: {
    name: 'SECRET',
    words: 'Wraps every key in the store; at least 32 characters. Whoever loses it loses all sessions, grants and signing keys.',
    usedBy: ['serve', 'keys'],
    parse: read.secret,
    secret: true,
  },
  secretPrevious: {
    name: 'SECRET_PREVIOUS',
    words:
      'The secret that GRANTOR_SECRET replaces. Keys that are wrapped with it still open, until `grantor keys rewrap` has run.',
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
    words: 'EIP-155 chains a wallet may sign in on, separated by commas; the first is preferred.',
    usedBy: auth,
    parse: read.chainIds,
    preset: '1',
  },
  chains: {
    name: 'CHAINS',
    words:
      'Where contract wallets are asked, as JSON: `{"1": {"name": "Ethereum", "rpc": ["https://…", "https://…"], "home": true}}`. Exactly one home chain, one of GRANTOR_CHAIN_IDS: contract wallets sign in there only. Two RPC URLs of different operators must agree; `"one_rpc":true` trusts one alone. Other wallets need none of it.',
    usedBy: auth,
    parse: chains,
    preset: '{}',
    otherwise: 'none: contract wallets cannot sign in',
  },
  loginMayVouch: {
    name: 'LOGIN_MAY_VOUCH',
    words:
      'on: the login server may sign a wallet in by its word alone. Only for a platform whose own login has authenticated the wallet.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
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
    words: 'Sessions of one wallet that may live at once. A login beyond that ends the oldest session (`superseded`).',
    usedBy: auth,
    parse: read.integer(1, 500, 'sessions'),
    preset: '200',
  },
  contractGrace: {
    name: 'CONTRACT_GRACE',
    words:
      "Seconds for which a contract wallet's last good check is believed at a refresh while its chain cannot be asked; then 503.",
    usedBy: keyUsers,
    parse: read.integer(0, 86_400, 'seconds'),
    preset: '3600',
  },
  scopeDescriptions: {
    name: 'SCOPE_DESCRIPTIONS',
    words:
      'What each scope allows, for the person who signs in: a JSON object from scope to words. `enhancement`, `openid` and `wallet` have words already.',
    usedBy: auth,
    parse: read.scopeDescriptions,
    preset: '{}',
  },
} satisfies Record<string, Setting>

const tokens = {
  defaultResource: {
    name: 'DEFAULT_RESOURCE',
    words: 'Audience of access tokens that were asked for without `resource`.',
    usedBy: auth,
    parse: read.resourceUri,
    otherwise: 'GRANTOR_AUTH_URL; under `grantor start` the demo resource API',
  },
  accessTokenLifetime: {
    name: 'ACCESS_TOKEN_LIFETIME',
    words: 'Seconds an access token lives.',
    usedBy: keyUsers,
    // RFC 6750 §5.3, OpenID Connect Core §16.18, RFC 9449 §11.2: "one hour or less" unless the operator knows better
    parse: read.integer(10, 86_400, 'seconds'),
    preset: '600',
  },
  codeLifetime: {
    name: 'CODE_LIFETIME',
    words: 'Seconds an authorization code lives.',
    usedBy: keyUsers,
    // RFC 6749 §4.1.2: ten minutes at most
    parse: read.integer(1, 600, 'seconds'),
    preset: '60',
  },
  refreshIdleLifetime: {
    name: 'REFRESH_IDLE_LIFETIME',
    words: 'Seconds after which an unused refresh token, and its grant with it, ends.',
    usedBy: auth,
    parse: read.integer(60, year, 'seconds'),
    otherwise: '1209600 (14 days), at most GRANTOR_REFRESH_LIFETIME',
  },
  refreshLifetime: {
    name: 'REFRESH_LIFETIME',
    words: 'Seconds after which every grant ends, however often it was refreshed; 30 days unless set.',
    usedBy: keyUsers,
    parse: read.integer(60, year, 'seconds'),
    preset: '2592000',
  },
  grantsPerWalletAndClient: {
    name: 'GRANTS_PER_WALLET_AND_CLIENT',
    words:
      'Grants of one wallet at one client that may live at once. A code exchange beyond that ends the oldest grant (`superseded`) within seconds.',
    usedBy: auth,
    parse: read.integer(1, 500, 'grants'),
    preset: '100',
  },
  refreshRetryWindow: {
    name: 'REFRESH_RETRY_WINDOW',
    words: 'Seconds in which a refresh whose answer was lost may be repeated with the old token; 0 turns it off.',
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
      'on: DPoP proofs sent here must hold a nonce that the service hands out, so none can be made in advance, and the clocks of apps need not be right. Costs an app its first request.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'off',
  },
  signingAlg: {
    name: 'SIGNING_ALG',
    words:
      'How access tokens are signed: ES256, EdDSA or RS256. After a change the next key is announced at once. RS256 does not go with clients under profile fapi2: `serve` does not start where there are any, and none can be registered.',
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
      'off: requests are not limited here, except the checks of one contract wallet. Only if a proxy in front of the service limits them.',
    usedBy: auth,
    parse: read.onOff,
    preset: 'on',
  },
  failureLimit: {
    name: 'FAILURE_LIMIT',
    words: 'Failures a minute, per client address (IPv6: its /64) and client, after which further failures are answered 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'failures'),
    preset: '1000',
  },
  signInLimit: {
    name: 'SIGN_IN_LIMIT',
    words:
      'Sign-ins a minute, per client address (IPv6: its /64), whether or not they succeed; further ones are answered 429 before the signature is checked. At most 60 of them may be of contract wallets.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'sign-ins'),
    preset: '600',
  },
  pushLimit: {
    name: 'PUSH_LIMIT',
    words:
      'Pushed authorization requests a minute, per client address (IPv6: its /64), of clients that do not authenticate; further ones are answered 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'requests'),
    preset: '60',
  },
  clientPushLimit: {
    name: 'CLIENT_PUSH_LIMIT',
    words:
      'Pushed authorization requests a minute of one client that authenticates, from all addresses together; further ones are answered 429.',
    usedBy: auth,
    parse: read.integer(1, 1_000_000, 'requests'),
    preset: '6000',
  },
  drainSeconds: {
    name: 'DRAIN_SECONDS',
    words:
      'Seconds for which a server that was told to stop still takes requests, while /health/ready is 503 already: longer than the balancer needs to notice. It ends at most six seconds later. 0 where nothing asks.',
    usedBy: apart,
    parse: read.integer(0, 60, 'seconds'),
    preset: '3',
  },
  devWallet: {
    name: 'DEV_WALLET',
    words: 'on: the login page offers well-known test accounts. Under `grantor start` only; on anywhere else stops the program.',
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
  'Tokens and keys': tokens,
  Operation: operation,
}

export const table = { ...addresses, ...store, ...login, ...tokens, ...operation }
export type Table = typeof table
export type SettingKey = keyof Table

/** The names the environment may hold. */
export const knownNames: readonly string[] = Object.values<Setting>(table).flatMap(({ name, secret }) =>
  secret ? [`GRANTOR_${name}`, `GRANTOR_${name}_FILE`] : [`GRANTOR_${name}`],
)
