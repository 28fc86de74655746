import { expect, test } from 'vitest'
import { pageHeaders } from '../../../src/pages/page-headers.ts'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { type LoginServer, type LoginServerSettings, startLoginServer } from './start-login-server.ts'

const SCRIPT = 'export const createWallet = () => {}'
const walletConnect = { projectId: '0123456789abcdef0123456789abcdef', relay: 'wss://relay.example.com', script: SCRIPT }
const PAGE = `/login?login_challenge=${OPEN_CHALLENGE}`

/** What `use` returns for a login server with these settings. */
async function at<T>(settings: LoginServerSettings, use: (server: LoginServer) => Promise<T>): Promise<T> {
  const server = await startLoginServer(settings)
  try {
    return await use(server)
  } finally {
    await server.close()
  }
}

/** Without the origin of the authorization server, which serves logos and has another port in each run. */
const policyOf = (response: Response): string[] =>
  (response.headers.get('content-security-policy') ?? '')
    .split('; ')
    .map((each) => each.replace(/^(img-src 'self' data:) .*/, '$1'))
const usual = pageHeaders({})['content-security-policy']?.split('; ') ?? []

test('Without its setting, WalletConnect is absent: no dialog, no script, no word, no address, and the policy of every other page', async () => {
  await at({}, async ({ url }) => {
    const response = await fetch(`${url}${PAGE}`)
    expect(await response.text()).not.toMatch(/walletconnect/i)
    expect(policyOf(response)).toEqual(usual)
    expect((await fetch(`${url}/login/walletconnect.js`)).status).toBe(404)
  })
})

test('With its setting, the policy of the login page also names the script, the style, the library and the relay, and nothing else', async () => {
  await at({ walletConnect }, async ({ url }) => {
    const response = await fetch(`${url}${PAGE}`)
    const [, address = ''] = /data-script="([^"]+)"/.exec(await response.text()) ?? []
    const added = policyOf(response).map((directive, index) => directive.replace(usual[index] ?? '', '').trim())
    expect(added).toEqual([
      '',
      expect.stringMatching(/^'sha256-[^ ]{44}' http:\/\/127\.0\.0\.1:\d+\/login\/walletconnect-[0-9a-f]{16}\.js$/),
      expect.stringMatching(/^'sha256-[^ ]{44}'$/),
      '',
      'wss://relay.example.com',
      '',
      '',
      '',
    ])
    expect(added[1]).toMatch(new RegExp(`${url}${address}$`))
  })
})

test('With its setting, no page except the login page has another policy', async () => {
  await at({ walletConnect }, async ({ url }) => {
    for (const path of ['/login', '/unknown', '/login?login_challenge=unknown'])
      expect(policyOf(await fetch(`${url}${path}`, { headers: { accept: 'text/html' } }))).toEqual(usual)
  })
})

test('The library is served at an address that names its text, for a year, compressed if the browser accepts it, and to GET only', async () => {
  await at({ walletConnect }, async ({ url }) => {
    const [address = ''] = /\/login\/walletconnect-[0-9a-f]+\.js/.exec(await (await fetch(`${url}${PAGE}`)).text()) ?? []
    for (const encoding of ['gzip', 'identity']) {
      const response = await fetch(`${url}${address}`, { headers: { 'accept-encoding': encoding } })
      expect(response.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null)
      expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(await response.text()).toBe(SCRIPT)
    }
    expect((await fetch(`${url}${address}`, { method: 'POST' })).status).toBe(405)
  })
})
