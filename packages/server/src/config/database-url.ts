/**
 * `GRANTOR_DATABASE_URL`: a SQLite file, or a PostgreSQL database in libpq's format (PostgreSQL's manual, 34.1.1.2).
 * The URL may contain a password, so faults repeat the names of parameters but no values.
 */
import { isIP } from 'node:net'
import { isLoopbackHost, type Parsed, type Parser } from './parsers.ts'

export type PostgresUrl = {
  kind: 'postgres'
  /** a name, an IP address, or the folder of a Unix socket */
  servers: { host: string; port: number }[]
  user?: string
  password?: string
  database: string
  /** null: no TLS */
  tls: { verify: Verify; rootCert?: string; cert?: string; key?: string } | null
  /** which of several servers is accepted */
  target: 'any' | 'read-write'
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  applicationName: string
}

type Verify = 'require' | 'verify-ca' | 'verify-full'
export type DatabaseUrl = { kind: 'sqlite'; path: string } | PostgresUrl

const EXAMPLE = 'postgres://USER:PASSWORD@HOST:PORT/DATABASE'
const NUMBERS = {
  // the response is given up after two seconds, whatever the connection does
  connect_timeout: { preset: 2, least: 1, most: 30, unit: 'seconds' },
  // At most two seconds: the store's time of a change may be late by no more than that (`LATE_BY_AT_MOST`).
  statement_timeout: { preset: 1500, least: 100, most: 2000, unit: 'milliseconds' },
  pool_size: { preset: 10, least: 1, most: 500, unit: 'connections' },
} as const
const TEXTS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs', 'application_name'] as const
const KNOWN: readonly string[] = [...Object.keys(NUMBERS), ...TEXTS]

export const databaseUrl: Parser<DatabaseUrl> = (text) => {
  if (/^postgres(ql)?:/.test(text)) return postgresUrl(text)
  const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : ''
  if (path === '' || path.startsWith('//'))
    return { fault: `must be sqlite:PATH, as in sqlite:/var/lib/grantor/grantor.sqlite, or ${EXAMPLE}` }
  // Two processes (serve, and an operator's command) would each get a separate database.
  if (path === ':memory:') return { fault: 'must name a file: a database in memory is lost at the first restart' }
  return { value: { kind: 'sqlite', path } }
}

/** `databaseUrl` has accepted the text. None of the parameters is a secret. */
export function withoutPassword(text: string): string {
  return text.replace(/^(postgres(?:ql)?:\/\/[^:@/?#]*):[^@/?#]*@/, '$1@')
}

function postgresUrl(text: string): Parsed<PostgresUrl> {
  const parts = /^postgres(?:ql)?:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]*)\/([^/?#]+)(?:\?([^#]*))?$/.exec(text)
  if (!parts) return { fault: `must be ${EXAMPLE}; in a password, every character except letters and digits is written as %XX` }
  try {
    const [user, password, hosts, database] = parts
      .slice(1, 5)
      .map((part) => (part === undefined ? undefined : decodeURIComponent(part)))
    const servers = serversOf(hosts ?? '')
    if (!servers) return { fault: 'must name its servers as HOST or HOST:PORT, separated by commas' }
    const parameters = new URLSearchParams(parts[5] ?? '')
    const fault = urlFault(parameters)
    if (fault) return { fault }
    return {
      value: {
        kind: 'postgres',
        servers,
        ...(user ? { user } : {}),
        ...(password ? { password } : {}),
        database: database ?? '',
        tls: tlsOf(parameters, servers),
        target: targetOf(parameters, servers),
        poolSize: numberOf(parameters, 'pool_size'),
        connectTimeoutMs: numberOf(parameters, 'connect_timeout') * 1000,
        statementTimeoutMs: numberOf(parameters, 'statement_timeout'),
        applicationName: parameters.get('application_name') ?? 'grantor',
      },
    }
  } catch {
    return { fault: 'has a % that is not followed by two hexadecimal digits' }
  }
}

function serversOf(text: string): PostgresUrl['servers'] | null {
  const servers = text.split(',').map((each) => {
    if (each.startsWith('/')) return { host: each, port: 5432 }
    const [, host = '', port = '5432'] = /^(\[[0-9A-Fa-f:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/.exec(each) ?? []
    return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
  })
  return servers.some(({ host, port }) => host === '' || port < 1 || port > 65_535) ? null : servers
}

function urlFault(parameters: URLSearchParams): string | undefined {
  const unknown = [...parameters.keys()].find((name) => !KNOWN.includes(name))
  if (unknown !== undefined)
    return `has the parameter ${JSON.stringify(unknown.slice(0, 40))}, which is not one of ${KNOWN.join(', ')}`
  const twice = KNOWN.find((name) => parameters.getAll(name).length > 1)
  if (twice !== undefined) return `has the parameter ${twice} twice`
  const mode = parameters.get('sslmode') ?? 'verify-full'
  if (mode === 'prefer' || mode === 'allow')
    return `has sslmode=${mode}, which an attacker on the network can turn into no TLS at all; use verify-full, verify-ca, require or disable`
  if (!['disable', 'require', 'verify-ca', 'verify-full'].includes(mode))
    return 'has an sslmode that is not one of disable, require, verify-ca, verify-full'
  const target = parameters.get('target_session_attrs') ?? 'any'
  if (!['any', 'read-write', 'primary'].includes(target))
    return 'has a target_session_attrs that is not one of any, read-write, primary'
  if (parameters.has('sslcert') !== parameters.has('sslkey')) return 'must have sslcert and sslkey together'
  const wrong = Object.entries(NUMBERS).find(([name, { least, most }]) => {
    const text = parameters.get(name)
    return text !== null && !(/^\d{1,6}$/.test(text) && Number(text) >= least && Number(text) <= most)
  })
  return wrong && `must have as ${wrong[0]} a whole number of ${wrong[1].unit} from ${wrong[1].least} to ${wrong[1].most}`
}

/** Unless the URL sets sslmode: TLS with a verified certificate, except on the local machine. */
function tlsOf(parameters: URLSearchParams, servers: PostgresUrl['servers']): PostgresUrl['tls'] {
  const own = servers.every(({ host }) => host.startsWith('/') || isLoopbackHost(isIP(host) === 6 ? `[${host}]` : host))
  const mode = parameters.get('sslmode') ?? (own ? 'disable' : 'verify-full')
  if (mode === 'disable') return null
  const file = (name: string) => parameters.get(name) || undefined
  const [root, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')]
  return {
    verify: mode as Verify,
    // `system`: the certificates that Node trusts, which is also the default
    ...(root === undefined || root === 'system' ? {} : { rootCert: root }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Only one of several servers accepts writes, and Grantor needs that one. */
function targetOf(parameters: URLSearchParams, servers: PostgresUrl['servers']): PostgresUrl['target'] {
  const attributes = parameters.get('target_session_attrs') ?? (servers.length > 1 ? 'read-write' : 'any')
  return attributes === 'any' ? 'any' : 'read-write'
}

function numberOf(parameters: URLSearchParams, name: keyof typeof NUMBERS): number {
  return Number(parameters.get(name) ?? NUMBERS[name].preset)
}
