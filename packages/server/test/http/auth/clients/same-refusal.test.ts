import { expect } from 'vitest'
import type { App } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { rawExchange } from '../../../support/send.ts'
import { basic } from '../../../support/walk.ts'

const test = base
  .extend('postClient', FILE, ({ app }) => app.grantor.createClient({ authMethod: 'client_secret_post' }))
  .extend('disabled', FILE, async ({ app }) => {
    const disabled = await app.grantor.createClient()
    await app.grantor.store.clients.replaceClient({ ...disabled, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    return disabled
  })

const WRONG_SECRET = 'w'.repeat(43)
const UNKNOWN_ID = '6d0a4a05-5b6e-4c1e-9d5c-0a4f6e0a4a05'

/** The whole response as the server sent it, without the fields Date and X-Request-Id. */
async function answerTo(app: App, path: string, authorization: string | null, body: string): Promise<string> {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(app.grantor.authUrl).host}`,
    'Connection: close',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    ...(authorization ? [`Authorization: ${authorization}`] : []),
  ]
  const answer = await rawExchange(app.grantor.authUrl, `${head.join('\r\n')}\r\n\r\n${body}`)
  return answer.replace(/^(?:Date|X-Request-Id): .*\r\n/gim, '')
}

test.for(['/oauth/token', '/oauth/introspect', '/oauth/revoke'])(
  'An unknown client, a disabled client and a wrong secret get the same bytes, so they cannot be told apart: %s',
  async (path, { app, postClient, disabled }) => {
    const body = 'grant_type=authorization_code&code=x&redirect_uri=y&token=z'
    const wrongSecret = await answerTo(app, path, basic(app.client.id, WRONG_SECRET), body)
    const others = [
      await answerTo(app, path, basic(UNKNOWN_ID, WRONG_SECRET), body),
      await answerTo(app, path, basic('not even a UUID', WRONG_SECRET), body),
      await answerTo(app, path, basic(disabled.id, disabled.secret), body),
      await answerTo(app, path, basic(disabled.id, WRONG_SECRET), body),
      await answerTo(app, path, 'Basic !!!', body),
      await answerTo(app, path, null, body),
      await answerTo(app, path, null, `${body}&client_id=${postClient.id}&client_secret=${WRONG_SECRET}`),
      await answerTo(app, path, null, `${body}&client_id=${UNKNOWN_ID}&client_secret=${WRONG_SECRET}`),
      await answerTo(app, path, null, `${body}&client_id=${UNKNOWN_ID}`),
      await answerTo(app, path, null, `${body}&client_id=${app.client.id}`),
    ]
    expect(wrongSecret).toMatch(/^HTTP\/1\.1 401 /)
    for (const other of others) expect(other).toBe(wrongSecret)
  },
)

test('The audit log distinguishes a wrong secret, an unknown client and missing credentials', async ({ app }) => {
  app.grantor.events.length = 0
  await answerTo(app, '/oauth/revoke', basic(app.client.id, WRONG_SECRET), 'token=z')
  await answerTo(app, '/oauth/revoke', basic(UNKNOWN_ID, WRONG_SECRET), 'token=z')
  await answerTo(app, '/oauth/revoke', null, 'token=z')
  expect(app.grantor.events.map(({ reason }) => reason)).toEqual([
    'secret_wrong',
    'client_unknown_or_disabled',
    'credentials_absent',
  ])
})
