import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp, type Tokens } from '../../../support/app.ts'
import { isDoneWithin } from '../../../support/attempts.ts'
import { push } from '../../../support/pushed.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'

let app: App
let tokens: Tokens
let code: string

beforeEach(async () => {
  app = await startApp()
  tokens = await app.freshTokens()
  code = await app.freshCode()
})
afterEach(() => app.close())

/** Takes the write lock of the database file, as another process would. */
function lockFile(): { release(): void } {
  const database = new DatabaseSync(app.grantor.databasePath)
  database.exec('BEGIN IMMEDIATE')
  return {
    release() {
      database.exec('ROLLBACK')
      database.close()
    },
  }
}

const requests: Record<string, () => Promise<Answer>> = {
  'redeeming a code': () => app.walk.exchange(app.client, code),
  refreshing: () => app.walk.refresh(app.client, tokens.refresh_token),
  'revoking a refresh token': () => app.walk.revoke(app.client, tokens.refresh_token),
  'pushing a request': () => push(app.walk, app.client),
  'revoking an access token': () => app.walk.revoke(app.client, tokens.access_token),
}

describe('The service while its store is unavailable', () => {
  test.each([...Object.keys(requests), 'introspecting'])(
    'While the store is unavailable, %s gets 503 with Retry-After',
    async (name) => {
      await app.grantor.store.close()
      const sendRequest = requests[name] ?? (() => app.walk.introspect(app.client, tokens.access_token))
      expectRefusal(await sendRequest(), 'temporarily_unavailable')
    },
  )

  test('While the store is unavailable, introspection by a resource server gets 503, not active: false', async () => {
    const apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: app.grantor.authUrl })
    expect(await app.isActive(tokens.access_token, apiServer)).toBe(true)
    await app.grantor.store.close()
    expectRefusal(await app.walk.introspect(apiServer, tokens.access_token), 'temporarily_unavailable')
  })

  test('While the store is unavailable, a client id that is not in memory gets 503, because it may be registered', async () => {
    await app.grantor.store.close()
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par']) {
      expectRefusal(await app.walk.call(path, { id: randomUUID(), secret: 'x' }, 'token=x'), 'temporarily_unavailable')
    }
  })

  test('While the store is unavailable, a wrong secret of a client in memory is still invalid_client', async () => {
    await app.grantor.store.close()
    expectRefusal(await app.walk.revoke({ ...app.client, secret: 'wrong' }, tokens.refresh_token), 'invalid_client')
  })

  test('While the store is unavailable, the log has the problem in one line and no stack', async () => {
    await app.grantor.store.close()
    app.grantor.logLines.length = 0
    for (const sendRequest of Object.values(requests)) await sendRequest()
    const problems = app.grantor.logLines.filter((line) => line.includes('"problem":'))
    expect(problems).toEqual([expect.stringContaining('"problem":"the store is closed"')])
    expect(app.grantor.logLines.filter((line) => /"stack":|\.ts:\d/.test(line))).toEqual([])
  })

  test('Failures of the store cause no event in the audit log', async () => {
    await app.grantor.store.close()
    app.grantor.events.length = 0
    for (const sendRequest of Object.values(requests)) await sendRequest()
    expect(app.grantor.events).toEqual([])
  })

  test('While the store is unavailable, the metadata, the keys and /health/live respond, and /health/ready is 503', async () => {
    expect((await send(app.grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
    await app.grantor.store.close()
    app.grantor.clock.advance(1)
    for (const path of ['/.well-known/oauth-authorization-server', '/oauth/jwks', '/health/live']) {
      expect((await send(app.grantor.authUrl, { path })).status).toBe(200)
    }
    const ready = await send(app.grantor.authUrl, { path: '/health/ready' })
    expect({ status: ready.status, retry: ready.headers['retry-after'] }).toEqual({ status: 503, retry: '5' })
    expect(ready.json()).toEqual({ status: 'unavailable', problem: 'store_not_writable' })
  })
})

describe('The service while another process has the lock of the database file', () => {
  test('If the lock is not released, writes get 503 after two seconds and change nothing, and reads still work', async () => {
    const lock = lockFile()
    const began = performance.now()
    const refused = Promise.all(Object.values(requests).map((sendRequest) => sendRequest()))
    const inTime = isDoneWithin(4000, refused)
    expect(await app.isActive(tokens.access_token)).toBe(true)
    for (const answer of await refused) expectRefusal(answer, 'temporarily_unavailable')
    expect(performance.now() - began).toBeGreaterThan(1900)
    expect(await inTime).toBe(true)
    lock.release()

    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('If the lock is released in time, the waiting writes succeed', async () => {
    const lock = lockFile()
    const answers = Promise.all(Array.from({ length: 20 }, () => app.walk.refresh(app.client, tokens.refresh_token)))
    const exchanged = app.walk.exchange(app.client, code)
    let released = false
    const early = Promise.race([answers, exchanged]).then(() => released)
    await new Promise((resolve) => setTimeout(resolve, 400))
    released = true
    lock.release()
    expect(await early).toBe(true)
    expect((await exchanged).status).toBe(200)
    expect(new Set((await answers).map((answer) => answer.json().refresh_token)).size).toBe(1)
  })
})
