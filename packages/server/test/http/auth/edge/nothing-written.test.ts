/** Requests without a proof or a session write no row. Otherwise unauthenticated requests could fill the database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pack } from '../../../../src/store/packed.ts'
import type { Rows } from '../../../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { PKCE, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let clients: TestClient[]

beforeAll(async () => {
  grantor = await startGrantor()
  clients = [
    await grantor.createClient(),
    await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.net/cb'] }),
    await grantor.createClient({ type: 'native', redirectUris: ['com.example.app:/cb'] }),
  ]
  await new Walk(grantor).signIn(requestOf(clients[0] as TestClient))
})
afterAll(() => grantor.close())

test('200 unauthenticated authorization requests leave the rows of the database unchanged', async () => {
  const before = await grantor.rows()
  expect(before.sessions).toHaveLength(1)
  const variations = [
    {},
    { prompt: 'login' },
    { prompt: 'none' },
    { scope: 'unknown' },
    { state: 'x'.repeat(500) },
    { redirect_uri: 'https://evil.example/' },
    { client_id: 'nobody' },
    { response_type: 'code' },
  ]
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      const walk = new Walk(grantor)
      if (i % 3 === 0) walk.cookies.set('grantor_session', Buffer.alloc(32, i).toString('base64url'))
      if (i % 5 === 0) walk.cookies.set('grantor_browser', Buffer.alloc(32, i).toString('base64url'))
      return walk.authorize(requestOf(clients[i % 3] as TestClient, { ...PKCE, ...variations[i % variations.length] }))
    }),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302, 400]))
  expect(await grantor.rows()).toEqual(before)
})

/** The new rows of each table that has new rows. */
function newRows(before: Rows, after: Rows): Rows {
  const known = new Set(Object.values(before).flatMap((rows) => rows.map((row) => JSON.stringify(row))))
  const fresh = Object.entries(after).map(([table, rows]) => [table, rows.filter((row) => !known.has(JSON.stringify(row)))])
  return Object.fromEntries(fresh.filter(([, rows]) => rows?.length))
}

describe('Rows before and after the proof', () => {
  test('A login that requests its text, fails, and is declined writes no row, not even for the address', async () => {
    const before = await grantor.rows()
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(clients[0] as TestClient))
    for (const index of [0, 1, 2] as const) {
      const claim = { login_challenge: challenge, address: testWallet(index).address, chain_id: 1 }
      expect((await walk.loginApi('/login/message', claim)).status).toBe(200)
      expect((await walk.loginApi('/login/accept', { ...claim, signature: `0x${'12'.repeat(65)}` })).status).toBe(401)
      expect((await walk.loginApi('/login/accept', { ...claim, signature: 'nonsense' })).status).toBe(400)
      expect((await walk.loginApi('/login/accept', claim)).status).toBe(403)
    }
    expect((await walk.complete(await walk.reject(challenge))).status).toBe(200)
    expect(await grantor.rows()).toEqual(before)
  })

  test('A proof writes the receipt, its audit line and, the first time, the wallet; the session is written only when the browser returns', async () => {
    const walk = new Walk(grantor, testWallet(1))
    const client = clients[0] as TestClient
    const [wallet, clientId] = [walk.wallet.address, client.id].map((text) => new Uint8Array(pack(text)))
    const before = await grantor.rows()
    const first = await walk.prove(await walk.challenge(requestOf(client)))
    const after = await grantor.rows()
    expect(newRows(before, after)).toEqual({
      wallets: [{ address: wallet, epoch: 0, proved_itself: 1 }],
      receipts: [expect.objectContaining({ wallet, client_id: clientId, withdrawn_at: null })],
      audit_head: [expect.anything()],
      audit_writers: [expect.anything()],
      audit_lines: [expect.objectContaining({ event: 'wallet_proved', wallet, client_id: clientId })],
    })
    await walk.prove(await walk.challenge(requestOf(client)))
    expect(Object.keys(newRows(after, await grantor.rows()))).toEqual(['audit_head', 'audit_lines', 'audit_writers', 'receipts'])
    await walk.complete(first)
    expect(newRows(after, await grantor.rows()).sessions).toEqual([expect.objectContaining({ wallet })])
  })

  test('Opening a login on another device, and requesting account pages without a session, write no row', async () => {
    const before = await grantor.rows()
    const challenge = await new Walk(grantor).challenge(requestOf(clients[0] as TestClient))
    const walk = new Walk(grantor)
    expect((await walk.browse({ path: `/login/resume?login_challenge=${challenge}` })).status).toBe(302)
    expect((await walk.browse({ path: '/account' })).status).toBe(302)
    expect((await walk.browse({ path: '/account/end-everything' })).status).toBe(200)
    expect((await walk.postForm('/account/end-everything', {})).status).toBe(200)
    expect((await walk.postForm('/account/apps/end', { client_id: clients[0]?.id ?? '' })).status).toBe(401)
    expect((await walk.postForm('/account/sessions/end-others', {})).status).toBe(401)
    expect((await walk.postForm('/account/sign-out', {})).status).toBe(401)
    expect(await grantor.rows()).toEqual(before)
  })

  test('Issuing a code writes no row', async () => {
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(clients[0] as TestClient))
    const before = await grantor.rows()
    for (let i = 0; i < 20; i += 1)
      expect((await walk.authorize(requestOf(clients[0] as TestClient))).location).toContain('?code=')
    expect(await grantor.rows()).toEqual(before)
  })
})
