import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { freePorts } from '../../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { pngLogo } from '../../support/pictures.ts'
import { BIN, newFolder, run } from '../run.ts'

const URLS = ['--auth-url', 'https://auth.example.com', '--login-url', 'https://login.example.com']

/** The commands of the checklist, without the steps for people. */
const commandsIn = (out: string): string[] => [...out.matchAll(/^ {3}(.*)$/gm)].map(([, command = '']) => command)

/** An environment in which the shell finds this program as `grantor`. */
function shellEnvironment(): Record<string, string | undefined> {
  const bin = newFolder()
  writeFileSync(join(bin, 'grantor'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`, { mode: 0o755 })
  return { ...OWN_ENVIRONMENT, PATH: `${bin}:${process.env.PATH}` }
}

test('The commands of the checklist work when pasted: init, migrate, both servers, an app, and doctor finds nothing', async () => {
  const [auth = 0, login = 0] = await freePorts(2)
  const dir = join(newFolder(), 'with space')
  const urls = ['--auth-url', `http://localhost:${auth}`, '--login-url', `http://localhost:${login}`]
  const { exit, out, err } = await run(['init', ...urls, '--dir', dir])
  expect([exit, err]).toEqual([0, ''])
  const env = shellEnvironment()
  const [migrate = '', serve = '', loginServer = '', create = '', doctor = ''] = commandsIn(out)
  const shell = (command: string): string => execFileSync('sh', ['-c', command], { env, encoding: 'utf8' })
  expect(shell(migrate)).toContain('Took step 26')
  for (const [command, ready] of [
    [serve, 'auth service is ready'],
    [loginServer, 'login server is ready'],
  ] as const) {
    expect(command).toMatch(/ &$/)
    const server = spawn('sh', ['-c', command.replace(/^\((.*)\) &$/, '$1')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void server.kill('SIGKILL'))
    let printed = ''
    while (!printed.includes(ready)) printed += String((await once(server.stdout, 'data'))[0])
  }
  expect(shell(create)).toContain('Registered "My app".')
  const report = shell(doctor)
  expect(report).toMatch(/\n0 wrong, 0 warnings, 0 not checked, \d+ ok\.\n$/)
})

test('init writes three files that only their owner can read, and prints no secret', async () => {
  const dir = join(newFolder(), 'grantor')
  const { out } = await run(['init', ...URLS, '--dir', dir])
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  for (const name of ['env', 'secret', 'login-secret']) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
  const secrets = ['secret', 'login-secret'].map((name) => readFileSync(join(dir, name), 'utf8').trim())
  expect(new Set(secrets).size).toBe(2)
  for (const secret of secrets) {
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(out + readFileSync(join(dir, 'env'), 'utf8')).not.toContain(secret)
  }
  expect(
    readFileSync(join(dir, 'env'), 'utf8'),
  ).toBe(`# Settings of Grantor, written by grantor init. All settings: docs/reference/settings.md
GRANTOR_AUTH_URL=https://auth.example.com
GRANTOR_LOGIN_URL=https://login.example.com
GRANTOR_DATABASE_URL=sqlite:${dir}/grantor.sqlite
GRANTOR_LISTEN=127.0.0.1:4000
GRANTOR_LOGIN_LISTEN=127.0.0.1:4001
GRANTOR_AUTH_BACKEND_URL=http://127.0.0.1:4000
GRANTOR_TRUSTED_PROXIES=127.0.0.1
GRANTOR_SECRET_FILE=${dir}/secret
GRANTOR_LOGIN_SECRET_FILE=${dir}/login-secret
`)
})

test('For systemd, the environment file names no files of secrets, because the units do', async () => {
  const dir = join(newFolder(), 'etc')
  const { out } = await run([
    'init',
    ...URLS,
    '--dir',
    dir,
    '--for',
    'systemd',
    '--operator',
    '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  ])
  const env = readFileSync(join(dir, 'env'), 'utf8')
  expect(env).not.toContain('_FILE')
  expect(env).toContain('GRANTOR_DATABASE_URL=sqlite:/var/lib/grantor/grantor.sqlite\n')
  expect(out).toContain('sudo systemctl enable --now grantor grantor-login')
  expect(out).toContain('grantor operators add 0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266 --role owner')
  for (const command of commandsIn(out)) execFileSync('sh', ['-n', '-c', command])
})

test('With --admin-url, the admin API listens behind the proxy on a port of its own, and the checklist names the console', async () => {
  const dir = join(newFolder(), 'etc')
  const admin = ['--admin-url', 'https://admin.example.internal']
  const { out } = await run(['init', ...URLS, ...admin, '--dir', dir, '--for', 'systemd'])
  const env = readFileSync(join(dir, 'env'), 'utf8')
  expect(env).toContain('GRANTOR_ADMIN_URL=https://admin.example.internal\n')
  expect(env).toContain('GRANTOR_ADMIN_LISTEN=127.0.0.1:4002\n')
  expect(out).toContain('https://admin.example.internal to port 4002 with a TLS proxy')
  expect(out).toContain('grantor operators add ADDRESS --role owner')
  expect(out).toContain('https://admin.example.internal/console')
  const refused = await run(['init', ...URLS, ...admin, '--dir', join(newFolder(), 'new'), '--for', 'compose'])
  expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining('--admin-url cannot be used for compose')])
})

test('For Compose, init writes the files that the Compose file of the package names', async () => {
  const dir = join(newFolder(), 'compose')
  const { out } = await run([
    'init',
    ...URLS,
    '--dir',
    dir,
    '--for',
    'compose',
    '--operator',
    '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  ])
  const compose = readFileSync(new URL('../../../../../ops/compose/compose.yaml', import.meta.url), 'utf8')
  for (const [, file = ''] of compose.matchAll(/file: \.\/(.*)$/gm)) expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600)
  const env = readFileSync(join(dir, '.env'), 'utf8')
  for (const [, required = ''] of compose.matchAll(/\$\{(\w+):\?/g)) expect(env).toContain(`${required}=`)
  expect(out).toContain('docker compose up --detach')
  for (const command of commandsIn(out)) execFileSync('sh', ['-n', '-c', command])
  const refused = await run(['init', ...URLS, '--for', 'compose', '--database-url', 'sqlite:/x', '--dir', join(dir, 'other')])
  expect(refused).toMatchObject({ exit: 2, err: expect.stringContaining('the Compose file has its own PostgreSQL') })
})

test.each([
  ['sqlite', [], ['login-secret', 'secret', 'values.yaml'], 'statefulset/grantor'],
  [
    'postgresql',
    ['--database-url', 'postgres://grantor:pw@db.example.com/grantor'],
    ['database-url', 'login-secret', 'secret', 'values.yaml'],
    'deploy/grantor',
  ],
])(
  'For Kubernetes with %s, the values have no secret, and the entries of the Secret are files without a newline',
  async (store, more, files, workload) => {
    const dir = join(newFolder(), 'kubernetes')
    const { exit, out } = await run(['init', ...URLS, ...more, '--dir', dir, '--for', 'kubernetes', '--proxy', '10.0.0.0/8'])
    expect([exit, readdirSync(dir).toSorted((a, b) => a.localeCompare(b))]).toEqual([0, files])
    const values = readFileSync(join(dir, 'values.yaml'), 'utf8')
    expect(parse(values)).toEqual({
      authUrl: 'https://auth.example.com',
      loginUrl: 'https://login.example.com',
      store,
      secret: { name: 'grantor' },
      settings: { GRANTOR_TRUSTED_PROXIES: '10.0.0.0/8' },
    })
    expect(readFileSync(join(dir, 'secret'), 'utf8')).toMatch(/^[\w-]{43}$/)
    expect(out).toContain(`kubectl exec ${workload} --container auth`)
    for (const command of commandsIn(out)) execFileSync('sh', ['-n', '-c', command])
  },
)

test('A database URL with special characters arrives unchanged through the shell, and its password is not printed', async () => {
  const dir = join(newFolder(), 'grantor')
  const url = 'postgres://grantor:p%24w%27d!*@db1.example.com,db2.example.com/grantor?sslmode=require&pool_size=5'
  const { exit, out } = await run(['init', ...URLS, '--dir', dir, '--database-url', url])
  expect([exit, out.includes('p%24w')]).toEqual([0, false])
  const read = execFileSync('sh', ['-c', `. '${dir}/env'; printf %s "$GRANTOR_DATABASE_URL"`], { encoding: 'utf8' })
  expect(read).toBe(url)
})

test.each(['env', 'secret', 'login-secret'])(
  'If the file %s exists, it is not overwritten, and nothing is written',
  async (name) => {
    const dir = newFolder()
    writeFileSync(join(dir, name), 'mine')
    const { exit, out, err } = await run(['init', ...URLS, '--dir', dir])
    expect([exit, out, err]).toEqual([
      1,
      '',
      `grantor: ${join(dir, name)} exists already, and is not overwritten; nothing was written\n`,
    ])
    expect(readFileSync(join(dir, name), 'utf8')).toBe('mine')
    expect(['env', 'secret', 'login-secret'].filter((each) => existsSync(join(dir, each)))).toEqual([name])
  },
)

test('A symbolic link at the place of a file is not followed', async () => {
  const dir = newFolder()
  const target = join(newFolder(), 'target')
  symlinkSync(target, join(dir, 'secret'))
  expect((await run(['init', ...URLS, '--dir', dir])).exit).toBe(1)
  expect(existsSync(target)).toBe(false)
})

test.each([
  [['--auth-url', 'http://auth.example.com', '--login-url', 'https://login.example.com'], 'GRANTOR_AUTH_URL must use https'],
  [
    ['--auth-url', 'https://auth.example.com/', '--login-url', 'https://login.example.com'],
    'did you mean https://auth.example.com?',
  ],
  [['--auth-url', 'https://a.example.com', '--login-url', 'https://a.example.com'], 'must be another origin'],
  [[...URLS, '--database-url', 'mysql://db/grantor'], 'GRANTOR_DATABASE_URL must be sqlite:PATH'],
  [[...URLS, '--proxy', '0.0.0.0/0'], 'GRANTOR_TRUSTED_PROXIES must not hold "0.0.0.0/0"'],
  [[...URLS, '--operator', 'me'], '--operator must be a wallet address (0x…) or a client id, not "me"'],
  [[...URLS, '--for', 'nomad'], '--for must be one of files, systemd, compose, kubernetes'],
  [['--auth-url', 'https://auth.example.com'], '--login-url is missing'],
])('The options %j are refused, and nothing is written', async (options, words) => {
  const dir = join(newFolder(), 'grantor')
  const { exit, err } = await run(['init', ...options, '--dir', dir])
  expect([exit, err]).toEqual([2, expect.stringContaining(words)])
  expect(existsSync(dir)).toBe(false)
})

test('On a terminal, init asks for the URLs that are missing, for that of the admin API, and for the operator', async () => {
  const asked: string[] = []
  const dir = join(newFolder(), 'grantor')
  const answers = ['https://auth.example.com', 'https://login.example.com', '', '']
  const ask = async (question: string) => (asked.push(question), answers.shift() ?? '')
  const { exit } = await run(['init', '--dir', dir], {}, 0, ask)
  expect([exit, asked.length]).toEqual([0, 4])
  expect(readFileSync(join(dir, 'env'), 'utf8')).toContain('GRANTOR_LOGIN_URL=https://login.example.com\n')
})

test('init writes the look of the pages that is given, checked like the settings of the servers', async () => {
  const dir = join(newFolder(), 'grantor')
  const logo = join(newFolder(), 'logo.png')
  writeFileSync(logo, pngLogo())
  const look = [
    '--platform-name',
    'Aurora Pay',
    '--accent-color',
    '#0b2a6f',
    '--help-url',
    'https://aurora.example/help',
    '--logo',
    logo,
  ]
  expect((await run(['init', ...URLS, '--dir', dir, ...look])).exit).toBe(0)
  expect(readFileSync(join(dir, 'env'), 'utf8')).toContain(
    `GRANTOR_PLATFORM_NAME='Aurora Pay'\nGRANTOR_LOGO_FILE=${logo}\nGRANTOR_ACCENT_COLOR='#0b2a6f'\nGRANTOR_HELP_URL=https://aurora.example/help\n`,
  )
  const { exit, err } = await run(['init', ...URLS, '--dir', join(dir, 'other'), '--accent-color', '#ffd400'])
  expect([exit, err]).toEqual([2, expect.stringContaining('#ffd400 has a contrast of 1.2')])
})

test('For containers, init writes the name and the colour, and refuses a logo, which the container could not read', async () => {
  const dir = newFolder()
  const look = ['--platform-name', 'Aurora Pay', '--accent-color', '#0b2a6f']
  expect((await run(['init', ...URLS, '--for', 'compose', '--dir', join(dir, 'compose'), ...look])).exit).toBe(0)
  expect(readFileSync(join(dir, 'compose/.env'), 'utf8')).toContain(
    "GRANTOR_PLATFORM_NAME='Aurora Pay'\nGRANTOR_ACCENT_COLOR='#0b2a6f'\n",
  )
  expect((await run(['init', ...URLS, '--for', 'kubernetes', '--dir', join(dir, 'chart'), ...look])).exit).toBe(0)
  expect(parse(readFileSync(join(dir, 'chart/values.yaml'), 'utf8'))).toMatchObject({
    settings: { GRANTOR_PLATFORM_NAME: 'Aurora Pay' },
  })
  const { exit, err } = await run(['init', ...URLS, '--for', 'compose', '--dir', join(dir, 'logo'), '--logo', 'logo.png'])
  expect([exit, err]).toEqual([2, expect.stringContaining('docs/operating/branding.md')])
})

test('With the address of a hook, init also writes a secret that signs the requests, and the settings name it for each target', async () => {
  const hook = ['--hook-url', 'https://hook.example.com/grantor']
  const secretOf = (dir: string) => readFileSync(join(dir, 'hook-secret'), 'utf8').trim()
  const init = async (target: string) => {
    const dir = join(newFolder(), target)
    const { exit, out, err } = await run(['init', ...URLS, ...hook, '--for', target, '--dir', dir])
    expect([exit, err]).toEqual([0, ''])
    expect(secretOf(dir)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(out).toContain(`Give ${dir}/hook-secret to the hook`)
    expect(out).not.toContain('whsec_')
    return { dir, out }
  }
  const files = await init('files')
  expect(readFileSync(join(files.dir, 'env'), 'utf8')).toContain(
    `GRANTOR_HOOK_URL=https://hook.example.com/grantor\nGRANTOR_HOOK_SECRET_FILE=${files.dir}/hook-secret\n`,
  )
  expect(statSync(join(files.dir, 'hook-secret')).mode & 0o777).toBe(0o600)

  const systemd = await init('systemd')
  expect(readFileSync(join(systemd.dir, 'env'), 'utf8')).not.toContain('HOOK_SECRET')
  const commands = commandsIn(systemd.out)
  const dropIn = commands.find((command) => command.includes('hook.conf')) ?? ''
  const print = dropIn.slice(dropIn.indexOf('printf'), dropIn.indexOf(' | '))
  expect(execFileSync('sh', ['-c', print], { encoding: 'utf8' })).toBe(
    `[Service]\nLoadCredential=hook-secret:${systemd.dir}/hook-secret\nEnvironment=GRANTOR_HOOK_SECRET_FILE=%d/hook-secret\n`,
  )
  expect(commands.find((command) => command.includes('chmod'))).toContain('hook-secret')
  expect(commands.find((command) => command.includes('doctor'))).toContain(`GRANTOR_HOOK_SECRET_FILE=${systemd.dir}/hook-secret`)

  const kubernetes = await init('kubernetes')
  expect(parse(readFileSync(join(kubernetes.dir, 'values.yaml'), 'utf8'))).toMatchObject({
    secret: { name: 'grantor', hookSecret: true },
    settings: { GRANTOR_HOOK_URL: 'https://hook.example.com/grantor' },
  })
  expect(commandsIn(kubernetes.out).join()).toContain('--from-file=hook-secret=')
})

test('init refuses a hook for compose, and an address that no hook can have, and writes nothing', async () => {
  const dir = join(newFolder(), 'none')
  const init = async (...more: string[]) => (await run(['init', ...URLS, '--dir', dir, ...more])).err
  expect(await init('--for', 'compose', '--hook-url', 'https://hook.example.com/')).toContain(
    '--hook-url cannot be used for compose',
  )
  expect(await init('--hook-url', 'http://hook.example.com/')).toContain('GRANTOR_HOOK_URL must be an https URL')
  expect(existsSync(dir)).toBe(false)
})
