/** The settings of a new installation, as one environment file that the shell, systemd and Compose read in the same way. */
import { stringify } from 'yaml'
import { isLoopbackHost } from '../../config/parsers.ts'
import { readSettings } from '../../config/settings.ts'

/** How the servers will run: `files` by hand or by a supervisor, `systemd` with the units, `compose` with the Compose file, `kubernetes` with the chart. */
export const TARGETS = ['files', 'systemd', 'compose', 'kubernetes'] as const
export type Target = (typeof TARGETS)[number]

/** PostgreSQL of the Compose file, through a socket that only its containers have. */
export const COMPOSE_DATABASE = 'postgres://grantor@%2Fvar%2Frun%2Fpostgresql/grantor'

export type Installation = {
  target: Target
  /** the folder of the files, absolute */
  folder: string
  authUrl: string
  loginUrl: string
  /** undefined: the admin API is off */
  adminUrl: string | undefined
  databaseUrl: string
  /** the operator's hook; undefined: there is none */
  hookUrl: string | undefined
  /** the look of the pages, by the names of the settings */
  look: Lines
  /** addresses of the proxies in front, or null if the servers are reached directly, on this machine */
  trustedProxies: string | null
}

export type Lines = Readonly<Record<string, string>>

/** The ports behind a proxy. */
export const PORTS = { auth: 4000, login: 4001, admin: 4002 } as const

/** Whether no proxy is necessary: both URLs are on this machine and without TLS. */
export function isDirect({ authUrl, loginUrl }: Pick<Installation, 'authUrl' | 'loginUrl'>): boolean {
  return [authUrl, loginUrl].every((text) => {
    const url = URL.canParse(text) ? new URL(text) : null
    return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
  })
}

/** The settings that the servers will have. */
export function settingsOf(installation: Installation): Lines {
  const { target, folder, authUrl, loginUrl, adminUrl, databaseUrl, hookUrl, trustedProxies, look } = installation
  return {
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: loginUrl,
    ...(adminUrl === undefined ? {} : { GRANTOR_ADMIN_URL: adminUrl }),
    GRANTOR_DATABASE_URL: databaseUrl,
    ...(trustedProxies === null
      ? {}
      : {
          GRANTOR_LISTEN: `127.0.0.1:${PORTS.auth}`,
          GRANTOR_LOGIN_LISTEN: `127.0.0.1:${PORTS.login}`,
          ...(adminUrl === undefined ? {} : { GRANTOR_ADMIN_LISTEN: `127.0.0.1:${PORTS.admin}` }),
          GRANTOR_AUTH_BACKEND_URL: `http://127.0.0.1:${PORTS.auth}`,
          GRANTOR_TRUSTED_PROXIES: trustedProxies,
        }),
    // The packages name these files themselves. In an environment file of systemd, the names would override those of the unit.
    ...(target === 'files'
      ? { GRANTOR_SECRET_FILE: `${folder}/secret`, GRANTOR_LOGIN_SECRET_FILE: `${folder}/login-secret` }
      : {}),
    ...(hookUrl === undefined ? {} : { GRANTOR_HOOK_URL: hookUrl }),
    ...(hookUrl !== undefined && target === 'files' ? { GRANTOR_HOOK_SECRET_FILE: `${folder}/hook-secret` } : {}),
    ...look,
  }
}

/** `hookSecret` is written only if there is a hook. */
type NewSecrets = { secret: string; loginSecret: string; hookSecret: string }

/** The files of the installation, by their path in the folder. */
export function filesOf(
  installation: Installation,
  { secret, loginSecret, hookSecret }: NewSecrets,
): Readonly<Record<string, string>> {
  const { target, authUrl, loginUrl, databaseUrl, hookUrl, trustedProxies, look } = installation
  const ofHook = (text: string): Lines => (hookUrl === undefined ? {} : { 'hook-secret': text })
  switch (target) {
    case 'files':
    case 'systemd':
      return {
        secret: `${secret}\n`,
        'login-secret': `${loginSecret}\n`,
        ...ofHook(`${hookSecret}\n`),
        env: environmentFile(settingsOf(installation)),
      }
    case 'compose': {
      // The other settings are in the Compose file.
      const proxies = trustedProxies === null ? {} : { GRANTOR_TRUSTED_PROXIES: trustedProxies }
      const lines = { GRANTOR_IMAGE: 'grantor', GRANTOR_AUTH_URL: authUrl, GRANTOR_LOGIN_URL: loginUrl, ...proxies, ...look }
      return { 'secrets/secret': `${secret}\n`, 'secrets/login-secret': `${loginSecret}\n`, '.env': environmentFile(lines) }
    }
    case 'kubernetes': {
      const isPostgres = databaseUrl.startsWith('postgres')
      const lines = {
        ...(trustedProxies === null ? {} : { GRANTOR_TRUSTED_PROXIES: trustedProxies }),
        ...(hookUrl === undefined ? {} : { GRANTOR_HOOK_URL: hookUrl }),
        ...look,
      }
      const settings = Object.keys(lines).length === 0 ? {} : { settings: lines }
      const store = isPostgres ? 'postgresql' : 'sqlite'
      const values = {
        authUrl,
        loginUrl,
        store,
        secret: { name: 'grantor', ...(hookUrl !== undefined && { hookSecret: true }) },
        ...settings,
      }
      // Without a newline: an entry of a Secret is used as it is.
      const database: Lines = isPostgres ? { 'database-url': databaseUrl } : {}
      return { secret, 'login-secret': loginSecret, ...ofHook(hookSecret), ...database, 'values.yaml': HEAD + stringify(values) }
    }
  }
}

/** The faults of these settings, as the servers would report them. */
export function faultsOf(lines: Lines, secrets: NewSecrets): string[] {
  const { GRANTOR_SECRET_FILE: _, GRANTOR_LOGIN_SECRET_FILE: __, GRANTOR_HOOK_SECRET_FILE: ___, ...others } = lines
  const ofHook = lines.GRANTOR_HOOK_URL === undefined ? {} : { GRANTOR_HOOK_SECRET: secrets.hookSecret }
  const env = { ...others, GRANTOR_SECRET: secrets.secret, GRANTOR_LOGIN_SECRET: secrets.loginSecret, ...ofHook }
  const faults = (['serve', 'login-server'] as const).flatMap((program) => {
    const reading = readSettings(program, env)
    return reading.kind === 'faults' ? reading.faults : []
  })
  const unquotable = Object.entries(lines).filter(([, value]) => /['"\\$`\n]/.test(value))
  return [
    ...new Set([
      ...faults,
      ...unquotable.map(([name]) => `${name} must not have quotes, backslashes, dollar signs or line breaks`),
    ]),
  ]
}

const HEAD = '# Settings of Grantor, written by grantor init. All settings: docs/reference/settings.md\n'

function environmentFile(lines: Lines): string {
  return (
    HEAD +
    Object.entries(lines)
      .map(([name, value]) => `${name}=${quote(value)}\n`)
      .join('')
  )
}

/** Single quotes mean the same to the shell, systemd and Compose. */
function quote(value: string): string {
  return /^[\w:/.,@%+=[\]-]*$/.test(value) ? value : `'${value}'`
}
