import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp, tokensOf } from '../support/app.ts'
import { asserting, assertionOf, newClientKey, post } from '../support/client-key.ts'
import { newDpopKey } from '../support/dpop.ts'
import { exchangeWith, refreshWith } from '../support/dpop-app.ts'
import { pushed } from '../support/pushed.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

/** What only looks; everything else a store can be asked may write. */
const READS = /^(read|list)/

let app: App
/** what the store was asked, in order */
let asked: string[] = []

beforeAll(async () => {
  app = await startApp()
  for (const book of ['grants', 'wallets', 'sessions', 'receipts', 'clients', 'keys', 'spent', 'pushedRequests'] as const)
    countCalls(app.grantor.store[book])
})
afterAll(() => app.close())

/** Notes each call of a port's methods; they are the real ones. */
function countCalls(port: object): void {
  const methods = port as Record<string, (...args: unknown[]) => unknown>
  for (const [name, method] of Object.entries(methods)) {
    methods[name] = (...args) => {
      asked.push(name)
      return method(...args)
    }
  }
}

async function costOf(ask: () => Promise<unknown>): Promise<{ writes: string[]; reads: string[] }> {
  asked = []
  await ask()
  return { writes: asked.filter((name) => !READS.test(name)), reads: asked.filter((name) => READS.test(name)) }
}

test('redeeming a code is one write, whose transaction reads the epoch', async () => {
  const code = await app.freshCode()
  expect(await costOf(() => app.walk.exchange(app.client, code))).toEqual({ writes: ['redeemCode'], reads: [] })
})

test('a refresh is one write, narrowed or repeated or not', async () => {
  const { refresh_token } = await app.freshTokens({ scope: 'enhancement profile' })
  for (const more of [{}, {}, { scope: 'profile' }]) {
    expect(await costOf(() => app.walk.refresh(app.client, refresh_token, more))).toEqual({
      writes: ['rotateRefreshToken'],
      reads: [],
    })
  }
})

test('revoking a token of either kind is one write', async () => {
  const tokens = await app.freshTokens()
  expect(await costOf(() => app.walk.revoke(app.client, tokens.access_token))).toEqual({
    writes: ['revokeAccessToken'],
    reads: [],
  })
  expect(await costOf(() => app.walk.revoke(app.client, tokens.refresh_token))).toEqual({ writes: ['endGrant'], reads: [] })
})

test('an introspection is one read', async () => {
  const { access_token } = await app.freshTokens()
  expect(await costOf(() => app.walk.introspect(app.client, access_token))).toEqual({ writes: [], reads: ['readGrant'] })
})

test('an authorize request with a session is two reads, and writes nothing', async () => {
  expect(await costOf(() => app.walk.authorize(requestOf(app.client)))).toEqual({
    writes: [],
    reads: ['readSession', 'readEpoch'],
  })
})

test('a pushed request is one write; coming with it costs one read more, and its code one write', async () => {
  let query = { client_id: '', request_uri: '' }
  expect(await costOf(async () => (query = await pushed(app.walk, app.client)))).toEqual({ writes: ['push'], reads: [] })
  expect(await costOf(() => app.walk.authorize(query))).toEqual({
    writes: ['spendPushed'],
    reads: ['readPushed', 'readSession', 'readEpoch'],
  })
  expect(await costOf(() => app.walk.authorize(query))).toEqual({ writes: [], reads: ['readPushed'] })
})

test('a request_uri that nobody was given costs no query where it is malformed', async () => {
  const query = { client_id: app.client.id, request_uri: 'urn:ietf:params:oauth:request_uri:forged' }
  expect(await costOf(() => app.walk.authorize(query))).toEqual({ writes: [], reads: [] })
})

test('a visit is written down once every ten minutes', async () => {
  app.grantor.clock.advance(600)
  expect((await costOf(() => app.freshCode())).writes).toEqual(['touchSession'])
  expect((await costOf(() => app.freshCode())).writes).toEqual([])
})

test('under consent rule signed it is three reads, and writes nothing', async () => {
  const signed = await app.grantor.createClient({ consent: 'signed' })
  await app.walk.signIn(requestOf(signed))
  expect(await costOf(() => app.freshCode({}, signed))).toEqual({
    writes: [],
    reads: ['readSession', 'readEpoch', 'listReceipts'],
  })
})

