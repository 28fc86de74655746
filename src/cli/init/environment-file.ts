/** The settings of a new installation, as one environment file that the shell, systemd and Compose read in the same way. */
import { isLoopbackHost } from '../../config/parsers.ts'
import { readSettings } from '../../config/settings.ts'

/** `files`: started by hand or by a supervisor. `systemd`, `compose`: the packages pass the secrets as files. */
export const TARGETS = ['files', 'systemd', 'compose'] as const
export type Target = (typeof TARGETS)[number]

export type Installation = {
  target: Target
  /** the folder of the files, absolute */
  folder: string
  authUrl: string
  loginUrl: string
  databaseUrl: string
  /** addresses of the proxies in front, or null if the servers are reached directly, on this machine */
  trustedProxies: string | null
}

export type Lines = Readonly<Record<string, string>>

/** The ports behind a proxy. */
export const PORTS = { auth: 4000, login: 4001 } as const

/** Both URLs on this machine and without TLS: no proxy is necessary. */
export function isDirect({ authUrl, loginUrl }: Pick<Installation, 'authUrl' | 'loginUrl'>): boolean {
  return [authUrl, loginUrl].every((text) => {
    const url = URL.canParse(text) ? new URL(text) : null
    return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
  })
}

export function settingsOf({ target, folder, authUrl, loginUrl, databaseUrl, trustedProxies }: Installation): Lines {
  // The servers of a container listen on every address of the container, and find each other by the name of the service.
  const [host, authHost] = target === 'compose' ? ['0.0.0.0', 'grantor'] : ['127.0.0.1', '127.0.0.1']
  const secrets = target === 'compose' ? '/run/secrets' : folder
  return {
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: loginUrl,
    GRANTOR_DATABASE_URL: databaseUrl,
    ...(trustedProxies === null
      ? {}
      : {
          GRANTOR_LISTEN: `${host}:${PORTS.auth}`,
          GRANTOR_LOGIN_LISTEN: `${host}:${PORTS.login}`,
          // Plain http is for loopback only. Between containers, the login server uses the public URL.
          ...(authHost === '127.0.0.1' ? { GRANTOR_AUTH_BACKEND_URL: `http://127.0.0.1:${PORTS.auth}` } : {}),
          GRANTOR_TRUSTED_PROXIES: trustedProxies,
        }),
    // The systemd units set the names of these files themselves, and the environment file would override them.
    ...(target === 'systemd'
      ? {}
      : { GRANTOR_SECRET_FILE: `${secrets}/secret`, GRANTOR_LOGIN_SECRET_FILE: `${secrets}/login-secret` }),
  }
}

/** The faults of these settings, in the words of the servers that will read them. */
export function faultsOf(lines: Lines, secrets: { secret: string; loginSecret: string }): string[] {
  const { GRANTOR_SECRET_FILE: _, GRANTOR_LOGIN_SECRET_FILE: __, ...others } = lines
  const env = { ...others, GRANTOR_SECRET: secrets.secret, GRANTOR_LOGIN_SECRET: secrets.loginSecret }
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

export function environmentText(lines: Lines): string {
  const head = '# Settings of Grantor, written by grantor init. All settings: docs/reference/settings.md\n'
  return (
    head +
    Object.entries(lines)
      .map(([name, value]) => `${name}=${quoted(value)}\n`)
      .join('')
  )
}

/** Single quotes mean the same to the shell, systemd and Compose. */
function quoted(value: string): string {
  return /^[\w:/.,@%+=[\]-]*$/.test(value) ? value : `'${value}'`
}
