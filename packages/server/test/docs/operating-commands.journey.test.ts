/** The commands of the pages for operators, pasted in a shell: with a running service, or on a folder that represents the machine. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect } from 'vitest'
import { parse } from 'yaml'
import { readSettings } from '../../src/config/settings.ts'
import { BIN, newDatabase, newFolder, run } from '../app/run.ts'
import { writeRecipe } from '../clients/recipe.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { machineIn } from '../support/operations-page.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { blocksOf, blockWith } from '../support/page-blocks.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { startGrantor, TEST_LOGIN_SECRET, TEST_SECRET, TestClock } from '../support/start.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** A service with the admin API, an owner and one webhook, and a shell on the same machine. */
async function startService() {
  // The programs of the pages sign with the time of the machine.
  const clock = Object.assign(new TestClock(), { now: () => Math.floor(Date.now() / 1000) })
  const grantor = await startGrantor({ admin: true, tls: { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }, clock })
  const folder = newFolder()
  const certificate = join(folder, 'ca.pem')
  writeFileSync(certificate, TEST_CERTIFICATE)
  const env = {
    ...OWN_ENVIRONMENT,
    PATH: `${dirname(process.execPath)}:${OWN_ENVIRONMENT.PATH}`,
    GRANTOR_DATABASE_URL: `sqlite:${grantor.databasePath}`,
    GRANTOR_SECRET: TEST_SECRET,
    NODE_EXTRA_CA_CERTS: certificate,
    CURL_CA_BUNDLE: certificate,
  }
  const here = (text: string) =>
    text.replaceAll('https://admin.example.internal', grantor.adminUrl).replaceAll('https://auth.example.com', grantor.authUrl)
  /** Pastes the block. The first command that fails ends the shell. Resolves with what the commands print. */
  async function paste(text: string, more: Record<string, string> = {}): Promise<string> {
    const script = `set -eu\ngrantor() { node '${BIN}' "$@"; }\n${here(text)}`
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { cwd: folder, env: { ...env, ...more } })
    return stdout
  }
  return { grantor, folder, here, paste, close: () => grantor.close() }
}

const test = base.extend(
  'service',
  FILE,
  started(startService, ({ close }) => close()),
)

describe('docs/operating/admin-api.md', () => {
  const block = (part: string) => blockWith('operating/admin-api.md', part)

  test('The commands name an owner and register a program, whose code then reads the clients', async ({
    service: { grantor, here, paste },
  }) => {
    await paste(block('--role owner'))
    const id = (await paste(`${block('openssl genpkey')}\necho "$CLIENT_ID"`)).trim().split('\n').at(-1) ?? ''
    // In the order of the ids.
    const operators = (await grantor.store.lists.readList('operators')).map((operator) => [operator.id, operator.role])
    expect(Object.fromEntries(operators)).toEqual({ [OWNER]: 'owner', [id]: 'operator' })
    await grantor.noticeChanges()
    const program = writeRecipe('operator.mjs', here(block('clientCredentialsGrant')))
    expect(await paste(`node ${program}`, { CLIENT_ID: id })).toContain("name: 'Deployment'")
  })
})

describe('docs/operating/audit.md', () => {
  const block = (part: string) => blockWith('operating/audit.md', part)

  test('The commands search, copy and check the trail, and find a wrong head', async ({ service: { paste } }) => {
    await paste('grantor clients create --name Audited --redirect-uri https://audited.example/cb')
    expect(await paste(block('audit list'))).toContain('client_created')
    const [copy = '', follow = ''] = block('audit export').split('\n')
    await paste(copy)
    expect(await paste('cat audit.ndjson')).toContain('"event":"client_created"')
    // The second command runs until it is interrupted.
    await paste(`rm audit.ndjson
${follow.replace('grantor', `node '${BIN}'`).replace('1204', '0')} &
until grep -qs '"event":"client_created"' audit.ndjson; do sleep 0.1; done
kill $!
wait $! || [ $? = 143 ]`)

    const [verify = '', withHead = '', ...ofFile] = block('audit verify').trim().split('\n')
    const head = /\b\d+:[\w-]{43}/.exec(await paste(verify))?.[0] ?? ''
    await paste(withHead.replace(/\d+:\S+/, head))
    await expect(paste(withHead)).rejects.toMatchObject({ code: 1 })
    await paste(ofFile.join('\n'))
  })

  test('The commands create, change, continue, repeat and delete a webhook', async ({ service: { paste } }) => {
    const created = await paste(block('webhooks create'))
    expect(created).toContain('https://siem.example.com/grantor')
    const [id = ''] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(created) ?? []
    expect(await paste(block('deliveries list').replace('WEBHOOK_ID', id))).toBe('Nothing was sent yet.\n')
    await paste(block('webhooks update').replaceAll('WEBHOOK_ID', id).replace('1204', '1'))
    expect(await paste('grantor webhooks list')).not.toContain(id)
  })
})

