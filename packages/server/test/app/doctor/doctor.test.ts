import { chmodSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../../../src/app/doctor/check.ts'
import { aClientHost } from '../../support/client-host.ts'
import { answerWith, HOOK_SECRET, startHook } from '../../support/hook.ts'
import { pngLogo } from '../../support/pictures.ts'
import { run } from '../run.ts'
import { type Doctored, goodProxy, type Installation, now, runDoctor, startInstallation } from './installation.ts'

let site: Installation
beforeAll(async () => {
  site = await startInstallation()
})
afterAll(() => site.close())
beforeEach(() => {
  site.proxies.auth = goodProxy()
  site.proxies.login = goodProxy()
  site.proxies.admin = goodProxy()
})

/** The findings that are not ok. */
const faults = ({ findings }: Doctored): Finding[] => findings.filter(({ verdict }) => verdict !== 'ok')

function without(headers: IncomingHttpHeaders, name: string): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name))
}

/** Expects one fault, and that the exit code follows from it. */
async function oneFault(changes: Record<string, string> = {}): Promise<Finding> {
  const doctored = await site.doctor(changes)
  const [fault, ...more] = faults(doctored)
  expect(more).toEqual([])
  expect(fault?.remedy).toMatch(/\.$|^Run: /)
  expect(doctored.exit).toBe(fault?.verdict === 'wrong' ? 1 : 0)
  return fault as Finding
}

test('A healthy installation behind two proxies has no finding that is not ok, and the exit code is 0', async () => {
  const doctored = await site.doctor()
  expect(faults(doctored)).toEqual([])
  expect(doctored.exit).toBe(0)
  expect(new Set(doctored.findings.map(({ check }) => check))).toEqual(
    new Set([
      'settings',
      'auth URL',
      'auth service',
      'login URL',
      'login to auth',
      'login API',
      'certificates',
      'plain http',
      'proxies',
      'clocks',
      'database',
      'schema',
      'keys',
      'secret files',
      'chains',
      'hook',
      'admin API',
      'metrics',
      'sign-in',
      'texts',
      'look',
      'machine',
    ]),
  )
})

test('The findings are printed in aligned lines with a summary, and contain no secret', async () => {
  const { exit, out } = await run(['doctor'], site.env, now())
  expect(exit).toBe(0)
  expect(out).toMatch(/^ok {7}settings {7}all settings of grantor serve are valid\n/)
  expect(out).toMatch(/\n0 wrong, 0 warnings, 0 not checked, \d+ ok\.\n$/)
  expect(out).not.toMatch(/correct-horse/)
})

test('A client with a text that some hardware wallets cannot sign is a warning with the number of bytes', async () => {
  const scopes = Array.from({ length: 12 }, (_, i) => ['--scope', `notes.scope-${i}`]).flat()
  const app = ['clients', 'create', '--name', 'Notes', '--redirect-uri', 'https://app.example.net/callback', '--json']
  const { out } = await run([...app, '--resource', 'https://a.example/', ...scopes], site.env, now())
  const { client_id: id } = JSON.parse(out) as { client_id: string }
  const texts = (await site.doctor()).findings.filter(({ check }) => check === 'texts')
  expect(texts).toEqual([
    {
      check: 'texts',
      verdict: 'warning',
      found: expect.stringMatching(
        new RegExp(
          `^1 of 1 clients have a text to sign of more than 1,024 bytes, .* the longest has 1,\\d{3} bytes, of client ${id}$`,
        ),
      ),
      remedy: expect.stringMatching(/\.$/),
    },
  ])
  await run(['clients', 'delete', id, '--yes'], site.env, now())
})

test('doctor changes nothing in the store', async () => {
  const before = await run(['export'], site.env)
  const keys = await run(['keys', 'list', '--json'], site.env)
  await site.doctor()
  expect(await run(['export'], site.env)).toEqual(before)
  expect(await run(['keys', 'list', '--json'], site.env)).toEqual(keys)
})

test('Each faulty setting is a finding, and nothing else is checked', async () => {
  const { exit, findings } = await site.doctor({ GRANTOR_TOKEN_LIFETIME: '5', GRANTOR_LOG_LEVEL: 'loud' })
  expect([exit, findings.map(({ check, verdict }) => `${check} ${verdict}`)]).toEqual([1, ['settings wrong', 'settings wrong']])
})

test('A proxy that changes the issuer in the discovery document is found (OpenID Connect Discovery §4.3)', async () => {
  site.proxies.auth.changeBody = (body) => body.replace(/"issuer":"[^"]*"/, '"issuer":"https://other.example"')
  expect(await oneFault()).toMatchObject({
    check: 'auth URL',
    verdict: 'wrong',
    found: expect.stringContaining('is https://other.example'),
  })
})

