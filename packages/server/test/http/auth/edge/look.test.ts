/** The operator's look on both servers. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { PLATFORM_LOGO, readLogo } from '../../../../src/config/look/logo.ts'
import { test as base } from '../../../support/fixtures.ts'
import { pngLogo } from '../../../support/pictures.ts'

const read = readLogo(pngLogo({ width: 200, height: 50 }), PLATFORM_LOGO)
if ('fault' in read) throw new Error(read.fault)
const { logo } = read
const test = base.extend('options', { look: { name: 'Aurora Pay', accentColor: '#0b2a6f', logo } })

test('Both servers serve the logo at the address of its hash, as a picture that may be kept for ever and that can run nothing', async ({
  app,
}) => {
  for (const origin of [app.grantor.authUrl, app.grantor.loginUrl]) {
    const answer = await fetch(`${origin}/logos/${logo.hash}`)
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    })
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(logo.bytes)
  }
})

test('There is nothing at the address of another hash, and no method but GET and HEAD', async ({ app }) => {
  for (const origin of [app.grantor.authUrl, app.grantor.loginUrl]) {
    for (const hash of ['0'.repeat(64), 'x', `${logo.hash}0`, '..%2f..%2fetc%2fpasswd'])
      expect((await fetch(`${origin}/logos/${hash}`)).status).toBe(404)
    expect((await fetch(`${origin}/logos/${logo.hash}`, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`${origin}/logos/${logo.hash}`, { method: 'HEAD' })).status).toBe(200)
  }
})

test('Every page of both servers has the name of the platform, and its policy allows the style of the accent colour', async ({
  app,
}) => {
  const { authUrl, loginUrl } = app.grantor
  const pages = [
    `${authUrl}/account`,
    `${authUrl}/oauth/authorize`,
    `${authUrl}/nothing`,
    `${authUrl}/device`,
    `${authUrl}/login/complete`,
    `${authUrl}/login/resume?login_challenge=x`,
    `${authUrl}/account/end-everything`,
    `${loginUrl}/login?login_challenge=x`,
    `${loginUrl}/nothing`,
  ]
  for (const page of pages) {
    const answer = await fetch(page, {
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    })
    const text = await answer.text()
    const [, style] = /<\/style><style>([^<]*)<\/style>/.exec(text) ?? []
    expect([page, style?.slice(0, 22)]).toEqual([page, ':root{--accent:#0b2a6f'])
    expect(text).toContain('<bdi>Aurora Pay</bdi>')
    const hash = createHash('sha256')
      .update(style ?? '')
      .digest('base64')
    expect(answer.headers.get('content-security-policy')).toContain(`'sha256-${hash}'`)
  }
})
