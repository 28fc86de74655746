/** Turns the environment into typed settings, or lists every fault at once. */
import { readFileSync } from 'node:fs'
import { nearest } from '../protocol/oauth/nearest.ts'
import { OWN_DESCRIPTIONS } from '../protocol/oauth/own-descriptions.ts'
import { readCertificate } from './certificate.ts'
import { type SettingInForce, settingsInForce } from './in-force.ts'
import { readLogoFile } from './look.ts'
import { isLoopbackHost, type ListenAddress, type Parsed, type Parser, PLAIN_HTTP } from './parsers.ts'
import { nameOf } from './setting.ts'
import { knownNames, type Program, type Setting, type SettingKey, type SettingsTable, table } from './table.ts'

export type { Program } from './table.ts'

/** Ethereum */
const ENS_CHAIN = 1

type Environment = Readonly<Record<string, string | undefined>>

/** The settings that each program requires. `serve` and `login-server` have no defaults for URLs and secrets. */
const needs = {
  start: ['authUrl', 'loginUrl', 'databaseUrl', 'secret', 'loginSecret'],
  serve: ['authUrl', 'loginUrl', 'databaseUrl', 'secret', 'loginSecret'],
  'login-server': ['authUrl', 'loginUrl', 'loginSecret'],
  migrate: ['databaseUrl'],
  clients: ['databaseUrl'],
  grants: ['databaseUrl'],
  keys: ['databaseUrl', 'secret'],
} as const satisfies Record<Program, readonly SettingKey[]>

type Parses<S> = S extends { parse: Parser<infer T> } ? T : never
type ValueOf<S> = S extends { preset: string } ? Parses<S> : Parses<S> | undefined
type SettingValues = { -readonly [Key in SettingKey]: ValueOf<SettingsTable[Key]> }
// Defaults that depend on other settings are present if those settings are.
type Derived =
  | 'sessionIdleLifetime'
  | 'refreshIdleLifetime'
  | 'refreshRetryWindowPublic'
  | 'clientMetadata'
  | 'dynamicRegistration'
  | 'devWallet'
type DerivedFromUrls = 'listen' | 'loginListen' | 'defaultResource'
type PresentSetting<P extends Program> =
  | Derived
  | (typeof needs)[P][number]
  | ('authUrl' | 'loginUrl' extends (typeof needs)[P][number] ? DerivedFromUrls : never)

/** Lifetimes are in seconds. Required settings are present; the others are `undefined` if they have no default. */
export type Settings<P extends Program = Program> = P extends Program
  ? Omit<SettingValues, PresentSetting<P>> & { [Key in PresentSetting<P>]: NonNullable<SettingValues[Key]> } & {
      inForce: readonly SettingInForce[]
    }
  : never

export type SettingsReading<P extends Program> =
  | { kind: 'settings'; settings: Settings<P> }
  | { kind: 'faults'; faults: string[] }

/**
 * Reads the settings of a program. Every value is checked, even if this program does not use it; only the files of
 * secrets that the program does not use are not read. An empty value counts as not set.
 */
export function readSettings<P extends Program>(program: P, env: Environment): SettingsReading<P> {
  const faults = unknownNames(env)
  const read: Record<string, unknown> = {}
  for (const key of Object.keys(table) as SettingKey[]) {
    const parsed = readOne(table[key], program, env)
    if (parsed && 'fault' in parsed) faults.push(parsed.fault)
    else read[key] = parsed?.value
    if (!parsed && isNeeded(key, program)) faults.push(missingFault(table[key]))
  }
  faults.push(...contradictions(read, program), ...tlsFaults(read, program), ...logoFaults(read, program))
  if (faults.length > 0) return { kind: 'faults', faults }
  const complete = withDefaults(read as SettingValues, program)
  const settings = { ...complete, inForce: settingsInForce(program, env, complete) }
  return { kind: 'settings', settings: settings as unknown as Settings<P> }
}

/** Names in the environment with our prefix that are not settings: usually typing mistakes. */
function unknownNames(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('GRANTOR_') && !knownNames.includes(name))
    .map((name) => {
      const meant = nearest(name, knownNames)
      return `${name} is not a setting of Grantor${meant ? `; did you mean ${meant}?` : ''}`
    })
}

