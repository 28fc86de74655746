/** The programs on TLS of their own: no proxy between them and a browser. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fiveInARow, freePorts } from '../../support/free-ports.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../support/tls-certificate.ts'
import { RSA } from '../../support/tls-certificates.ts'
import { launched, newFolder, run } from '../run.ts'

function certificateIn(
  folder: string,
  cert: string,
  key: string,
): { GRANTOR_TLS_CERT_FILE: string; GRANTOR_TLS_KEY_FILE: string } {
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  return { GRANTOR_TLS_CERT_FILE: join(folder, 'cert.pem'), GRANTOR_TLS_KEY_FILE: join(folder, 'key.pem') }
}

/** The settings of `serve` with the first of two certificates, and its tables. */
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

type Got = { status: number; body: string; cookies: string[]; location: string }

/** `ca`: the certificate that is believed, and no other. */
function get(url: string, ca: string, headers: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { ca, agent: false, headers, family: 4 }, (answer) => {
      let body = ''
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()))
      const { location = '', 'set-cookie': cookies = [] } = answer.headers
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body, cookies, location }))
    })
    asking.on('error', reject).end()
  })
}

test('serve speaks https, with __Host- cookies, and takes up a renewed certificate at SIGHUP', async () => {
  const { folder, url, env } = await settingsOfServe()
  const { out } = await run(
    ['clients', 'create', '--name', 'A', '--redirect-uri', 'https://app.example.com/cb', '--json'],
    env,
    Math.floor(Date.now() / 1000),
  )
  const one = launched(['serve'], env)
  await one.printed('auth service is ready')
  const query = new URLSearchParams({
    client_id: (JSON.parse(out) as { client_id: string }).client_id,
    redirect_uri: 'https://app.example.com/cb',
  })
  const answer = await get(`${url}/oauth/authorize?${query}`, TEST_CERTIFICATE)
  expect(answer.status).toBe(302)
  expect(answer.cookies).toEqual([expect.stringMatching(/^__Host-grantor_browser=.*; Secure$/)])
  await expect(get(`${url}/health/ready`, RSA.cert)).rejects.toThrow()

  certificateIn(folder, RSA.cert, RSA.key)
  one.child.kill('SIGHUP')
  await one.printed('loaded a renewed certificate')
  expect((await get(`${url}/health/ready`, RSA.cert)).status).toBe(200)
  await expect(get(`${url}/health/ready`, TEST_CERTIFICATE)).rejects.toThrow()

  const ended = one.ended()
  one.child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

test('start speaks https too, and signs in by its forms under a name of its own', async () => {
  const folder = newFolder()
  const port = await fiveInARow()
  const one = launched(['start', '--ports', String(port), '--data', join(folder, 'data'), '--host', '127.0.0.1'], {
    ...certificateIn(folder, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY),
  })
  await one.printed('Ctrl-C stops everything')
  const id = / client_id +(\S+)/.exec(one.out())?.[1] ?? ''
  const query = new URLSearchParams({ client_id: id, redirect_uri: `http://localhost:${port + 2}/callback` })
  const asked = await get(`https://127.0.0.1:${port}/oauth/authorize?${query}`, TEST_CERTIFICATE)
  expect(asked.location).toMatch(`https://127.0.0.1:${port + 1}/login?login_challenge=`)
  // The page is there only if the login server believes the auth service's certificate.
  const page = await get(asked.location, TEST_CERTIFICATE)
  expect(page.body).toMatch(/id="address"[^]*id="sign-in"/)
})

test.each(['example.com', 'localhost.example.com', 'a b', 'user@localhost', '192.168.0.1', 'localhost/x'])(
  'start takes no name that could be another machine’s: --host %s',
  async (host) => {
    const { exit, err } = await run(['start', '--host', host, '--data', join(newFolder(), 'data')])
    expect(exit).toBe(2)
    expect(err).toContain('--host must be')
  },
)

test('serve --workers speaks https in every worker, and SIGHUP takes up a renewed certificate in each', async () => {
  const { folder, url, env } = await settingsOfServe({ GRANTOR_DRAIN_SECONDS: '0' })
  const all = launched(['serve', '--workers', '2'], env)
  await all.printed('auth service is ready')
  // A connection each, so that both are asked.
  const readyBy = (ca: string) => Promise.all([1, 2].map(async () => (await get(`${url}/health/ready`, ca)).status))
  expect(await readyBy(TEST_CERTIFICATE)).toEqual([200, 200])

  certificateIn(folder, RSA.cert, RSA.key)
  all.child.kill('SIGHUP')
  await expect.poll(() => all.out().match(/loaded a renewed certificate/g)?.length).toBe(2)
  expect(await readyBy(RSA.cert)).toEqual([200, 200])

  const ended = all.ended()
  all.child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})
