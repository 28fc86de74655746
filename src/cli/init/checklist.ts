/** The next steps after `grantor init`, with commands that work when pasted. */
import { type Installation, isDirect, PORTS } from './environment-file.ts'

type Step = { words: string; commands: readonly string[] }

export function checklist(installation: Installation, operator: string | undefined): string[] {
  return stepsOf(installation, operator).flatMap(({ words, commands }, index) => [
    `${index + 1}. ${words}`,
    ...commands.map((command) => `   ${command}`),
  ])
}

function stepsOf(installation: Installation, operator: string | undefined): Step[] {
  const { folder, databaseUrl } = installation
  const run = runner(installation)
  return [
    {
      words: `Keep a copy of ${folder}/secret apart from the backups of the database. Without it, all keys in the database are lost.`,
      commands: [],
    },
    ...(databaseUrl.startsWith('postgres')
      ? [{ words: 'Create the role and the database on the PostgreSQL server, if they do not exist.', commands: [] }]
      : []),
    ...preparation(installation),
    { words: 'Create the tables.', commands: [run('migrate')] },
    ...starting(installation, run),
    ...(isDirect(installation) ? [] : [proxy(installation)]),
    ...(operator === undefined
      ? []
      : [{ words: 'Name the first operator.', commands: [run(`operators add ${operator} --role owner`)] }]),
    {
      words: 'Register an app.',
      commands: [run('clients create --name "My app" --redirect-uri https://app.example.com/callback')],
    },
    { words: 'Check the installation.', commands: [run('doctor')] },
  ]
}

type Run = (command: string) => string

/** How a command gets the settings of the services. */
function runner({ target, folder }: Installation): Run {
  if (target === 'compose') return (command) => `docker compose run --rm grantor ${command}`
  const [file, secret, login] = [`${folder}/env`, `${folder}/secret`, `${folder}/login-secret`].map(forShell)
  if (target === 'files') return (command) => `(set -a; . ${file}; exec grantor ${command})`
  return (command) =>
    `sudo sh -c ${forShell(`set -a; . ${file}; GRANTOR_SECRET_FILE=${secret}; GRANTOR_LOGIN_SECRET_FILE=${login}; exec setpriv --reuid=grantor --regid=grantor --clear-groups --inh-caps=-all grantor ${command}`)}`
}

function preparation({ target, folder, databaseUrl }: Installation): Step[] {
  if (target !== 'systemd') return []
  const files = ['env', 'secret', 'login-secret'].map((name) => forShell(`${folder}/${name}`)).join(' ')
  return [
    {
      words: 'Create the user of the service, and let it read the files.',
      commands: [
        'sudo useradd --system --user-group --no-create-home --shell /usr/sbin/nologin grantor',
        `sudo chown root:grantor ${forShell(folder)} ${files} && sudo chmod 0750 ${forShell(folder)} && sudo chmod 0640 ${files}`,
        ...(databaseUrl.startsWith('sqlite:') ? ['sudo install -d -m 0700 -o grantor -g grantor /var/lib/grantor'] : []),
      ],
    },
  ]
}

function starting({ target }: Installation, run: Run): Step[] {
  const words = 'Start both servers.'
  if (target === 'systemd') return [{ words, commands: ['sudo systemctl enable --now grantor grantor-login'] }]
  if (target === 'compose') return [{ words, commands: ['docker compose up --detach'] }]
  return [{ words: `${words} Each runs until it is stopped.`, commands: [`${run('serve')} &`, `${run('login-server')} &`] }]
}

function proxy({ authUrl, loginUrl }: Installation): Step {
  return {
    words: `Forward ${authUrl} to port ${PORTS.auth} and ${loginUrl} to port ${PORTS.login} with a TLS proxy that sets X-Forwarded-For: "The reverse proxy" in docs/operating/operations.md.`,
    commands: [],
  }
}

function forShell(text: string): string {
  return /^[\w/.,:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