test('a client’s own token costs no query, its introspection one read, its revocation one write', async () => {
  const own = await app.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
  const ask = () => app.walk.token(own, { grant_type: 'client_credentials' })
  const { access_token } = tokensOf(await ask())
  expect(await costOf(ask)).toEqual({ writes: [], reads: [] })
  expect(await costOf(() => app.walk.introspect(own, access_token))).toEqual({ writes: [], reads: ['readSpent'] })
  expect(await costOf(() => app.walk.revoke(own, access_token))).toEqual({ writes: ['spend'], reads: [] })
})

test('a client that proves itself by its key costs one write more, and a stranger in its name none', async () => {
  const key = newClientKey()
  const own = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [key.jwk] } })
  const ask = async (by = key) => {
    const assertion = await assertionOf(app.grantor, own.id, by)
    return () => post(app.grantor, '/oauth/revoke', { token: 'unknown', ...asserting(assertion) })
  }
  await (await ask())()
  expect(await costOf(await ask())).toEqual({ writes: ['spend'], reads: [] })
  expect(await costOf(await ask(newClientKey()))).toEqual({ writes: [], reads: [] })
})

test('a proof of a key costs one write more; at a refresh one read too, to see first that the request holds', async () => {
  const key = newDpopKey()
  const code = await app.freshCode()
  const exchange = async () => exchangeWith(app.walk, app.client, code, key, { code_verifier: '' })
  const { refresh_token } = tokensOf(await exchangeWith(app.walk, app.client, await app.freshCode(), key, { code_verifier: '' }))
  expect(await costOf(exchange)).toEqual({ writes: ['spend', 'redeemCode'], reads: [] })
  const refresh = () => refreshWith(app.walk, app.client, refresh_token, key)
  expect(await costOf(refresh)).toEqual({ writes: ['spend', 'rotateRefreshToken'], reads: ['readGrant'] })
})

test('a login is two writes, the receipt and the session; the first of an address notes once more that it proved itself', async () => {
  const login = () => app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
  expect((await costOf(login)).writes, 'and ends the session that the browser had').toEqual([
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

test('forged tokens cost no query', async () => {
  const { access_token, refresh_token } = await app.freshTokens()
  const forged = (token: string): string => token.replace(/.{4}$/, 'AAAA')
  const nothing = { writes: [], reads: [] }
  expect(await costOf(() => app.walk.introspect(app.client, forged(access_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.revoke(app.client, forged(access_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.revoke(app.client, forged(refresh_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.refresh(app.client, forged(refresh_token)))).toEqual(nothing)
  expect(await costOf(() => app.walk.exchange(app.client, 'forged'))).toEqual(nothing)
})

test.each(['of a registered client', 'of an unknown one'])('a wrong secret %s costs one look-up a second', async (whose) => {
  const stranger = { id: whose === 'of an unknown one' ? randomUUID() : app.client.id, secret: 'x' }
  app.grantor.clock.advance(1)
  expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual(['readClient'])
  expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual([])
  app.grantor.clock.advance(1)
  expect((await costOf(() => app.walk.revoke(stranger, 'x'))).reads).toEqual(['readClient'])
})

test('clients come from memory: 50 requests at once after a change are one look-up', async () => {
  await app.grantor.store.clients.changeClient(app.client.id, (client) => client)
  await app.grantor.noticeChanges()
  const { reads } = await costOf(() => Promise.all(Array.from({ length: 50 }, () => app.walk.introspect(app.client, 'x'))))
  expect(reads).toEqual(['readClient'])
})

test('rows grow with grants, not with tokens: 200 refreshes add none', async () => {
  const rows = async (): Promise<number> => (await app.grantor.store.grants.listGrants({ at: 0, limit: 10_000 })).length
  const before = await rows()
  let { refresh_token } = await app.freshTokens()
  for (let step = 0; step < 200; step++)
    refresh_token = (await app.walk.refresh(app.client, refresh_token)).json().refresh_token as string
  expect(await rows()).toBe(before + 1)
})
