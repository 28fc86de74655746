import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp } from '../support/app.ts'
import { rawExchange } from '../support/raw-http.ts'
import { expectRefusal, headersOf } from '../support/refusals.ts'
import { type Answer, send } from '../support/send.ts'
import { basic } from '../support/walk.ts'

let app: App

beforeEach(async () => {
  app = await startApp()
})
afterEach(() => app.close())

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

const ask = (path: string, method = 'GET'): Promise<Answer> => send(app.grantor.authUrl, { method, path })

describe('health', () => {
  test('/health/live says that the process answers', async () => {
    const answer = await ask('/health/live')
    expect({ status: answer.status, body: answer.body, headers: headersOf(answer) }).toEqual({
      status: 200,
      body: '{"status":"live"}',
      headers: JSON_HEADERS,
    })
  })

  test('/health/ready says that the store takes writes and the keys are loaded', async () => {
    const answer = await ask('/health/ready')
    expect({ status: answer.status, body: answer.body, headers: headersOf(answer) }).toEqual({
      status: 200,
      body: '{"status":"ready"}',
      headers: JSON_HEADERS,
    })
  })

  test('keys that are not loaded are 503 with Retry-After', async () => {
    app.grantor.deps.keys.replace([])
    const answer = await ask('/health/ready')
    expect({ status: answer.status, body: answer.body, headers: headersOf(answer) }).toEqual({
      status: 503,
      body: '{"status":"unavailable","problem":"keys_not_loaded"}',
      headers: { ...JSON_HEADERS, 'retry-after': '5' },
    })
    expect((await ask('/health/live')).status).toBe(200)
  })

  test('a file that another process keeps locked is 503, and ready again once it is let go', async () => {
    const database = new DatabaseSync(app.grantor.databasePath)
    database.exec('BEGIN IMMEDIATE')
    expect((await ask('/health/ready')).json()).toEqual({ status: 'unavailable', problem: 'store_not_writable' })
    expect((await ask('/health/live')).status).toBe(200)
    database.exec('ROLLBACK')
    database.close()
    app.grantor.clock.advance(1)
    expect((await ask('/health/ready')).json()).toEqual({ status: 'ready' })
  })

  test('probes, however many, write at most once a second', async () => {
    let writes = 0
    const { store } = app.grantor
    const checkWritable = store.checkWritable.bind(store)
    Object.assign(store, {
      checkWritable() {
        writes += 1
        return checkWritable()
      },
    })
    for (let second = 0; second < 3; second++) {
      const probes = await Promise.all(Array.from({ length: 50 }, () => ask('/health/ready')))
      expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]))
      expect((await ask('/health/ready')).status).toBe(200)
      app.grantor.clock.advance(1)
    }
    expect(writes).toBe(3)
  })

  test.each(['/health/live', '/health/ready'])('HEAD %s tells the same by its status (RFC 9110 §9.3.2)', async (path) => {
    const answer = await ask(path, 'HEAD')
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '' })
  })
})

test('a defect is 500 server_error with a request id and nothing else; the log knows the rest under that id', async () => {
  const tokens = await app.freshTokens()
  const database = new DatabaseSync(app.grantor.databasePath)
  database.exec('DROP TABLE grants')
  database.close()
  const asks = [
    () => app.walk.introspect(app.client, tokens.access_token),
    () => app.walk.refresh(app.client, tokens.refresh_token),
    () => app.walk.revoke(app.client, tokens.refresh_token),
    () => app.walk.revoke(app.client, tokens.access_token),
  ]
  for (const ask of asks) {
    const answer = await ask()
    const [, requestId = ''] = /Quote request ([0-9a-f-]{36})\./.exec(answer.body) ?? []
    expectRefusal(answer, {
      status: 500,
      error: 'server_error',
      description: `Something went wrong on our side. Quote request ${requestId}.`,
    })
    expect(app.grantor.logLines.filter((line) => line.includes(requestId) && line.includes('no such table'))).toHaveLength(1)
  }
})

test('a caller who hangs up before the answer is no defect', async () => {
  const body = 'grant_type=refresh_token&refresh_token=x'
  const head = [
    'POST /oauth/token HTTP/1.1',
    'Host: x',
    `Authorization: ${basic(app.client.id, 'wrong')}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
  ]
  const request = `${head.join('\r\n')}\r\n\r\n${body}`
  // gives up at once, after one millisecond, after two …
  await Promise.all(Array.from({ length: 30 }, (_, at) => rawExchange(app.grantor.authUrl, request, 1 + (at % 5))))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(app.grantor.logLines.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
})