test('A proxy that forwards only some paths is found', async () => {
  site.proxies.auth.answer = (_request, response) => void response.writeHead(404).end('<html>')
  const found = faults(await site.doctor())
  expect(found.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual([
    'auth URL wrong',
    'auth service wrong',
    'proxies unchecked',
    'clocks unchecked',
  ])
})

test('A redirect is found, and the finding names where it leads', async () => {
  site.proxies.auth.answer = (_request, response) => void response.writeHead(301, { location: 'https://www.example.com/' }).end()
  const [first] = faults(await site.doctor())
  expect(first).toMatchObject({
    check: 'auth URL',
    verdict: 'wrong',
    found: expect.stringContaining('redirects to https://www.example.com/'),
  })
})

test('Two URLs that lead to each other’s server are found', async () => {
  const { GRANTOR_AUTH_URL: auth = '', GRANTOR_LOGIN_URL: login = '' } = site.env
  const found = faults(await site.doctor({ GRANTOR_AUTH_URL: login, GRANTOR_LOGIN_URL: auth }))
  expect(found).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ check: 'auth URL', verdict: 'wrong' }),
      expect.objectContaining({ check: 'login URL', verdict: 'wrong', found: expect.stringContaining('leads to grantor serve') }),
    ]),
  )
})

test('A service that is not running, and one behind a proxy that answers 502, are found', async () => {
  const [first] = faults(await site.doctor({ GRANTOR_AUTH_URL: 'http://localhost:9' }))
  expect(first).toMatchObject({ check: 'auth URL', verdict: 'wrong', found: expect.stringContaining('(ECONNREFUSED)') })
  site.proxies.login.answer = (_request, response) => void response.writeHead(502).end()
  expect(faults(await site.doctor()).map(({ found }) => found)).toContain('the proxy answers 502')
})

test('A proxy that drops a request header is found, and the finding names the header', async () => {
  site.proxies.auth.toServer = (headers, client) => goodProxy().toServer(without(headers, 'dpop'), client)
  expect(await oneFault()).toMatchObject({
    check: 'proxies',
    verdict: 'wrong',
    found: expect.stringMatching(/to grantor serve: dpop$/),
  })
})

test('A proxy that drops a header of the answer is found', async () => {
  site.proxies.login.toClient = (headers) => without(headers, 'dpop-nonce')
  expect(await oneFault()).toMatchObject({
    check: 'proxies',
    verdict: 'wrong',
    found: expect.stringMatching(/login-server: dpop-nonce$/),
  })
})

test('A proxy that replaces the Host header is ok, because every URL comes from the settings', async () => {
  site.proxies.auth.toServer = (headers, client) => goodProxy().toServer({ ...headers, host: 'backend:4000' }, client)
  expect(faults(await site.doctor())).toEqual([])
})

test('If the public URL reaches the API of the login server although that has an address of its own, the finding is a warning', async () => {
  site.proxies.auth.closed = /^$/
  expect(await oneFault()).toMatchObject({ check: 'login API', verdict: 'warning' })
})

test('A proxy that sends no X-Forwarded-For is found', async () => {
  site.proxies.auth.toServer = (headers) => without(headers, 'x-forwarded-for')
  expect(await oneFault()).toMatchObject({ verdict: 'wrong', found: expect.stringContaining('sends no X-Forwarded-For') })
})

test('A proxy that passes on the X-Forwarded-For of the client unchanged is found: any client could choose its address', async () => {
  site.proxies.auth.toServer = (headers) => headers
  expect(await oneFault()).toMatchObject({
    verdict: 'wrong',
    found: expect.stringContaining('any client can choose its address'),
  })
})

