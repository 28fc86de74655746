import { resolve } from 'node:path'
import { isClientId } from '../../domain/model/client-id.ts'
import { type CommandEnvironment, defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { newSecret } from '../../protocol/keys/secret.ts'
import { newStandardSecret, standardSecretText } from '../../protocol/keys/standard-webhook.ts'
import { parseAddress } from '../../protocol/wallet/address.ts'
import { checklist } from '../init/checklist.ts'
import {
  COMPOSE_DATABASE,
  faultsOf,
  filesOf,
  type Installation,
  isDirect,
  type Lines,
  settingsOf,
  TARGETS,
  type Target,
} from '../init/environment-file.ts'
import { createFiles } from '../init/new-files.ts'

export const init = defineCommand({
  name: 'init',
  words: 'Writes the settings and secrets of a new installation, and prints the next steps.',
  about: [
    'On a terminal, the command asks for the URLs that are not given. It writes new files that only their owner can read: the settings (env; .env for compose; values.yaml for kubernetes), secret (wraps the keys in the database) and login-secret (shared by both servers). A file that exists is never overwritten. The secrets are random and are not printed.',
    'Nothing else is changed: the checklist has the commands that create the database and start the servers.',
  ],
  options: {
    'auth-url': { value: 'URL', words: 'The public URL of the auth service, such as https://auth.example.com: the issuer.' },
    'login-url': { value: 'URL', words: 'The public URL of the login server, on another host or port.' },
    'admin-url': {
      value: 'URL',
      words:
        'The URL of the admin API and the console, on a third host or port, which the internet need not reach. Off unless given. For files and systemd.',
    },
    'database-url': {
      value: 'URL',
      words:
        'sqlite:PATH or postgres://…; unless given, a SQLite file in the folder, or in /var/lib/grantor. Compose has its own PostgreSQL.',
    },
    'hook-url': {
      value: 'URL',
      words:
        'The hook of the operator, a server that decides about wallets and scopes: docs/operating/hook.md. Also writes hook-secret, which signs each request to it. Not for compose.',
    },
    operator: {
      value: 'WHO',
      words: 'The first operator of the admin API, a wallet address or a client id. Only the checklist uses it.',
    },
    for: {
      value: 'TARGET',
      choices: TARGETS,
      words:
        'How the servers will run: files (by hand or by a supervisor; the default), systemd (the units), compose (the Compose file) or kubernetes (the Helm chart).',
    },
    proxy: {
      value: 'ADDRESSES',
      words: 'The addresses of the reverse proxy, as the servers see them, for GRANTOR_TRUSTED_PROXIES; 127.0.0.1 unless given.',
    },
    'platform-name': { value: 'NAME', words: 'The name of the platform on the pages that users see; Grantor unless given.' },
    logo: {
      value: 'FILE',
      words: 'A PNG beside that name, which the servers must be able to read. For files and systemd.',
    },
    'accent-color': { value: 'COLOR', words: 'The colour of buttons and links on those pages, such as #0b2a6f.' },
    'help-url': { value: 'URL', words: 'The help of the platform, a link at the foot of those pages.' },
    'privacy-url': { value: 'URL', words: 'The privacy notice of the platform, a link at the foot of those pages.' },
    dir: {
      value: 'DIR',
      words: 'The folder of the files; /etc/grantor for systemd, that of the Compose file for compose; ./grantor unless given.',
    },
  },
  examples: [
    'grantor init --for systemd --auth-url https://auth.example.com --login-url https://login.example.com',
    'grantor init --auth-url http://localhost:4000 --login-url http://localhost:4001 --dir ./grantor',
  ],
  async run({ options }, environment) {
    const target = (options.for ?? 'files') as Target
    if (target === 'compose' && options['database-url'] !== undefined)
      throw new UsageError('--database-url cannot be used for compose: the Compose file has its own PostgreSQL')
    if (isContainer(target) && options['admin-url'] !== undefined)
      throw new UsageError(`--admin-url cannot be used for ${target}; see docs/operating/admin-api.md`)
    if (target === 'compose' && options['hook-url'] !== undefined)
      throw new UsageError('--hook-url cannot be used for compose; see docs/operating/hook.md')
    if (isContainer(target) && options.logo !== undefined)
      throw new UsageError(`--logo cannot be used for ${target}; see docs/operating/branding.md`)
    const folder = resolve(options.dir ?? (target === 'systemd' ? '/etc/grantor' : 'grantor'))
    const { authUrl, loginUrl, adminUrl, operator } = await askForMissing(options, target, environment)
    const given = { target, folder, authUrl, loginUrl, adminUrl }
    const installation: Installation = {
      ...given,
      look: initLook(options),
      hookUrl: options['hook-url'],
      databaseUrl: options['database-url'] ?? usualDatabase(given),
      trustedProxies: options.proxy ?? (isDirect(given) || isContainer(target) ? null : '127.0.0.1'),
    }
    const lines = settingsOf(installation)
    const secrets = { secret: newSecret(), loginSecret: newSecret(), hookSecret: standardSecretText(newStandardSecret()) }
    const faults = [...faultsOf(lines, secrets), ...operatorFaults(operator)]
    if (faults.length > 0) throw new UsageError(['nothing was written', ...faults.map((fault) => `- ${fault}`)])
    const files = filesOf(installation, secrets)
    createFiles(folder, files)
    environment.print(`Wrote ${Object.keys(files).join(', ')} in ${folder}. Next:`)
    for (const line of checklist(installation, operator)) environment.print(line)
    return EXIT.done
  },
})

type LookOptions = Partial<Record<'platform-name' | 'logo' | 'accent-color' | 'help-url' | 'privacy-url', string | undefined>>

function initLook(options: LookOptions): Lines {
  const { 'platform-name': name, logo, 'accent-color': color, 'help-url': helpUrl, 'privacy-url': privacyUrl } = options
  const given = {
    GRANTOR_PLATFORM_NAME: name,
    GRANTOR_LOGO_FILE: logo && resolve(logo),
    GRANTOR_ACCENT_COLOR: color,
    GRANTOR_HELP_URL: helpUrl,
    GRANTOR_PRIVACY_URL: privacyUrl,
  }
  return Object.fromEntries(Object.entries(given).filter((line): line is [string, string] => line[1] !== undefined))
}

type InitOptions = Record<'auth-url' | 'login-url' | 'admin-url' | 'operator', string | undefined>

async function askForMissing(given: InitOptions, target: Target, { ask }: CommandEnvironment) {
  const { 'auth-url': authUrl, 'login-url': loginUrl, 'admin-url': adminUrl, operator } = given
  const missing = [...(authUrl ? [] : ['--auth-url is missing']), ...(loginUrl ? [] : ['--login-url is missing'])]
  if (missing.length > 0 && !ask) throw new UsageError([...missing, 'See: grantor init --help'])
  const answer = async (question: string): Promise<string> => (await ask?.(`${question}: `))?.trim() ?? ''
  const isAsking = missing.length > 0
  return {
    authUrl: authUrl ?? (await answer('Public URL of the auth service, such as https://auth.example.com')),
    loginUrl: loginUrl ?? (await answer('Public URL of the login server, such as https://login.example.com')),
    adminUrl:
      adminUrl ??
      ((isAsking && !isContainer(target) && (await answer('URL of the admin API and the console, or nothing'))) || undefined),
    operator: operator ?? ((isAsking && (await answer('First operator, a wallet address or nothing'))) || undefined),
  }
}

/** The Compose file and the chart have their own default for the proxies, and use other settings only from their own files. */
function isContainer(target: Target): boolean {
  return target === 'compose' || target === 'kubernetes'
}

function usualDatabase({ target, folder }: Pick<Installation, 'target' | 'folder'>): string {
  if (target === 'compose') return COMPOSE_DATABASE
  return target === 'files' ? `sqlite:${folder}/grantor.sqlite` : 'sqlite:/var/lib/grantor/grantor.sqlite'
}

function operatorFaults(operator: string | undefined): string[] {
  if (operator === undefined || parseAddress(operator).kind === 'address' || isClientId(operator)) return []
  return [`--operator must be a wallet address (0x…) or a client id, not ${JSON.stringify(operator.slice(0, 60))}`]
}
