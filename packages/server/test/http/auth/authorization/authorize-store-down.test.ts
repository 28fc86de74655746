/** If the store cannot be read or written: 503 with an error page, never the login page, a code or a session. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import { isDoneWithin } from '../../../support/attempts.ts'
import { pushed } from '../../../support/pushed.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, fieldOf, noticeOf, PKCE, requestOf, Walk } from '../../../support/walk.ts'

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

function expectUnavailablePage(answer: Answer): void {
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toMatch(/^[1-9][0-9]*$/)
  expect(answer.headers).toMatchObject(pageHeaders({}))
  expect(answer.headers).not.toHaveProperty('location')
  expect(answer.headers).not.toHaveProperty('set-cookie')
  expect(noticeOf(answer)).toBe('unavailable')
  expect(answer.body).not.toContain('code=')
  expect(answer.body).not.toMatch(/sqlite|database is|\.ts\b/i)
}

function expectUnavailableJson(answer: Answer): void {
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

describe('Requests while the store cannot be read', () => {
  test('An authorization request with a session cookie is 503 while the store cannot be read, never a redirect to the login page', async () => {
    await grantor.store.close()
    expectUnavailablePage(await walk.authorize(requestOf(client)))
    expectUnavailablePage(await walk.authorize(requestOf(client, { prompt: 'login' })))
    expectUnavailablePage(await walk.authorize(requestOf(client, { prompt: 'none' })))
    expectUnavailablePage(await walk.authorize(requestOf(native, PKCE)))
  })

  test('A pushed request is 503 while its row cannot be read or used up, and gets its code once the store can be written', async () => {
    const query = await pushed(walk, client)
    const database = new DatabaseSync(grantor.databasePath)
    database.exec('BEGIN IMMEDIATE')
    expectUnavailablePage(await walk.authorize(query))
    database.exec('ROLLBACK')
    database.close()
    expect((await walk.authorize(query)).location).toContain('code=')
    await grantor.store.close()
    expectUnavailablePage(await walk.authorize(query))
  })

  test('An authorization request without a session cookie is 503 while the store cannot be read, since its login could not complete', async () => {
    await grantor.store.close()
    expectUnavailablePage(await new Walk(grantor).authorize(requestOf(client)))
    expectUnavailablePage(await new Walk(grantor).authorize(requestOf(client, { prompt: 'none' })))
  })

  test('An authorization request of a client that is not cached is 503 while the store cannot be read, never an unknown client', async () => {
    grantor.deps.clients.forget('everything')
    await grantor.store.close()
    expectUnavailablePage(await walk.authorize(requestOf(client)))
    expectUnavailablePage(await walk.authorize({ client_id: randomUUID(), redirect_uri: 'https://app.example.net/' }))
  })

  test('The confirmation form is 503 while the store cannot be read', async () => {
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    await grantor.store.close()
    expectUnavailablePage(await walk.confirm(page, 'allow'))
  })

  test('The return from a login is 503 without a session while the store cannot be read', async () => {
    const browser = new Walk(grantor)
    const path = await browser.prove(await browser.challenge(requestOf(client)))
    await grantor.store.close()
    expectUnavailablePage(await browser.complete(path))
  })

  test('The login API responds 503 to a proof while the store cannot be read, neither accepting nor rejecting the signature', async () => {
    const proof = await proofOf(new Walk(grantor))
    await grantor.store.close()
    expectUnavailableJson(await walk.loginApi('/login/accept', proof))
  })
})

describe('Requests while another process locks the database', () => {
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

  test('A login’s proof and its return are 503 without a session while the database is locked, and succeed once it is not', async () => {
    const [proving, ending] = [new Walk(grantor), new Walk(grantor)]
    const proof = await proofOf(proving)
    const path = await ending.prove(await ending.challenge(requestOf(client)))
    const before = await grantor.rows()
    await whileLocked(async () => {
      const both = Promise.all([proving.loginApi('/login/accept', proof), ending.complete(path)])
      expect(await isDoneWithin(4000, both)).toBe(true)
      const [accepted, page] = await both
      expectUnavailableJson(accepted)
      expectUnavailablePage(page)
    })
    expect(await grantor.rows()).toEqual(before)
    expect((await proving.loginApi('/login/accept', proof)).status).toBe(200)
    expect((await ending.complete(path)).status).toBe(200)
    expect(ending.cookies.has('grantor_session')).toBe(true)
  })

  test('An authorization request whose session’s last use must be written is 503 without a code while the database is locked', async () => {
    grantor.clock.advance(600)
    await whileLocked(async () => expectUnavailablePage(await walk.authorize(requestOf(client))))
    expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
  })

  test('Authorization requests that write nothing succeed while the database is locked: codes, redirects to login, confirmations', async () => {
    await walk.signIn(requestOf(native, PKCE))
    await whileLocked(async () => {
      expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
      expect((await new Walk(grantor).authorize(requestOf(client))).location).toContain('login_challenge=')
      expect((await walk.authorize(requestOf(native, PKCE))).location).toMatch(/^com\.example\.app:\/cb\?code=/)
      expect(fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')).toMatch(/^grf\./)
    })
  })
})