test('A proxy that is not among GRANTOR_TRUSTED_PROXIES is found', async () => {
  const found = faults(await site.doctor({ GRANTOR_TRUSTED_PROXIES: '10.0.0.0/8' }))
  expect(found.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual(['proxies wrong', 'proxies wrong', 'proxies wrong'])
  expect(found[0]?.found).toContain('a proxy at 127.0.0.1 is not among GRANTOR_TRUSTED_PROXIES')
})

test('A proxy that is not trusted is also found if it passes on X-Forwarded-For unchanged, as nginx does by default', async () => {
  site.proxies.auth.toServer = (headers) => headers
  site.proxies.login.toServer = (headers) => headers
  site.proxies.admin.toServer = (headers) => headers
  const found = faults(await site.doctor({ GRANTOR_TRUSTED_PROXIES: '' }))
  expect(found.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual(['proxies wrong', 'proxies wrong', 'proxies wrong'])
  expect(found[0]?.found).toContain('a proxy at 127.0.0.1 is not among GRANTOR_TRUSTED_PROXIES')
})

test('A proxy that refuses long queries is found', async () => {
  const isLong = ({ url = '' }: { url?: string | undefined }) => url.length > 4_000
  site.proxies.auth.answer = (request, response) => void response.writeHead(isLong(request) ? 414 : 404).end()
  expect(faults(await site.doctor()).find(({ check }) => check === 'proxies')).toMatchObject({
    verdict: 'unchecked',
    found: expect.stringContaining('the proxy does not accept a query of 6000 characters'),
  })
})

test('A proxy that refuses long response headers, as nginx does by default, is found: sign-ins would fail with 502', async () => {
  site.proxies.auth.toClient = (headers) => {
    if (JSON.stringify(headers).length > 4_096) throw new Error('upstream sent too big header')
    return headers
  }
  expect(await oneFault()).toMatchObject({
    check: 'proxies',
    verdict: 'wrong',
    found: expect.stringContaining('does not accept an answer of grantor serve with a header of 5000 characters'),
    remedy: expect.stringContaining('proxy_buffer_size 8k'),
  })
})

test('A proxy of the admin API that drops Origin is found: every form of the console would be refused', async () => {
  site.proxies.admin.toServer = (headers, client) => goodProxy().toServer(without(headers, 'origin'), client)
  expect(await oneFault()).toMatchObject({
    check: 'proxies',
    verdict: 'wrong',
    found: expect.stringMatching(/to the admin API: origin$/),
  })
})

test('A proxy that answers with a cached probe is found', async () => {
  site.proxies.login.changeBody = (body) => body.replace(/"probe":"[^"]*"/, '"probe":"1.old"')
  expect(faults(await site.doctor())).toEqual(
    expect.arrayContaining([expect.objectContaining({ check: 'proxies', verdict: 'unchecked' })]),
  )
})

test('Metrics at the public URL are found', async () => {
  const { GRANTOR_METRICS_LISTEN: metrics = '' } = site.env
  const text = await (await fetch(`http://${metrics}/metrics`)).text()
  site.proxies.login.answer = (request, response) =>
    request.url === '/metrics' ? void response.writeHead(200).end(text) : void response.writeHead(503).end()
  expect(faults(await site.doctor())).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ check: 'metrics', verdict: 'wrong', found: expect.stringContaining('/metrics is public') }),
    ]),
  )
})

test('An admin API that answers at the public URL is found, and one at its own URL is ok', async () => {
  const own = { check: 'admin API', verdict: 'ok', found: expect.stringContaining('answers at http') }
  expect((await site.doctor()).findings).toContainEqual(expect.objectContaining(own))
  const away = await runDoctor({ ...site.env, GRANTOR_ADMIN_URL: 'http://localhost:9' })
  expect(faults(away)).toMatchObject([
    { check: 'proxies', verdict: 'unchecked' },
    { check: 'admin API', verdict: 'wrong', found: expect.stringContaining('cannot be reached') },
  ])
  site.proxies.login.answer = (_request, response) => void response.writeHead(401).end()
  const open = (await site.doctor()).findings.find(({ check }) => check === 'admin API')
  expect(open).toMatchObject({ verdict: 'wrong', found: expect.stringContaining('the admin API answers at') })
})

test('A metrics listener on every address is a warning', async () => {
  expect(await oneFault({ GRANTOR_METRICS_LISTEN: '0.0.0.0:9464' })).toMatchObject({ check: 'metrics', verdict: 'warning' })
})

test('A login server that does not reach the auth service is found', async () => {
  site.proxies.login.answer = (request, response) => {
    if (request.url?.startsWith('/login?')) response.writeHead(503).end('{}')
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}')
  }
  expect(faults(await site.doctor()).find(({ check }) => check === 'login to auth')).toMatchObject({ verdict: 'wrong' })
})

