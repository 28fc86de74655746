/** The programs serve TLS themselves, without a proxy. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RSA, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../support/certificates.ts'
import { freePorts, sixInARow } from '../../support/free-ports.ts'
import { launchForTest, newFolder, run } from '../run.ts'

function certificateIn(
  folder: string,
  cert: string,
  key: string,
): { GRANTOR_TLS_CERT_FILE: string; GRANTOR_TLS_KEY_FILE: string } {
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  return { GRANTOR_TLS_CERT_FILE: join(folder, 'cert.pem'), GRANTOR_TLS_KEY_FILE: join(folder, 'key.pem') }
}

/** The settings of `serve` with the first of two certificates, and a migrated database. */
async function settingsOfServe(more: Record<string, string> = {}) {
  const folder = newFolder()
  const [auth] = await freePorts(1)
  const url = `https://localhost:${auth}`
  const env = {
    GRANTOR_AUTH_URL: url,
    GRANTOR_LOGIN_URL: 'https://login.example.com',
    GRANTOR_DATABASE_URL: `sqlite:${join(folder, 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    ...certificateIn(folder, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY),
    ...more,
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  return { folder, url, env }
}

type Answer = { status: number; body: string; cookies: string[]; location: string }

/** `ca` is the only certificate that is trusted. */
function get(url: string, ca: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ca, agent: false, headers, family: 4 }, (answer) => {
      let body = ''
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()))
      const { location = '', 'set-cookie': cookies = [] } = answer.headers
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body, cookies, location }))
    })
    outgoing.on('error', reject).end()
  })
}

test('The command serve uses https, sets Secure __Host- cookies, and loads a renewed certificate on SIGHUP', async () => {
  const { folder, url, env } = await settingsOfServe()
  const { out } = await run(
    ['clients', 'create', '--name', 'A', '--redirect-uri', 'https://app.example.com/cb', '--json'],
    env,
    Math.floor(Date.now() / 1000),
  )
  const server = launchForTest(['serve'], env)
  await server.printed('auth service is ready')
  const query = new URLSearchParams({
    client_id: (JSON.parse(out) as { client_id: string }).client_id,
    redirect_uri: 'https://app.example.com/cb',
  })
  const answer = await get(`${url}/oauth/authorize?${query}`, TEST_CERTIFICATE)
  expect(answer.status).toBe(302)
  expect(answer.cookies).toEqual([expect.stringMatching(/^__Host-grantor_browser=.*; Secure$/)])
  await expect(get(`${url}/health/ready`, RSA.cert)).rejects.toThrow()

  certificateIn(folder, RSA.cert, RSA.key)
  server.child.kill('SIGHUP')
  await server.printed('loaded a renewed certificate')
  expect((await get(`${url}/health/ready`, RSA.cert)).status).toBe(200)
  await expect(get(`${url}/health/ready`, TEST_CERTIFICATE)).rejects.toThrow()

  const ended = server.ended()
  server.child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

test('The command start uses https under the name of --host, and its login page has the form to sign in', async () => {
  const folder = newFolder()
  const port = await sixInARow()
  const server = launchForTest(['start', '--ports', String(port), '--data', join(folder, 'data'), '--host', '127.0.0.1'], {
    ...certificateIn(folder, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY),
  })
  await server.printed('Ctrl-C stops everything')
  const id = / client_id +(\S+)/.exec(server.out())?.[1] ?? ''
  const query = new URLSearchParams({ client_id: id, redirect_uri: `http://localhost:${port + 2}/callback` })
  const redirect = await get(`https://127.0.0.1:${port}/oauth/authorize?${query}`, TEST_CERTIFICATE)
  expect(redirect.location).toMatch(`https://127.0.0.1:${port + 1}/login?login_challenge=`)
  // The login server can show the page only if it trusts the auth service's certificate.
  const page = await get(redirect.location, TEST_CERTIFICATE)
  expect(page.body).toMatch(/id="address"[^]*id="sign-in"/)
})

test.each(['example.com', 'localhost.example.com', 'a b', 'user@localhost', '192.168.0.1', 'localhost/x'])(
  'The command start refuses a --host that could be another machine: %s',
  async (host) => {
    const { exit, err } = await run(['start', '--host', host, '--data', join(newFolder(), 'data')])
    expect(exit).toBe(2)
    expect(err).toContain('--host must be')
  },
)

test('The command serve --workers uses https in every worker, and on SIGHUP each worker loads a renewed certificate', async () => {
  const { folder, url, env } = await settingsOfServe({ GRANTOR_DRAIN_SECONDS: '0' })
  const server = launchForTest(['serve', '--workers', '2'], env)
  await server.printed('auth service is ready')
  // Each request has its own connection, so that both workers respond.
  const readyBy = (ca: string) => Promise.all([1, 2].map(async () => (await get(`${url}/health/ready`, ca)).status))
  expect(await readyBy(TEST_CERTIFICATE)).toEqual([200, 200])

  certificateIn(folder, RSA.cert, RSA.key)
  server.child.kill('SIGHUP')
  await expect.poll(() => server.out().match(/loaded a renewed certificate/g)?.length).toBe(2)
  expect(await readyBy(RSA.cert)).toEqual([200, 200])

  const ended = server.ended()
  server.child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})
