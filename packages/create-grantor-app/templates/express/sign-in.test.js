import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { startTestGrantor } from '@grantor/testing'
import registration from './grantor.json' with { type: 'json' }
import { createApp } from './server.js'

let grantor
let server
let url
before(async () => {
  grantor = await startTestGrantor(registration)
  const { clientId, clientSecret } = grantor.client()
  const app = createApp({
    issuer: grantor.issuer,
    clientId,
    clientSecret,
    appUrl: 'http://localhost:3000',
    sessionSecret: 'a secret of this test',
  })
  server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${server.address().port}`
})
after(async () => {
  server.close()
  await grantor.stop()
})

test('no user is signed in at first', async () => {
  assert.deepEqual(await (await fetch(`${url}/me`)).json(), { wallet: null })
})

test('the sign-in leads to the login page of Grantor', async () => {
  const page = await fetch(`${url}/login`)
  assert.equal(page.status, 200)
  assert.equal(new URL(page.url).origin, grantor.loginUrl)
  assert.match(await page.text(), /my-grantor-app/)
})