test('Another login secret than that of the services is reported with its possible causes', async () => {
  const found = faults(
    await site.doctor({ GRANTOR_LOGIN_SECRET_FILE: '', GRANTOR_LOGIN_SECRET: 'another-secret-of-32-characters-or-more' }),
  )
  expect(found.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual([
    'proxies unchecked',
    'proxies unchecked',
    'proxies unchecked',
    'clocks unchecked',
    'clocks unchecked',
  ])
  expect(found[0]?.found).toContain('another GRANTOR_LOGIN_SECRET or URL')
})

test('Another GRANTOR_SECRET than that of the keys is found', async () => {
  const changes = { GRANTOR_SECRET_FILE: '', GRANTOR_SECRET: 'another-secret-of-32-characters-or-more' }
  expect(await oneFault(changes)).toMatchObject({
    check: 'keys',
    verdict: 'wrong',
    found: expect.stringMatching(/^\d+ keys do not open/),
  })
})

test('Clocks that differ by five minutes are wrong, and by ten seconds a warning', async () => {
  const clocks = async (ahead: number) => {
    const { exit, findings } = await runDoctor(site.env, now() + ahead)
    return { exit, clocks: findings.filter(({ check }) => check === 'clocks') }
  }
  const late = {
    verdict: 'wrong',
    found: expect.stringMatching(/^the clock of grantor .* is (299|300|301) seconds behind this machine$/),
  }
  expect(await clocks(300)).toMatchObject({ exit: 1, clocks: [late, late] })
  const slightly = { verdict: 'warning', found: expect.stringMatching(/is (9|10|11) seconds ahead of this machine$/) }
  expect(await clocks(-10)).toMatchObject({ exit: 0, clocks: [slightly, slightly] })
})

test('Keys that no node replaces are found', async () => {
  const { findings } = await runDoctor(site.env, now() + 92 * 86_400)
  expect(findings.find(({ check }) => check === 'keys')).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining('should have been replaced'),
  })
})

test('A file of a secret that other users can read is found', async () => {
  chmodSync(site.env.GRANTOR_SECRET_FILE ?? '', 0o644)
  const fault = await oneFault()
  chmodSync(site.env.GRANTOR_SECRET_FILE ?? '', 0o600)
  expect(fault).toMatchObject({
    check: 'secret files',
    verdict: 'wrong',
    found: expect.stringContaining('GRANTOR_SECRET_FILE can be read'),
  })
})

test('A SQLite file or folder that other users can read or change is found', async () => {
  const store = join(site.folder, 'store')
  const file = join(store, 'grantor.sqlite')
  chmodSync(file, 0o644)
  expect(faults(await site.doctor())).toEqual([])
  chmodSync(store, 0o755)
  expect(await oneFault()).toMatchObject({
    check: 'database',
    verdict: 'wrong',
    found: expect.stringContaining('can be read by other users'),
  })
  chmodSync(store, 0o777)
  expect(await oneFault()).toMatchObject({
    check: 'database',
    verdict: 'wrong',
    found: expect.stringContaining('can be changed by other users'),
  })
  chmodSync(store, 0o700)
  chmodSync(file, 0o600)
})

test('A database that does not exist, and one of an older schema, are found with their remedy', async () => {
  const none = faults(await site.doctor({ GRANTOR_DATABASE_URL: `sqlite:${join(site.folder, 'none.sqlite')}` }))
  expect(none.find(({ check }) => check === 'database')).toMatchObject({ verdict: 'wrong', remedy: 'Run: grantor migrate' })
  const path = join(site.folder, 'old.sqlite')
  const database = new DatabaseSync(path)
  database.exec(
    "CREATE TABLE migrations (number, name, applied_at, oldest); INSERT INTO migrations VALUES (16, 'endings', 0, 13)",
  )
  database.close()
  const old = faults(await site.doctor({ GRANTOR_DATABASE_URL: `sqlite:${path}` }))
  expect(old.find(({ check }) => check === 'schema')).toMatchObject({
    verdict: 'wrong',
    remedy: expect.stringContaining('Run grantor export with that version'),
  })
})

test('A chain endpoint that is away is a warning', async () => {
  const chains = JSON.stringify({ 1: { name: 'Ethereum', rpc: ['http://127.0.0.1:9'], one_rpc: true, home: true } })
  expect(await oneFault({ GRANTOR_CHAINS: chains })).toMatchObject({ check: 'chains', verdict: 'warning' })
})

test('The check of the sign-in names what other devices and other parties do in it', async () => {
  const signIn = ({ findings }: Doctored) =>
    findings.filter(({ check }) => check === 'sign-in').map(({ verdict, found }) => [verdict, found])
  expect(signIn(await site.doctor())).toEqual([
    ['ok', expect.stringContaining('a wallet on another device can sign in the browser')],
  ])
  const chains = JSON.stringify({ 1: { name: 'Ethereum', rpc: ['http://127.0.0.1:9'], one_rpc: true, home: true } })
  const changed = await site.doctor({
    GRANTOR_CROSS_DEVICE: 'off',
    GRANTOR_CHAINS: chains,
    GRANTOR_ENS_NAMES: 'on',
    GRANTOR_KEY_CHECK: 'on',
    GRANTOR_WALLET_WINDOW: 'https://keys.coinbase.com/connect',
  })
  expect(signIn(changed)).toEqual([
    ['ok', expect.stringContaining('GRANTOR_CROSS_DEVICE is off')],
    ['ok', expect.stringContaining('the RPC endpoints of chain 1 receive the addresses')],
    ['ok', expect.stringContaining('ordinary wallets need the chain')],
    ['ok', 'keys.coinbase.com is listed as a wallet, and learns who opens it'],
  ])
})

