import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp, type Tokens } from '../support/app.ts'
import { isDoneWithin } from '../support/attempts.ts'
import { push } from '../support/pushed.ts'
import { expectRefusal } from '../support/refusals.ts'
import { type Answer, send } from '../support/send.ts'

let app: App
let tokens: Tokens
let code: string

beforeEach(async () => {
  app = await startApp()
  tokens = await app.freshTokens()
  code = await app.freshCode()
})
afterEach(() => app.close())

/** Another process that keeps the file's write lock. */
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

const asks: Record<string, () => Promise<Answer>> = {
  'redeeming a code': () => app.walk.exchange(app.client, code),
  refreshing: () => app.walk.refresh(app.client, tokens.refresh_token),
  'revoking a refresh token': () => app.walk.revoke(app.client, tokens.refresh_token),
  'pushing a request': () => push(app.walk, app.client),
  'revoking an access token': () => app.walk.revoke(app.client, tokens.access_token),
}

describe('while the store cannot be reached', () => {
  test.each([...Object.keys(asks), 'introspecting'])(
    '%s is 503 with Retry-After: never a success, never a token',
    async (name) => {
      await app.grantor.store.close()
      const ask = asks[name] ?? (() => app.walk.introspect(app.client, tokens.access_token))
      expectRefusal(await ask(), 'temporarily_unavailable')
    },
  )

  test('introspection never says active:false of what it could not look up, not for a resource server either', async () => {
    const apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: app.grantor.authUrl })
    expect(await app.isActive(tokens.access_token, apiServer)).toBe(true)
    await app.grantor.store.close()
    expectRefusal(await app.walk.introspect(apiServer, tokens.access_token), 'temporarily_unavailable')
  })

  test('a client id that is not in memory is answered 503: only the store could tell whether it is registered', async () => {
    await app.grantor.store.close()
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par']) {
      expectRefusal(await app.walk.call(path, { id: randomUUID(), secret: 'x' }, 'token=x'), 'temporarily_unavailable')
    }
  })

  test('a wrong secret of a client in memory is still a wrong secret', async () => {
    await app.grantor.store.close()
    expectRefusal(await app.walk.revoke({ ...app.client, secret: 'wrong' }, tokens.refresh_token), 'invalid_client')
  })

  test('no failure of the store counts as a failed attempt, and none is blamed on the caller in the audit log', async () => {
    await app.grantor.store.close()
    app.grantor.events.length = 0
    for (const ask of Object.values(asks)) await ask()
    expect(app.grantor.events).toEqual([])
  })

  test('the metadata, the keys and /health/live are there; /health/ready says 503', async () => {
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

describe('while another process holds the file’s lock', () => {
  test('writes are 503 after two seconds and nothing was spent; reads go on telling the truth', async () => {
    const lock = lockFile()
    const began = performance.now()
    const refused = Promise.all(Object.values(asks).map((ask) => ask()))
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

  test('a lock held for a moment is waited for: the answers come after it, and every one holds', async () => {
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
