import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestGrantor } from '@grantor/testing'
import registration from './grantor.json' with { type: 'json' }
import { createApp } from './server.js'

let grantor
let app
before(async () => {
  grantor = await startTestGrantor(registration)
  const { clientId } = grantor.client()
  app = createApp({ issuer: grantor.issuer, clientId, appUrl: 'http://localhost:3000', now: grantor.clock.now })
})
after(() => grantor.stop())

const readNotes = (token) => app.request('/api/notes', { headers: token ? { authorization: `Bearer ${token}` } : {} })

test('the API shows the notes of the wallet that signed in', async () => {
  const [wallet] = grantor.wallets
  const { access_token } = await grantor.tokenFor({ wallet, scope: 'openid notes.read' })
  const answer = await readNotes(access_token)
  assert.equal(answer.status, 200)
  assert.equal((await answer.json()).wallet, wallet.address)
})

test('the API refuses a call without a token, and a token that has expired', async () => {
  assert.equal((await readNotes()).status, 401)
  const { access_token, expires_in } = await grantor.tokenFor({ scope: 'openid notes.read' })
  grantor.clock.advance(expires_in + 1)
  assert.equal((await readNotes(access_token)).status, 401)
})