test('WalletConnect without its package is wrong, with the command that installs the package', async () => {
  const fault = await oneFault({ GRANTOR_WALLETCONNECT_PROJECT_ID: '0'.repeat(32) })
  expect(fault).toMatchObject({ check: 'sign-in', verdict: 'wrong' })
  expect(fault.found).toContain('run npm install @grantor/walletconnect@')
})

describe('The check of the hook', () => {
  const checked = async (environment: Record<string, string>) =>
    (await site.doctor(environment)).findings
      .filter(({ check }) => check === 'hook')
      .map(({ verdict, found, remedy }) => [verdict, found, remedy])

  test('grantor doctor sends the hook a question about an unknown wallet, and one with a wrong signature, which the hook refuses', async () => {
    const hook = await startHook({ answer: 'no' })
    onTestFinished(hook.close)
    expect(await checked(hook.environment)).toEqual([
      ['ok', expect.stringMatching(/^the hook answers a question about an unknown wallet with no in \d+ ms$/), null],
      ['ok', 'the hook refuses a question with a wrong signature', null],
    ])
    expect(hook.questions).toMatchObject([{ client_name: 'grantor doctor', wallet: `0x${'0'.repeat(39)}1` }])
    expect(hook.host.requests).toHaveLength(2)
  })

  test('A hook that answers without checking the signature is a warning; one that breaks or has another secret is wrong', async () => {
    const careless = await aClientHost((_, response) => answerWith(response, { answer: 'yes' }))
    const address = (url: string) => ({ GRANTOR_HOOK_URL: url, GRANTOR_HOOK_SECRET: HOOK_SECRET })
    expect(await checked(address(careless.origin))).toMatchObject([
      ['ok', expect.stringContaining('with yes'), null],
      ['warning', 'the hook answers a question with a wrong signature', expect.stringContaining('docs/operating/hook.md')],
    ])
    const strict = await startHook()
    onTestFinished(strict.close)
    const other = `whsec_${Buffer.alloc(32, 'wrong').toString('base64')}`
    expect(await checked({ ...strict.environment, GRANTOR_HOOK_SECRET: other })).toMatchObject([
      ['wrong', 'hook_status: The hook responded with a status other than 200.', expect.any(String)],
    ])
    expect(await checked(address('http://127.0.0.1:9/'))).toMatchObject([
      ['wrong', expect.stringMatching(/^hook_unreachable: /), expect.any(String)],
    ])
  })
})

test('The check of the look has the contrast of the accent colour in both schemes, and the links', async () => {
  const { findings } = await site.doctor({
    GRANTOR_PLATFORM_NAME: 'Aurora Pay',
    GRANTOR_ACCENT_COLOR: '#0b2a6f',
    GRANTOR_HELP_URL: 'https://aurora.example/help',
    GRANTOR_PRIVACY_URL: 'https://aurora.example/privacy',
  })
  expect(findings.filter(({ check }) => check === 'look').map(({ verdict, found }) => [verdict, found])).toEqual([
    ['ok', 'the pages have the name Aurora Pay'],
    ['ok', expect.stringMatching(/^#0b2a6f has a contrast of 11\.\d:1; the dark scheme uses #[0-9a-f]{6}, with 4\.[5-9]:1$/)],
    ['ok', 'the link to help leads to https://aurora.example/help'],
    ['ok', 'the link to privacy leads to https://aurora.example/privacy'],
  ])
})

test('A logo that the running servers do not serve is wrong: both read the file when they start', async () => {
  const file = join(site.folder, 'logo.png')
  writeFileSync(file, pngLogo({ width: 200, height: 50 }))
  const { findings, exit } = await site.doctor({ GRANTOR_LOGO_FILE: file })
  const look = findings.filter(({ check }) => check === 'look')
  expect(look.map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'wrong', 'wrong'])
  expect(look[1]?.found).toMatch(/^the logo has 200 × 50 pixels and \d+ bytes$/)
  expect(look[3]).toMatchObject({ found: `${site.env.GRANTOR_LOGIN_URL} does not serve this logo (404)` })
  expect(exit).toBe(1)
})
