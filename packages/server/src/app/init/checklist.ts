/** The next steps after `grantor init`, with commands that work when pasted. */
import { type Installation, isDirect, PORTS } from './environment-file.ts'

type ChecklistStep = { words: string; commands: readonly string[] }

export function checklist(installation: Installation, operator: string | undefined): string[] {
  return checklistSteps(installation, operator).flatMap(({ words, commands }, index) => [
    `${index + 1}. ${words}`,
    ...commands.map((command) => `   ${command}`),
  ])
}

function checklistSteps(installation: Installation, operator: string | undefined): ChecklistStep[] {
  const { target, folder, adminUrl, databaseUrl, hookUrl } = installation
  const run = createRun(installation)
  const secret = target === 'compose' ? `${folder}/secrets/secret` : `${folder}/secret`
  const hasOwnDatabase = databaseUrl.startsWith('postgres') && target !== 'compose'
  return [
    {
      words: `Keep a copy of ${secret} apart from the backups of the database. Without it, all keys in the database are lost.`,
      commands: [],
    },
    ...(hasOwnDatabase
      ? [{ words: 'Create the role and the database on the PostgreSQL server, if they do not exist.', commands: [] }]
      : []),
    ...(hookUrl === undefined
      ? []
      : [{ words: `Give ${folder}/hook-secret to the hook, which checks the signature of each request.`, commands: [] }]),
    ...prepareSteps(installation),
    // Compose and Helm run the migration before the servers start.
    ...(target === 'files' || target === 'systemd' ? [{ words: 'Create the tables.', commands: [run('migrate')] }] : []),
    startStep(installation, run),
    ...(isDirect(installation) ? [] : [proxyStep(installation)]),
    ...(operator === undefined && adminUrl === undefined
      ? []
      : [{ words: 'Name the first operator.', commands: [run(`operators add ${operator ?? 'ADDRESS'} --role owner`)] }]),
    {
      words: 'Register an app.',
      commands: [run('clients create --name "My app" --redirect-uri https://app.example.com/callback')],
    },
    { words: 'Check the installation.', commands: [run('doctor')] },
    ...(adminUrl === undefined ? [] : [{ words: `Operators open the console at ${adminUrl}/console.`, commands: [] }]),
  ]
}

type CommandText = (command: string) => string

/** Returns a function that writes a command so that it runs with the settings of the services. */
function createRun({ target, folder, databaseUrl, hookUrl }: Installation): CommandText {
  if (target === 'compose') return (command) => `(cd ${forShell(folder)} && docker compose run --rm auth ${command})`
  if (target === 'kubernetes') {
    const workload = databaseUrl.startsWith('postgres') ? 'deploy' : 'statefulset'
    const program = '/usr/bin/node /usr/lib/node_modules/grantor/bin/grantor.js'
    return (command) => `kubectl exec ${workload}/grantor --container auth -- ${program} ${command}`
  }
  const [file, secret, login, hook] = ['env', 'secret', 'login-secret', 'hook-secret'].map((name) =>
    forShell(`${folder}/${name}`),
  )
  const ofHook = hookUrl === undefined ? '' : `GRANTOR_HOOK_SECRET_FILE=${hook}; `
  if (target === 'files') return (command) => `(set -a; . ${file}; exec grantor ${command})`
  return (command) =>
    `sudo sh -c ${forShell(`set -a; . ${file}; GRANTOR_SECRET_FILE=${secret}; GRANTOR_LOGIN_SECRET_FILE=${login}; ${ofHook}exec setpriv --reuid=grantor --regid=grantor --clear-groups --inh-caps=-all grantor ${command}`)}`
}

