import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { exchangeWith, newDpopKey, refreshWith } from '../../../support/dpop.ts'
import { pushed } from '../../../support/pushed.ts'
import { countStoreCalls } from '../../../support/store-calls.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
let costOf: ReturnType<typeof countStoreCalls>

beforeAll(async () => {
  app = await startApp()
  costOf = countStoreCalls(app.grantor)
})
afterAll(() => app.close())

test('A code exchange costs one write to the store and no read', async () => {
  const code = await app.freshCode()
  expect(await costOf(() => app.walk.exchange(app.client, code))).toEqual({ writes: ['redeemCode'], reads: [] })
})

test('A refresh costs one write and no read, also if it is repeated or narrows the scope', async () => {
  const { refresh_token } = await app.freshTokens({ scope: 'enhancement profile' })
  for (const more of [{}, {}, { scope: 'profile' }]) {
    expect(await costOf(() => app.walk.refresh(app.client, refresh_token, more))).toEqual({
      writes: ['rotateRefreshToken'],
      reads: [],
    })
  }
})

test('A revocation of an access token or of a refresh token costs one write and no read', async () => {
  const tokens = await app.freshTokens()
  expect(await costOf(() => app.walk.revoke(app.client, tokens.access_token))).toEqual({
    writes: ['revokeAccessToken'],
    reads: [],
  })
  expect(await costOf(() => app.walk.revoke(app.client, tokens.refresh_token))).toEqual({ writes: ['endGrant'], reads: [] })
})

test('An introspection costs one read and no write', async () => {
  const { access_token } = await app.freshTokens()
  expect(await costOf(() => app.walk.introspect(app.client, access_token))).toEqual({
    writes: [],
    reads: ['readGrantValidity'],
  })
})

test('An authorization request with a session costs two reads and no write', async () => {
  expect(await costOf(() => app.walk.authorize(requestOf(app.client)))).toEqual({
    writes: [],
    reads: ['readSession', 'readEpoch'],
  })
})

test('A pushed request costs one write; its authorization request costs one more read, and one write if it gets a code', async () => {
  let query = { client_id: '', request_uri: '' }
  expect(await costOf(async () => (query = await pushed(app.walk, app.client)))).toEqual({ writes: ['push'], reads: [] })
  expect(await costOf(() => app.walk.authorize(query))).toEqual({
    writes: ['spendPushed'],
    reads: ['readPushed', 'readSession', 'readEpoch'],
  })
  expect(await costOf(() => app.walk.authorize(query))).toEqual({ writes: [], reads: ['readPushed'] })
})

test('An authorization request with a malformed request_uri costs no query', async () => {
  const query = { client_id: app.client.id, request_uri: 'urn:ietf:params:oauth:request_uri:forged' }
  expect(await costOf(() => app.walk.authorize(query))).toEqual({ writes: [], reads: [] })
})

test('The last use of a session is written at most once every ten minutes', async () => {
  app.grantor.clock.advance(600)
  expect((await costOf(() => app.freshCode())).writes).toEqual(['touchSession'])
  expect((await costOf(() => app.freshCode())).writes).toEqual([])
})

test('An authorization request under the consent rule signed costs three reads and no write', async () => {
  const signed = await app.grantor.createClient({ consent: 'signed' })
  await app.walk.signIn(requestOf(signed))
  expect(await costOf(() => app.freshCode({}, signed))).toEqual({
    writes: [],
    reads: ['readSession', 'readEpoch', 'listReceipts'],
  })
})

test('A client credentials token costs no query, its introspection one read, its revocation one read and one write, and one read and the confirmation if it is repeated', async () => {
  const own = await app.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
  const send = () => app.walk.token(own, { grant_type: 'client_credentials' })
  const { access_token } = tokensOf(await send())
  expect(await costOf(send)).toEqual({ writes: [], reads: [] })
  expect(await costOf(() => app.walk.introspect(own, access_token))).toEqual({ writes: [], reads: ['readSpent'] })
  expect(await costOf(() => app.walk.revoke(own, access_token))).toEqual({ writes: ['revokeClientToken'], reads: ['readSpent'] })
  // On PostgreSQL with a synchronous standby, requests share the confirmation. Otherwise it writes nothing.
  expect(await costOf(() => app.walk.revoke(own, access_token))).toEqual({ writes: ['confirmSpent'], reads: ['readSpent'] })
})