describe('docs/operating/apply.md', () => {
  const block = (part: string) => blockWith('operating/apply.md', part)

  test('The file of the page is applied, the export of the store changes nothing, and the plan is printed as on the page', async () => {
    const { env } = await newDatabase()
    const file = join(newFolder(), 'grantor.yaml')
    const apply = (text: string, ...options: string[]) => {
      writeFileSync(file, text)
      return run(['apply', file, ...options], { ...env, GRANTOR_SECRET: TEST_SECRET })
    }
    const text = block('open_to:')
    expect(await apply(text, '--yes')).toMatchObject({ exit: 0, out: expect.stringContaining('Applied 5 changes') })
    const [exported = '', again = ''] = block('grantor export >').split('\n')
    expect([exported, again].map((line) => line.replace(/ +#.*/, ''))).toEqual([
      'grantor export > grantor.yaml',
      'grantor apply grantor.yaml',
    ])
    expect((await apply((await run(['export'], env)).out)).out).toContain('Nothing to change: 5 unchanged')

    const id = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'
    const { clients } = parse(text) as { clients: object[] }
    const [mine, other] = clients.map((client, index) => ({ ...client, client_id: index === 0 ? id : undefined }))
    const second = await newDatabase()
    writeFileSync(file, JSON.stringify({ clients: [{ ...mine, resources: [] }, other, { ...other, name: 'Third' }] }))
    await run(['apply', file, '--yes'], second.env)
    const changed = {
      ...mine,
      resources: [],
      redirect_uris: ['https://app.example.com/oauth/callback'],
      consent: 'signed',
    }
    writeFileSync(file, JSON.stringify({ clients: [changed, other, { ...other, name: 'Third' }] }))
    const { out } = await run(['apply', file, '--dry-run'], second.env)
    expect(`${out}Apply this plan? Type yes:\n`).toBe(block('to create, 1 to change'))
  })
})

test('The commands of docs/operating/apply.md move a client to another database with its secret', async ({
  service: { paste },
}) => {
  const { env } = await newDatabase()
  const [exported = '', ...others] = blockWith('operating/apply.md', 'grantor export --stored-secrets').split('\n')
  await paste('grantor clients create --name Taken --redirect-uri https://taken.example/cb')
  await paste(exported)
  const applied = await paste(others.join('\n').replace('--stored-secrets', '--yes --stored-secrets'), env)
  expect(applied).toMatch(/create client "Taken" \(.*\)\n {2}keeps 1 client secret of the file\n/)
  expect(await paste('ls')).not.toContain('stored-secrets')
})

test('The command of docs/operating/apply.md registers the clients of another server, without the members that it leaves out', async ({
  service: { folder, paste },
}) => {
  const metadata = {
    client_name: 'From elsewhere',
    redirect_uris: ['https://app.example/cb'],
    logo_uri: 'https://app.example/logo.png',
  }
  writeFileSync(join(folder, 'clients.json'), JSON.stringify([{ ...metadata, client_secret: 'x' }]))
  // This shell has no terminal on which the command could ask.
  const printed = await paste(`${blockWith('operating/apply.md', 'clients import').trim()} --yes`)
  expect(printed).toMatch(/create client "From elsewhere"[^]*Applied 1 change\./)
})

test('The commands of docs/operating/clients-and-grants.md register a resource, give a client lifetimes of its own, and list all grants as JSON', async ({
  service: { folder, paste },
}) => {
  await paste(blockWith('operating/clients-and-grants.md', 'resources create'))
  expect(await paste('grantor resources show https://mcp.example.com/mcp')).toContain('notes.read')
  const created = await paste('grantor clients create --name A --redirect-uri https://a.example.com/cb --env')
  const changed = await paste(`${created}${blockWith('operating/clients-and-grants.md', 'access-token-lifetime')}`)
  expect(changed).toContain('120 seconds')
  await paste(blockWith('operating/clients-and-grants.md', 'grants list'))
  expect(JSON.parse(readFileSync(join(folder, 'grants.json'), 'utf8'))).toEqual([])
})

describe('docs/operating/incident.md', () => {
  const block = (mark: string) => blocksOf('operating/incident.md').find((each) => each.mark === mark)?.text ?? ''

  test('The commands stop and end what a client, a wallet, an operator or a leaked secret has, and the trail is complete', async ({
    service: { grantor, paste },
  }) => {
    const created = await paste('grantor clients create --name Taken --redirect-uri https://taken.example/cb --env')
    const [, clientId = ''] = /CLIENT_ID=(\S+)/.exec(created) ?? []
    const [, secret] = /CLIENT_SECRET=(\S+)/.exec(created) ?? []
    const named = { CLIENT_ID: clientId, WALLET: OWNER }
    expect(await paste(block('stop-client'), named)).toContain('client_created')
    expect((await grantor.store.clients.readClient(clientId))?.disabledAt).not.toBeNull()
    await paste(block('stop-wallet'), named)
    const renewed = await paste(block('leaked-client-secret'), named)
    expect(renewed).toContain('client_secret')
    expect(renewed).not.toContain(secret)
    const operator = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    await paste(`grantor operators add ${OWNER} --role owner\ngrantor operators add ${operator} --role auditor`)
    await paste(block('stop-operator'), { OPERATOR: operator })
    expect(await paste('grantor operators list')).not.toContain(operator)
    await paste(block('evidence'))
    expect(await paste(block('back'))).toMatch(/^\d+\.\d+\.\d+/)
  })

  test('The commands for a leaked key replace the key at once', async ({ service: { paste } }) => {
    const listed = JSON.parse(await paste('grantor keys list --json')) as { key_id: string; kind: string; state: string }[]
    const id = listed.find(({ kind, state }) => kind === 'seal' && state === 'makes')?.key_id ?? ''
    expect(id).not.toBe('')
    await paste(block('leaked-key'), { KEY_ID: id })
    const after = JSON.parse(await paste('grantor keys list --json')) as typeof listed
    expect(after.find((key) => key.key_id === id)).toMatchObject({ state: 'retired' })
    expect(after.filter(({ kind, state }) => kind === 'seal' && state === 'makes')).toHaveLength(1)
  })

  test('The commands for an outage ask a node, read the log and run the doctor', async ({ service: { grantor, paste } }) => {
    const record = 'journalctl() { echo "$*" >&2; echo \'{"level":"error","msg":"alarm"}\'; }\nsudo() { echo "sudo $*"; }\n'
    const NODE = new URL(grantor.authUrl).host
    const printed = await paste(record + block('outage').replaceAll('http://', 'https://'), { NODE })
    expect(printed).toContain(
      '{"status":"live"}{"status":"ready"}{"level":"error","msg":"alarm"}\nsudo -u grantor --preserve-env grantor doctor',
    )
  })
})

test('The commands of docs/operating/init-and-doctor.md write the settings, and the command for systemd is that of the checklist', async () => {
  const block = (part: string) => blockWith('operating/init-and-doctor.md', part)
  const local = join(newFolder(), 'grantor')
  const wordsOf = (text: string) => text.trim().split(' ')
  const [, ...argv] = wordsOf(block('--dir ./grantor'))
  expect((await run(argv.map((word) => (word === './grantor' ? local : word)))).exit).toBe(0)
  expect(readdirSync(local).toSorted()).toEqual(['env', 'login-secret', 'secret'])

  const [, , ...systemd] = wordsOf(block('--for systemd'))
  const folder = newFolder()
  const { exit, out } = await run([...systemd, '--dir', folder])
  expect(exit).toBe(0)
  const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
  expect(oneLine(out.replaceAll(folder, '/etc/grantor'))).toContain(oneLine(block('setpriv')))
})

/** The faults that `serve` finds in a file of settings, to which the secrets are added. */
function faultsOf(settings: string): string[] {
  const lines = settings.trim().split('\n')
  const named = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]))
  const secrets = { GRANTOR_SECRET: TEST_SECRET, GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET }
  const reading = readSettings('serve', { GRANTOR_DATABASE_URL: 'sqlite:x', ...named, ...secrets })
  return reading.kind === 'faults' ? reading.faults : []
}

