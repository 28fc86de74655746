/** The link of the QR code: short, opened like the whole challenge, of no use elsewhere, and stored nowhere. */
import { encodeQR } from 'qr'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareOn, offerOf, openUrl } from '../../../support/cross-device.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { encode, noticeOf, PKCE, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const REDIRECT_URI = 'https://notes.aurora.example/auth/callback?from=grantor'
const RESOURCE = 'https://api.aurora.example/notes/v1'
const THUMBPRINT = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'

let grantor: Grantor
let client: TestClient
beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({
    name: 'Aurora Notes',
    scopes: ['openid', 'profile', 'enhancement'],
    resources: [RESOURCE],
    redirectUris: ['https://app.example.net/callback', REDIRECT_URI],
  })
})
afterAll(() => grantor.close())

const REQUESTS = [
  {},
  { scope: 'openid profile', response_type: 'code', resource: RESOURCE },
  { login_hint: testWallet(2).address },
  { dpop_jkt: THUMBPRINT },
]

async function begin(more: Record<string, string> = {}): Promise<{ desktop: Walk; challenge: string; url: string }> {
  const desktop = new Walk(grantor)
  const challenge = await desktop.challenge(
    requestOf(client, { ...PKCE, state: 'of-the-desktop', redirect_uri: REDIRECT_URI, prompt: 'login', ...more }),
  )
  return { desktop, challenge, url: (await offerOf(desktop, challenge)).url }
}

/** ISO/IEC 18004 §5.1: a code of version V has 17 + 4 V modules on each side. The border is eight modules. */
const versionOf = (text: string) => (encodeQR(text, 'raw', { ecc: 'low', border: 4 }).length - 8 - 17) / 4

describe.for(REQUESTS)('The link of a request with %o', (more) => {
  test('has a QR code of version 10 at most, behind a host of 30 characters', async () => {
    const { url } = await begin(more)
    expect(versionOf(url.replace(grantor.authUrl, 'https://accounts.aurora.example'))).toBeLessThanOrEqual(10)
  })

  test('leads to the same sign-in as the whole challenge', async () => {
    const { challenge, url } = await begin(more)
    const whole = `${grantor.authUrl}/login/cross-device?${encode({ login_challenge: challenge })}`
    const described = await Promise.all(
      [url, whole].map(async (link) => {
        const phone = new Walk(grantor)
        const { resume_url: _, ...rest } = (await phone.describe(await compareOn(phone, link))).json()
        return rest
      }),
    )
    expect(described[0]).toEqual(described[1])
  })
})

test('1,000 open login pages whose codes nobody scans, and 20 scans without a signature, write no row', async () => {
  const before = await grantor.rows()
  const { desktop, challenge, url } = await begin()
  for (let page = 0; page < 1_000; page++) await desktop.describe(challenge)
  for (let scan = 0; scan < 20; scan++) expect((await openUrl(new Walk(grantor), url)).status).toBe(200)
  expect(await grantor.rows()).toEqual(before)
})

test('A short link is no login challenge: the login API and the end of a login refuse it', async () => {
  const { desktop, url } = await begin()
  const login_challenge = new URL(url).search.slice(1)
  expect((await desktop.describe(login_challenge)).status).toBe(400)
  const end = await desktop.browse({ path: `/login/cross-device/complete?${encode({ login_challenge })}` })
  expect([end.status, noticeOf(end)]).toEqual([400, 'broken_link'])
})

test('A link that was changed, or that names another client, is broken', async () => {
  const { url } = await begin()
  const other = await grantor.createClient()
  const bytes = Buffer.from(new URL(url).search.slice(1), 'base64url')
  const flipped = Buffer.from(bytes)
  flipped[bytes.length - 1] = (flipped[bytes.length - 1] ?? 0) ^ 1
  const ofOther = Buffer.concat([bytes.subarray(0, 1), Buffer.from(other.id.replaceAll('-', ''), 'hex'), bytes.subarray(17)])
  for (const changed of [flipped, ofOther, bytes.subarray(0, 20), Buffer.alloc(0)]) {
    const answer = await openUrl(new Walk(grantor), `${grantor.authUrl}/phone?${changed.toString('base64url')}`)
    expect([answer.status, noticeOf(answer)]).toEqual([400, 'broken_link'])
  }
})

test('Parameters that the browser of an app adds do not matter', async () => {
  const { url } = await begin()
  expect((await openUrl(new Walk(grantor), `${url}&utm_source=wallet`)).status).toBe(200)
})

test('A link no longer opens after the redirect URIs of the client changed', async () => {
  const { url } = await begin()
  await changeClient(grantor, client, { redirectUris: [REDIRECT_URI] })
  const answer = await openUrl(new Walk(grantor), url)
  expect([answer.status, noticeOf(answer)]).toEqual([400, 'broken_link'])
})