function prepareSteps({ target, folder, databaseUrl, hookUrl }: Installation): ChecklistStep[] {
  const at = (...names: string[]) => names.map((name) => forShell(`${folder}/${name}`)).join(' ')
  const isSqlite = databaseUrl.startsWith('sqlite:')
  const ofHook = hookUrl === undefined ? [] : ['hook-secret']
  switch (target) {
    case 'files':
      return []
    case 'systemd':
      return [
        {
          words: 'Create the user of the service, let it read the files, and install the units.',
          commands: [
            'sudo useradd --system --user-group --home-dir /var/lib/grantor --shell /usr/sbin/nologin grantor',
            `sudo chown root:grantor ${at('', 'env', 'secret', 'login-secret', ...ofHook)}`,
            `sudo chmod 0750 ${at('')} && sudo chmod 0640 ${at('env', 'secret', 'login-secret', ...ofHook)}`,
            ...(isSqlite ? ['sudo install -d -m 0700 -o grantor -g grantor /var/lib/grantor'] : []),
            ...(hookUrl === undefined ? [] : [dropInOf(`${folder}/hook-secret`)]),
            'sudo install -m 0644 "$(npm root --global)"/grantor/ops/systemd/*.service /etc/systemd/system/ && sudo systemctl daemon-reload',
          ],
        },
      ]
    case 'compose':
      return [
        {
          words: `Build the image, name it in ${folder}/.env as GRANTOR_IMAGE, and copy compose.yaml to ${folder}: docs/operating/install.md. Let the user of the image read the secrets.`,
          commands: [`sudo chown -R 65532 ${at('secrets')}`],
        },
      ]
    case 'kubernetes': {
      const names = ['secret', 'login-secret', ...ofHook, ...(isSqlite ? [] : ['database-url'])]
      const files = names.map((name) => `--from-file=${name}=${at(name)}`).join(' ')
      return [
        { words: 'Build the image and push it to your registry: docs/operating/install.md.', commands: [] },
        { words: 'Create the Secret.', commands: [`kubectl create secret generic grantor ${files}`] },
      ]
    }
  }
}

/** The unit has no file for the secret of a hook, because most installations have no hook. */
function dropInOf(secret: string): string {
  const lines = ['[Service]', `LoadCredential=hook-secret:${secret}`, 'Environment=GRANTOR_HOOK_SECRET_FILE=%d/hook-secret']
  const file = '/etc/systemd/system/grantor.service.d/hook.conf'
  return `sudo install -d ${file.slice(0, file.lastIndexOf('/'))} && printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} | sudo tee ${file} > /dev/null`
}

function startStep({ target, folder, databaseUrl }: Installation, run: CommandText): ChecklistStep {
  const words = 'Start both servers.'
  switch (target) {
    case 'files':
      return { words: `${words} Each runs until it is stopped.`, commands: [`${run('serve')} &`, `${run('login-server')} &`] }
    case 'systemd':
      return { words, commands: ['sudo systemctl enable --now grantor grantor-login'] }
    case 'compose':
      return { words, commands: [`(cd ${forShell(folder)} && docker compose up --detach)`] }
    case 'kubernetes': {
      const base = databaseUrl.startsWith('postgres') ? 'values-postgresql.yaml' : 'values-sqlite.yaml'
      const values = `--values ops/helm/grantor/${base} --values ${forShell(`${folder}/values.yaml`)}`
      return {
        words: `${words} Replace the name of the image with yours.`,
        commands: [`helm install grantor ops/helm/grantor ${values} --set image.repository=registry.example.com/grantor`],
      }
    }
  }
}

function proxyStep({ authUrl, loginUrl, adminUrl }: Installation): ChecklistStep {
  const both = `${authUrl} to port ${PORTS.auth}${adminUrl === undefined ? ' and' : ','} ${loginUrl} to port ${PORTS.login}`
  const all = adminUrl === undefined ? both : `${both} and ${adminUrl} to port ${PORTS.admin}`
  return {
    words: `Forward ${all} with a TLS proxy that sets X-Forwarded-For: "The reverse proxy" in docs/operating/operations.md.`,
    commands: [],
  }
}

function forShell(text: string): string {
  return /^[\w/.,:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