describe('docs/operating/install.md', () => {
  const block = (part: string) => blockWith('operating/install.md', part)

  test('The commands for one machine write settings that serve accepts, make the tables, register an app and install the units', () => {
    const folder = newFolder()
    const machine = machineIn(folder)
    const units = join(folder, 'etc/systemd/system')
    const global = join(folder, 'global')
    for (const each of [units, global]) mkdirSync(each, { recursive: true })
    symlinkSync(ROOT, join(global, 'grantor'))
    const root = `useradd() { :; }\nnpm() { [ "$1" = root ]; echo '${global}'; }\n`
    // Only root can give a file to another user.
    const unowned = (text: string) => text.replaceAll(/ -o \w+ -g grantor/g, '').replaceAll('install ', 'command install ')
    expect(machine.runText(root + unowned(block('useradd')))).toMatchObject({ exit: 0, err: '' })
    expect(statSync(join(folder, 'etc/grantor/secret')).mode & 0o777).toBe(0o600)
    expect(faultsOf(readFileSync(join(folder, 'etc/grantor/env'), 'utf8'))).toEqual([])
    expect(machine.runText(block('grantor migrate'))).toMatchObject({ exit: 0, out: expect.stringContaining('client_secret') })
    expect(machine.runText(root + unowned(block('ops/systemd')))).toMatchObject({ exit: 0, err: '' })
    expect(readdirSync(units).toSorted()).toEqual(['grantor-login.service', 'grantor.service'])
  })

  test('The commands for Compose write settings that serve accepts, and run commands that exist', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'ops/compose'), { recursive: true })
    const docker = 'docker() { printf "%s|" "$@"; echo; }\n'
    const text = block('docker compose up').replace(' -o 65532', '')
    const { exit, out } = machineIn(folder).runText(docker + text.replace('install ', 'command install '))
    expect(exit).toBe(0)
    expect(readdirSync(join(folder, 'ops/compose/secrets')).toSorted()).toEqual(['login-secret', 'secret'])
    const settings = readFileSync(join(folder, 'ops/compose/.env'), 'utf8')
    expect(faultsOf(settings.replace(/^GRANTOR_IMAGE=.*\n/m, ''))).toEqual([])
    const compose = readFileSync(join(ROOT, 'ops/compose/compose.yaml'), 'utf8')
    for (const [, name] of settings.matchAll(/^(\w+)=/gm)) expect(compose).toContain(`\${${name}`)
    const [up, create = ''] = out.trim().split('\n')
    expect(up).toBe('compose|up|--detach|')
    const argv = create.split('|').slice(0, -1)
    expect(argv.splice(0, 4)).toEqual(['compose', 'run', '--rm', 'auth'])
    const { env } = await newDatabase()
    expect((await run(argv, env)).exit).toBe(0)
  })

  test('The commands for Kubernetes make a Secret with the keys of the chart, and run a command in the pod', async () => {
    const record = 'kubectl() { printf "%s|" "$@"; echo; }\nhelm() { printf "%s|" "$@"; echo; }\n'
    const { exit, out } = machineIn(newFolder()).runText(record + block('helm install') + block('kubectl exec'))
    expect(exit).toBe(0)
    const [secret = '', install, command = ''] = out.trim().split('\n')
    const chart = readFileSync(join(ROOT, 'ops/helm/grantor/templates/_helpers.tpl'), 'utf8')
    const keys = [...secret.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key = '']) => key)
    expect(keys).toEqual(['secret', 'login-secret', 'database-url'])
    for (const key of keys) expect(chart).toMatch(new RegExp(`key: ${key}\\b|"key" "${key}"`))
    expect(install).toBe('install|grantor|ops/helm/grantor|--values|my-values.yaml|')
    const [before = '', argv = ''] = command.split('grantor.js|')
    expect(before).toBe('exec|deploy/grantor|--container|auth|--|/usr/bin/node|/usr/lib/node_modules/grantor/bin/')
    const { env } = await newDatabase()
    expect((await run(argv.split('|').filter(Boolean), env)).exit).toBe(0)
  })
})

