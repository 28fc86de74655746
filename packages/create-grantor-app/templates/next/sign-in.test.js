import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startTestGrantor } from '@grantor/testing'
import registration from './grantor.json' with { type: 'json' }

const URL_OF_APP = 'http://localhost:3000'

let grantor
let app
before(async () => {
  grantor = await startTestGrantor(registration)
  const { clientId, clientSecret } = grantor.client()
  const credentials = { ISSUER: grantor.issuer, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }
  app = spawn('next', ['dev', '--port', '3000'], { env: { ...process.env, ...credentials }, detached: true })
  while (!(await fetch(URL_OF_APP).catch(() => null))) await pause(200)
})
after(async () => {
  process.kill(-app.pid, 'SIGTERM')
  await once(app, 'close')
  await grantor.stop()
})

test('no user is signed in at first', async () => {
  assert.deepEqual(await (await fetch(`${URL_OF_APP}/api/auth/session`)).json(), {})
})

test('the sign-in leads to Grantor, which accepts the request', async () => {
  const csrf = await fetch(`${URL_OF_APP}/api/auth/csrf`)
  const cookie = csrf.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const { csrfToken } = await csrf.json()
  const body = new URLSearchParams({ csrfToken, json: 'true' })
  const answer = await fetch(`${URL_OF_APP}/api/auth/signin/grantor`, { method: 'POST', headers: { cookie }, body })
  const page = await fetch((await answer.json()).url)
  assert.equal(new URL(page.url).origin, grantor.loginUrl)
  assert.match(await page.text(), /my-grantor-app/)
})
