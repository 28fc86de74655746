/** The cost of signed consent in store calls and signature recoveries, per request. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { verifyPlainSignature } from '../../../../src/protocol/wallet/signature.ts'
import type { App } from '../../../support/app.ts'
import { startSignedApp } from '../../../support/signed-app.ts'
import { countStoreCalls } from '../../../support/store-calls.ts'
import { redirectPath, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

// a spy on the real function: each call is at most one recovery
vi.mock('../../../../src/protocol/wallet/signature.ts', { spy: true })

let app: App
let storeCostOf: ReturnType<typeof countStoreCalls>

beforeAll(async () => {
  app = await startSignedApp()
  storeCostOf = countStoreCalls(app.grantor)
})
afterAll(() => app.close())

async function costOf(send: () => Promise<unknown>) {
  vi.mocked(verifyPlainSignature).mockClear()
  const cost = await storeCostOf(send)
  return { ...cost, recoveries: vi.mocked(verifyPlainSignature).mock.calls.length }
}

/** The cost of each step of one login. */
async function loginCosts(walk: Walk, scope?: string) {
  const challenge = await walk.challenge(requestOf(app.client, { scope: 'enhancement profile', prompt: 'login' }))
  const message = await costOf(() =>
    walk.loginApi('/login/message', { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }),
  )
  const proof = await walk.proof(challenge, walk.wallet, scope)
  let path = ''
  const accept = await costOf(async () => {
    path = redirectPath(await walk.loginApi('/login/accept', proof))
  })
  const complete = await costOf(() => walk.complete(path))
  return { message, accept, complete }
}

let walk: Walk
beforeEach(() => {
  walk = new Walk(app.grantor)
})

test('The first login of an address costs one signature recovery and three writes', async () => {
  const { message, accept, complete } = await loginCosts(walk)
  expect(message).toEqual({ writes: [], reads: [], recoveries: 0 })
  expect(accept).toMatchObject({ writes: ['rememberProof', 'insertReceipt'], recoveries: 1 })
  expect(complete).toMatchObject({ writes: ['startSession'], recoveries: 0 })
})

test('Each later login of an address costs one signature recovery and two writes', async () => {
  const { accept, complete } = await loginCosts(walk)
  expect(accept).toEqual({
    writes: ['insertReceipt'],
    reads: ['readWallet', 'readSession', 'readPushed'],
    recoveries: 1,
  })
  expect(complete).toEqual({ writes: ['startSession'], reads: ['readSession', 'readPushed', 'readEpoch'], recoveries: 0 })
})

test('A login with a scope switched off costs two writes, and a third if it replaces a session', async () => {
  const fresh = new Walk(app.grantor, testWallet(1))
  await loginCosts(fresh, 'profile')
  const { accept, complete } = await loginCosts(fresh, 'profile')
  expect([accept.writes, complete.writes]).toEqual([['insertReceipt'], ['replaceSession', 'startSession']])
})

test('A wrong signature costs one recovery, one read and no write', async () => {
  const challenge = await walk.challenge(requestOf(app.client))
  const proof = { ...(await walk.proof(challenge)), signature: testWallet(2).sign('something else') }
  expect(await costOf(() => walk.loginApi('/login/accept', proof))).toEqual({ writes: [], reads: ['readWallet'], recoveries: 1 })
})

test('A malformed or too long proof, or one for an address or a chain that is not allowed, costs no query and no recovery', async () => {
  const challenge = await walk.challenge(requestOf(app.client))
  const proof = await walk.proof(challenge)
  const nothing = { writes: [], reads: [], recoveries: 0 }
  for (const wrong of [
    { signature: `0x${'ab'.repeat(4096)}` },
    { address: `0x${'0'.repeat(40)}` },
    { address: proof.address?.toString().replace('f', 'F') },
    { chain_id: 5 },
    { scope: 'admin' },
    { login_challenge: `${challenge.slice(0, -1)}${challenge.endsWith('A') ? 'B' : 'A'}` },
  ]) {
    expect([wrong, await costOf(() => walk.loginApi('/login/accept', { ...proof, ...wrong }))]).toEqual([wrong, nothing])
  }
})

test('An authorization request under the consent rule signed costs three reads, also after the other sessions were ended', async () => {
  await walk.signIn(requestOf(app.client))
  const authorize = () => walk.authorize(requestOf(app.client))
  const reads = ['readSession', 'readEpoch', 'listReceipts']
  expect(await costOf(authorize)).toEqual({ writes: [], reads, recoveries: 0 })
  await walk.postForm('/account/sessions/end-others', {})
  expect(await costOf(authorize)).toEqual({ writes: [], reads, recoveries: 0 })
})

test('A code exchange and a refresh cost one write each and no signature recovery', async () => {
  const { code } = await walk.signIn(requestOf(app.client))
  let refreshToken = ''
  expect(
    await costOf(async () => {
      refreshToken = (await walk.exchange(app.client, code)).json().refresh_token as string
    }),
  ).toEqual({ writes: ['redeemCode'], reads: [], recoveries: 0 })
  expect(await costOf(() => walk.refresh(app.client, refreshToken))).toEqual({
    writes: ['rotateRefreshToken'],
    reads: [],
    recoveries: 0,
  })
})

test('Resuming a login on another device costs no query and no signature recovery', async () => {
  const challenge = await walk.challenge(requestOf(app.client))
  const open = () => new Walk(app.grantor).browse({ path: `/login/resume?login_challenge=${challenge}` })
  expect(await costOf(open)).toEqual({ writes: [], reads: [], recoveries: 0 })
})