test('The commands of docs/operating/operations.md for sockets install both units and stop the service before the socket opens', () => {
  const folder = newFolder()
  const [units, global] = ['etc/systemd/system', 'global'].map((path) => join(folder, path)) as [string, string]
  for (const each of [units, global]) mkdirSync(each, { recursive: true })
  symlinkSync(ROOT, join(global, 'grantor'))
  const text = blockWith('operating/operations.md', '*.socket').replaceAll('install ', 'command install ')
  const { exit, out } = machineIn(folder).runText(`npm() { echo '${global}'; }\nsystemctl() { echo "$*"; }\n${text}`)
  expect(exit).toBe(0)
  expect(readdirSync(units).toSorted()).toEqual(['grantor-login.socket', 'grantor.socket'])
  expect(out.trim().split('\n')).toEqual([
    'daemon-reload',
    'stop grantor grantor-login',
    'enable --now grantor.socket grantor-login.socket',
    'start grantor grantor-login',
  ])
})

test('The loop of docs/operating/operations.md restarts each node, and waits until it is ready', () => {
  const text = blockWith('operating/operations.md', 'ssh "$node"')
  const record = [
    'ssh() { echo "$*"; tries=0; }',
    'curl() { tries=$((tries + 1)); echo "${@: -1}"; [ "$tries" = 2 ]; }',
    'sleep() { echo "sleep $1"; }',
  ]
  const { exit, out } = machineIn(newFolder()).runText(`${record.join('\n')}\n${text}`)
  const ofNode = (node: string) => {
    const ready = `http://${node}:4000/health/ready`
    return [`${node} systemctl restart grantor`, ready, 'sleep 1', ready, 'sleep 3']
  }
  expect([exit, out.trim().split('\n')]).toEqual([0, ['auth1', 'auth2', 'auth3'].flatMap(ofNode)])
})