/** One setting, or its fault with its name in front, or undefined if it is not set and has no default. */
function readOne(setting: Setting, program: Program, env: Environment): Parsed<unknown> | undefined {
  const name = nameOf(setting)
  const text = env[name] || undefined
  const file = setting.secret ? env[`${name}_FILE`] || undefined : undefined
  if (text !== undefined && file !== undefined) return { fault: `${name} and ${name}_FILE are both set: keep one` }
  if (file !== undefined) return setting.usedBy.includes(program) ? readSecretFile(setting, name, file) : undefined
  const value = text ?? setting.preset
  return value === undefined ? undefined : prefixFault(name, setting.parse(value))
}

function readSecretFile(setting: Setting, name: string, file: string): Parsed<unknown> {
  try {
    // Editors and `echo` end a file with a newline that is not part of the secret.
    return prefixFault(`${name}_FILE names a file whose text`, setting.parse(readFileSync(file, 'utf8').replace(/\r?\n$/, '')))
  } catch (error) {
    return {
      fault: `${name}_FILE names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    }
  }
}

function prefixFault(name: string, parsed: Parsed<unknown>): Parsed<unknown> {
  return 'fault' in parsed ? { fault: `${name} ${parsed.fault}` } : parsed
}

function missingFault(setting: Setting): string {
  const name = nameOf(setting)
  return `${name}${setting.secret ? ` (or ${name}_FILE)` : ''} is not set`
}

/** Secrets of which no two may be the same. */
const SECRETS = [
  'secret',
  'secretPrevious',
  'loginSecret',
  'loginSecretPrevious',
  'hookSecret',
  'hookSecretPrevious',
] as const satisfies readonly SettingKey[]

/** Faults of several settings together. */
function contradictions(read: Partial<SettingValues>, program: Program): string[] {
  const { authUrl, loginUrl } = read
  const faults: string[] = []
  for (const key of ['authUrl', 'loginUrl', 'adminUrl', 'authBackendUrl'] as const) {
    const url = new URL(read[key] ?? 'https://unset')
    if (program !== 'start' && url.protocol === 'http:' && !isLoopbackHost(url.hostname))
      faults.push(`GRANTOR_${table[key].name} ${PLAIN_HTTP}`)
  }
  if (authUrl !== undefined && authUrl === loginUrl) faults.push('GRANTOR_LOGIN_URL must be another origin than GRANTOR_AUTH_URL')
  for (const key of ['authUrl', 'loginUrl'] as const)
    if (read.adminUrl !== undefined && read.adminUrl === read[key])
      faults.push(`GRANTOR_ADMIN_URL must be another origin than GRANTOR_${table[key].name}`)
  const secrets = SECRETS.filter((key) => read[key])
  for (const [index, key] of secrets.entries()) {
    const same = secrets.slice(0, index).find((each) => read[each] === read[key])
    if (same) faults.push(`GRANTOR_${table[key].name} must not be the same as GRANTOR_${table[same].name}`)
  }
  if (read.devWallet === true && program !== 'start') {
    faults.push(
      'GRANTOR_DEV_WALLET is on, so any caller could sign in as a test account. It is for `grantor start` only; remove it here',
    )
  }
  if ((table.hookUrl.usedBy as readonly Program[]).includes(program)) {
    if (read.hookUrl !== undefined && read.hookSecret === undefined)
      faults.push('GRANTOR_HOOK_URL needs GRANTOR_HOOK_SECRET (or GRANTOR_HOOK_SECRET_FILE), which signs each request')
    if (read.hookUrl === undefined && read.hookSecret !== undefined)
      faults.push('GRANTOR_HOOK_SECRET is set without GRANTOR_HOOK_URL: no hook would be called')
    if (read.hookSecret === undefined && read.hookSecretPrevious !== undefined)
      faults.push('GRANTOR_HOOK_SECRET_PREVIOUS is set without GRANTOR_HOOK_SECRET')
  }
  const collector = new URL(read.otlpTracesEndpoint ?? read.otlpEndpoint ?? 'https://unset')
  if (read.otlpHeaders !== undefined && collector.protocol === 'http:' && !isLoopbackHost(collector.hostname))
    faults.push('OTEL_EXPORTER_OTLP_HEADERS would be sent in plain: use https for the endpoint, or a collector on this machine')
  const home = read.chains?.find((chain) => chain.home)
  if (read.keyCheck === true && read.chains?.length === 0) {
    faults.push('GRANTOR_KEY_CHECK needs GRANTOR_CHAINS: the home chain is called')
  }
  if (read.walletWindow !== undefined && read.chains?.length === 0) {
    faults.push('GRANTOR_WALLET_WINDOW needs GRANTOR_CHAINS: a smart wallet is a contract, and signs in on the home chain only')
  }
  if (home && read.chainIds && !read.chainIds.includes(home.chainId)) {
    faults.push(`GRANTOR_CHAINS has the home chain ${home.chainId}, which GRANTOR_CHAIN_IDS does not allow`)
  }
  if (read.ensNames === true && read.chains && !read.chains.some(({ chainId }) => chainId === ENS_CHAIN)) {
    faults.push(`GRANTOR_ENS_NAMES is on, but GRANTOR_CHAINS has no chain ${ENS_CHAIN}, whose contracts have the names`)
  }
  for (const [idle, whole] of [
    ['sessionIdleLifetime', 'sessionLifetime'],
    ['refreshIdleLifetime', 'refreshLifetime'],
    ['accessTokenLifetime', 'accessTokenLifetimeMax'],
    ['refreshLifetime', 'refreshLifetimeMax'],
  ] as const) {
    if ((read[idle] ?? 0) > (read[whole] ?? Number.POSITIVE_INFINITY)) {
      faults.push(`GRANTOR_${table[idle].name} must not be longer than GRANTOR_${table[whole].name}`)
    }
  }
  return faults
}

/** The files are read only by programs that listen with them; their faults are reported together with all others. */
function tlsFaults(
  { tlsCertFile: certFile, tlsKeyFile: keyFile, authUrl, loginUrl }: Partial<SettingValues>,
  program: Program,
): string[] {
  if (!certFile && !keyFile) return []
  if (!certFile || !keyFile) return ['GRANTOR_TLS_CERT_FILE and GRANTOR_TLS_KEY_FILE belong together: one of them is not set']
  if (!(table.tlsCertFile.usedBy as readonly Program[]).includes(program)) return []
  const [name, url] = program === 'login-server' ? ['GRANTOR_LOGIN_URL', loginUrl] : ['GRANTOR_AUTH_URL', authUrl]
  const plain = url?.startsWith('http:') ? [`${name} must be https if GRANTOR_TLS_CERT_FILE is set`] : []
  const reading = readCertificate({ certFile, keyFile })
  return reading.kind === 'faults' ? [...plain, ...reading.faults] : plain
}

/** The file is read only by programs that show the logo. */
function logoFaults({ logoFile }: Partial<SettingValues>, program: Program): string[] {
  if (logoFile === undefined || !(table.logoFile.usedBy as readonly Program[]).includes(program)) return []
  const reading = readLogoFile(logoFile)
  return 'fault' in reading ? [reading.fault] : []
}

function withDefaults(read: SettingValues, program: Program): SettingValues {
  const isDevelopment = program === 'start'
  return {
    ...read,
    listen: read.listen ?? addressOf(read.authUrl),
    loginListen: read.loginListen ?? addressOf(read.loginUrl),
    adminListen: read.adminListen ?? addressOf(read.adminUrl),
    defaultResource: read.defaultResource ?? read.authUrl,
    scopeDescriptions: { ...OWN_DESCRIPTIONS, ...read.scopeDescriptions },
    sessionIdleLifetime: read.sessionIdleLifetime ?? Math.min(43_200, read.sessionLifetime),
    refreshIdleLifetime: read.refreshIdleLifetime ?? Math.min(1_209_600, read.refreshLifetime),
    clientMetadata: read.clientMetadata ?? isDevelopment,
    dynamicRegistration: read.dynamicRegistration ?? isDevelopment,
    devWallet: read.devWallet ?? isDevelopment,
    refreshRetryWindowPublic: read.refreshRetryWindowPublic ?? Math.min(10, read.refreshRetryWindow),
  }
}

/** 127.0.0.1 and the port of a URL, because a reverse proxy is expected to face the internet. */
function addressOf(url: string | undefined): ListenAddress | undefined {
  if (url === undefined) return undefined
  const { port, protocol } = new URL(url)
  return { host: '127.0.0.1', port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** The secrets among a program's settings, for the log's redaction. */
export function secretsOf(settings: { [Key in SettingKey]?: unknown }): string[] {
  const keys = (Object.keys(table) as SettingKey[]).filter((key) => (table[key] as Setting).secret)
  const { password } = (settings.databaseUrl ?? {}) as { password?: unknown }
  return [...keys.map((key) => settings[key]), password].filter((value) => typeof value === 'string')
}

/** Whether the program requires the setting. */
export function isNeeded(key: SettingKey, program: Program): boolean {
  return (needs[program] as readonly SettingKey[]).includes(key)
}