test('A token exchange costs one read, its introspection one read, and its revocation one read and one write', async () => {
  const api = 'https://api.example.com/'
  const own = await app.grantor.createClient({ redirectUris: [], resourceServer: app.grantor.authUrl, exchangeResources: [api] })
  const { access_token: subject } = await app.freshTokens()
  const form = { subject_token: subject, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token', resource: api }
  const send = (more = {}) => app.walk.token(own, { grant_type: TOKEN_EXCHANGE, ...form, ...more })
  const { access_token } = tokensOf(await send())
  expect(await costOf(send)).toEqual({ writes: [], reads: ['readGrantValidity'] })
  expect(await costOf(() => app.walk.introspect(own, access_token))).toEqual({ writes: [], reads: ['readGrantValidity'] })
  expect(await costOf(() => app.walk.revoke(own, access_token))).toEqual({ writes: ['revokeAccessToken'], reads: ['readGrant'] })
  for (const refused of [{ subject_token: 'x' }, { resource: 'https://files.example.com/' }, { scope: 'profile' }])
    expect(await costOf(() => send(refused)), 'a request that is refused for its content').toEqual({ writes: [], reads: [] })
})

test('Client authentication with private_key_jwt costs one more write, and none if the signature is wrong', async () => {
  const key = newClientKey()
  const own = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [key.jwk] } })
  const send = async (by = key) => {
    const assertion = await assertionOf(app.grantor, own.id, by)
    return () => post(app.grantor, '/oauth/revoke', { token: 'unknown', ...asserting(assertion) })
  }
  await (await send())()
  expect(await costOf(await send())).toEqual({ writes: ['spend'], reads: [] })
  expect(await costOf(await send(newClientKey()))).toEqual({ writes: [], reads: [] })
})

test('A DPoP proof costs one more write, and at a refresh one more read', async () => {
  const key = newDpopKey()
  const code = await app.freshCode()
  const exchange = async () => exchangeWith(app.walk, app.client, code, key, { code_verifier: '' })
  const { refresh_token } = tokensOf(await exchangeWith(app.walk, app.client, await app.freshCode(), key, { code_verifier: '' }))
  expect(await costOf(exchange)).toEqual({ writes: ['spend', 'redeemCode'], reads: [] })
  const refresh = () => refreshWith(app.walk, app.client, refresh_token, key)
  expect(await costOf(refresh)).toEqual({ writes: ['spend', 'rotateRefreshToken'], reads: ['readGrant'] })
})

test('A login costs two writes, receipt and session; the first login of an address costs one more, as does replacing a session', async () => {
  const login = () => app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
  expect((await costOf(login)).writes, 'includes the end of the browser’s earlier session').toEqual([
    'insertReceipt',
    'replaceSession',
    'startSession',
  ])
  const newcomer = new Walk(app.grantor, testWallet(2))
  const first = await costOf(() => newcomer.signIn(requestOf(app.client)))
  expect(first.writes).toEqual(['rememberProof', 'insertReceipt', 'startSession'])
  const second = await costOf(() => new Walk(app.grantor, testWallet(2)).signIn(requestOf(app.client)))
  expect(second.writes).toEqual(['insertReceipt', 'startSession'])
})

test('Requests with forged tokens and codes cost no query', async () => {
  const { access_token, refresh_token } = await app.freshTokens()
  const forged = (token: string): string => token.replace(/.{4}$/, 'AAAA')
  const nothing = { writes: [], reads: [] }
  expect(await costOf(() => app.walk.introspect(app.client, forged(access_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.revoke(app.client, forged(access_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.revoke(app.client, forged(refresh_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.refresh(app.client, forged(refresh_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.exchange(app.client, 'forged'))).toEqual(nothing)
})

test.each(['of a registered client', 'of an unknown one'])(
  'Repeated wrong secrets %s cost one look-up of the client per second',
  async (whose) => {
    const stranger = { id: whose === 'of an unknown one' ? randomUUID() : app.client.id, secret: 'x' }
    app.grantor.clock.advance(1)
    expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual(['readClient'])
    expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual([])
    app.grantor.clock.advance(1)
    expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual(['readClient'])
  },
)

test('Fifty simultaneous requests of a client after a change of its record cost one look-up of the client', async () => {
  await app.grantor.store.clients.changeClient(app.client.id, (client) => client)
  await app.grantor.noticeChanges()
  const { reads } = await costOf(() => Promise.all(Array.from({ length: 50 }, () => app.walk.introspect(app.client, 'x'))))
  expect(reads).toEqual(['readClient'])
})

test('Two hundred refreshes of one grant add no row', async () => {
  const rows = async (): Promise<number> => (await app.grantor.store.grants.listGrants({ limit: 10_000 })).length
  const before = await rows()
  let { refresh_token } = await app.freshTokens()
  for (let step = 0; step < 200; step++)
    refresh_token = (await app.walk.refresh(app.client, refresh_token)).json().refresh_token as string
  expect(await rows()).toBe(before + 1)
})