test('The statements of docs/operating/postgresql.md make a role and a database, in which migrate makes the tables', async () => {
  const { sql, url } = await newPostgresDatabase()
  const name = `grantor_page_${process.pid}`
  const here = (text: string) => text.replaceAll(/\bgrantor\b/g, name)
  const statements = here(blockWith('operating/postgresql.md', 'CREATE ROLE').replace("'...'", "'page'")).trim().split('\n')
  try {
    for (const statement of statements) await sql.unsafe(statement)
    const own = new URL(url)
    Object.assign(own, { username: name, password: 'page', pathname: `/${name}` })
    const text = blockWith('operating/citus.md', 'grantor migrate')
    expect(text).toBe('grantor migrate\n')
    expect(await run(['migrate'], { GRANTOR_DATABASE_URL: own.href })).toMatchObject({ exit: 0 })
  } finally {
    await sql.unsafe(`DROP DATABASE IF EXISTS ${name}`)
    await sql.unsafe(`DROP ROLE IF EXISTS ${name}`)
  }
})

describe('docs/operating/upgrade.md', () => {
  const block = (part: string) => blockWith('operating/upgrade.md', part)

  test('The commands of an update keep a copy of the database, and migrate', () => {
    const folder = newFolder()
    const machine = machineIn(folder)
    writeFileSync(join(folder, 'etc/grantor/env'), `GRANTOR_DATABASE_URL=sqlite:${machine.databasePath}\n`)
    expect(machine.runText('set -a; . /etc/grantor/env\ngrantor migrate').exit).toBe(0)
    const npm = 'npm() { [ "$1 $2" = "install --global" ]; }\n'
    expect(machine.runText(npm + block('before-update'))).toMatchObject({ exit: 0 })
    expect(readdirSync(join(folder, 'var/backups/grantor'))).toEqual(['before-update.sqlite'])
  })

  test('The commands that move the registrations to a new database keep the ids and the secrets', async ({
    service: { paste },
  }) => {
    const { env } = await newDatabase()
    const [before = '', after = ''] = block('grantor-old export')
      .replaceAll('grantor-old export', 'rm -f stored-secrets.ndjson; grantor export --stored-secrets stored-secrets.ndjson')
      .replaceAll('grantor-old', 'grantor')
      .split('# Name a new, empty database')
    await paste('grantor clients create --name Moved --redirect-uri https://moved.example/cb')
    await paste(before)
    // The command waits for a confirmation before it changes anything, and this shell has no terminal.
    const confirmed = after.replace('--stored-secrets', '--yes --stored-secrets')
    const applied = await paste(`# ${confirmed}`, env)
    expect(applied).toMatch(/create client "Moved" \(.*\)\n {2}keeps 1 client secret of the file\n[^]*Applied \d+ changes?\./)
    expect(applied).not.toContain('shown only once')
    expect(await paste('grantor export', env)).toBe(await paste('cat grantor.yaml'))
  })
})
