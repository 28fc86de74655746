/** The store cannot be read or written: 503 and a page that says so, never the login page, never a code, never a session. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { isDoneWithin } from '../support/attempts.ts'
import { pushed } from '../support/pushed.ts'
import { allRows } from '../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, fieldOf, noticeOf, PKCE, requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let native: TestClient
let walk: Walk

beforeEach(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
  native = await grantor.createClient({ type: 'native', redirectUris: ['com.example.app:/cb'] })
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterEach(() => grantor.close())

function unavailable(answer: Answer): void {
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toMatch(/^[1-9][0-9]*$/)
  expect(answer.headers).toMatchObject(pageHeaders())
  expect(answer.headers).not.toHaveProperty('location')
  expect(answer.headers).not.toHaveProperty('set-cookie')
  expect(noticeOf(answer)).toBe('unavailable')
  expect(answer.body).not.toContain('code=')
  expect(answer.body).not.toMatch(/sqlite|database is|\.ts\b/i)
}

function unavailableJson(answer: Answer): void {
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toMatch(/^[1-9][0-9]*$/)
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.json()).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) as string })
}

async function proofOf(browser: Walk): Promise<Record<string, unknown>> {
  const claim = { login_challenge: await browser.challenge(requestOf(client)), address: browser.wallet.address, chain_id: 1 }
  const { message } = (await browser.loginApi('/login/message', claim)).json()
  return { ...claim, signature: browser.wallet.sign(message as string) }
}

describe('the store cannot be read', () => {
  test('authorize with a session cookie: 503, never the login page', async () => {
    await grantor.store.close()
    unavailable(await walk.authorize(requestOf(client)))
    unavailable(await walk.authorize(requestOf(client, { prompt: 'login' })))
    unavailable(await walk.authorize(requestOf(client, { prompt: 'none' })))
    unavailable(await walk.authorize(requestOf(native, PKCE)))
  })

  test('a pushed request that cannot be looked up or spent: 503, and it gives its code afterwards', async () => {
    const query = await pushed(walk, client)
    const database = new DatabaseSync(grantor.databasePath)
    database.exec('BEGIN IMMEDIATE')
    unavailable(await walk.authorize(query))
    database.exec('ROLLBACK')
    database.close()
    expect((await walk.authorize(query)).location).toContain('code=')
    await grantor.store.close()
    unavailable(await walk.authorize(query))
  })

  test('authorize without a session cookie: 503, never the login page, whose login could not end well', async () => {
    await grantor.store.close()
    unavailable(await new Walk(grantor).authorize(requestOf(client)))
    unavailable(await new Walk(grantor).authorize(requestOf(client, { prompt: 'none' })))
  })

  test('authorize for a client that is not in memory: 503, never "unknown app"', async () => {
    grantor.deps.clients.forget('everything')
    await grantor.store.close()
    unavailable(await walk.authorize(requestOf(client)))
    unavailable(await walk.authorize({ client_id: randomUUID(), redirect_uri: 'https://app.example.net/' }))
  })

  test('the confirmation: 503', async () => {
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    await grantor.store.close()
    unavailable(await walk.confirm(page, 'allow'))
  })

  test('the end of a login: 503, no session', async () => {
    const browser = new Walk(grantor)
    const path = await browser.prove(await browser.challenge(requestOf(client)))
    await grantor.store.close()
    unavailable(await browser.complete(path))
  })

  test('the login API: 503, never "wrong signature", never a proof', async () => {
    const proof = await proofOf(new Walk(grantor))
    await grantor.store.close()
    unavailableJson(await walk.loginApi('/login/accept', proof))
  })
})

describe('the store cannot be written: another process holds its lock', () => {
  async function whileLocked(run: () => Promise<void>): Promise<void> {
    const other = new DatabaseSync(grantor.databasePath)
    other.exec('BEGIN IMMEDIATE')
    try {
      await run()
    } finally {
      other.exec('ROLLBACK')
      other.close()
    }
  }

  test('a login’s proof and its end are 503 after two seconds, without a session, and work once the lock is gone', async () => {
    const [proving, ending] = [new Walk(grantor), new Walk(grantor)]
    const proof = await proofOf(proving)
    const path = await ending.prove(await ending.challenge(requestOf(client)))
    const before = allRows(grantor.databasePath)
    await whileLocked(async () => {
      const both = Promise.all([proving.loginApi('/login/accept', proof), ending.complete(path)])
      expect(await isDoneWithin(4000, both)).toBe(true)
      const [accepted, page] = await both
      unavailableJson(accepted)
      unavailable(page)
    })
    expect(allRows(grantor.databasePath)).toEqual(before)
    expect((await proving.loginApi('/login/accept', proof)).status).toBe(200)
    expect((await ending.complete(path)).status).toBe(200)
    expect(ending.cookies.has('grantor_session')).toBe(true)
  })

  test('a session that must be touched first is 503, and no code goes out', async () => {
    grantor.clock.advance(600)
    await whileLocked(async () => unavailable(await walk.authorize(requestOf(client))))
    expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
  })

  test('what needs no write goes on: a code for a session touched a moment ago or for a consent signed before, a login that begins', async () => {
    await walk.signIn(requestOf(native, PKCE))
    await whileLocked(async () => {
      expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
      expect((await new Walk(grantor).authorize(requestOf(client))).location).toContain('login_challenge=')
      expect((await walk.authorize(requestOf(native, PKCE))).location).toMatch(/^com\.example\.app:\/cb\?code=/)
      expect(fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')).toMatch(/^grf\./)
    })
  })
})
