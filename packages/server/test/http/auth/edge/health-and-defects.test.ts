import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { expectJson, expectRefusal, headersOf, JSON_HEADERS } from '../../../support/refusals.ts'
import { type Answer, rawExchange, send } from '../../../support/send.ts'
import { basic } from '../../../support/walk.ts'

let app: App

beforeEach(async () => {
  app = await startApp()
})
afterEach(() => app.close())

const get = (path: string, method = 'GET'): Promise<Answer> => send(app.grantor.authUrl, { method, path })

describe('Health checks', () => {
  test('A request to /health/live gets 200 with the status live', async () => {
    const answer = await get('/health/live')
    expectJson(answer)
    expect(answer.body).toBe('{"status":"live"}')
  })

  test('A request to /health/ready gets 200 with the status ready if the store can be written and the keys are loaded', async () => {
    const answer = await get('/health/ready')
    expectJson(answer)
    expect(answer.body).toBe('{"status":"ready"}')
  })

  test('A request to /health/ready is 503 with Retry-After if no keys are loaded, and /health/live is still 200', async () => {
    app.grantor.deps.keys.replace([])
    const answer = await get('/health/ready')
    expect({ status: answer.status, body: answer.body, headers: headersOf(answer) }).toEqual({
      status: 503,
      body: '{"status":"unavailable","problem":"keys_not_loaded"}',
      headers: { ...JSON_HEADERS, 'retry-after': '5' },
    })
    expect((await get('/health/live')).status).toBe(200)
  })

  test('A request to /health/ready is unavailable while another process locks the database, and ready again afterwards', async () => {
    const database = new DatabaseSync(app.grantor.databasePath)
    database.exec('BEGIN IMMEDIATE')
    expect((await get('/health/ready')).json()).toEqual({ status: 'unavailable', problem: 'store_not_writable' })
    expect((await get('/health/live')).status).toBe(200)
    database.exec('ROLLBACK')
    database.close()
    app.grantor.clock.advance(1)
    expect((await get('/health/ready')).json()).toEqual({ status: 'ready' })
  })

  test('Any number of requests to /health/ready cause at most one write check per second', async () => {
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
      const probes = await Promise.all(Array.from({ length: 50 }, () => get('/health/ready')))
      expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]))
      expect((await get('/health/ready')).status).toBe(200)
      app.grantor.clock.advance(1)
    }
    expect(writes).toBe(3)
  })

  test.each(['/health/live', '/health/ready'])('A HEAD request to %s gets 200 without a body (RFC 9110 §9.3.2)', async (path) => {
    const answer = await get(path, 'HEAD')
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '' })
  })
})

test('An internal error is 500 server_error with a request id and no details; the log has the cause under that id', async () => {
  const tokens = await app.freshTokens()
  const database = new DatabaseSync(app.grantor.databasePath)
  database.exec('DROP TABLE grants')
  database.close()
  const requests = [
    () => app.walk.introspect(app.client, tokens.access_token),
    () => app.walk.refresh(app.client, tokens.refresh_token),
    () => app.walk.revoke(app.client, tokens.refresh_token),
    () => app.walk.revoke(app.client, tokens.access_token),
  ]
  for (const request of requests) {
    const answer = await request()
    const [, requestId = ''] = /Quote request ([0-9a-f-]{36})\./.exec(answer.body) ?? []
    expectRefusal(answer, {
      status: 500,
      error: 'server_error',
      description: `Something went wrong on our side. Quote request ${requestId}.`,
    })
    expect(app.grantor.logLines.filter((line) => line.includes(requestId) && line.includes('no such table'))).toHaveLength(1)
  }
})

test('A client that closes the connection before the response causes no error in the log', async () => {
  const body = 'grant_type=refresh_token&refresh_token=x'
  const head = [
    'POST /oauth/token HTTP/1.1',
    'Host: x',
    `Authorization: ${basic(app.client.id, 'wrong')}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
  ]
  const request = `${head.join('\r\n')}\r\n\r\n${body}`
  // the clients close their connections after one to five milliseconds
  await Promise.all(Array.from({ length: 30 }, (_, at) => rawExchange(app.grantor.authUrl, request, 1 + (at % 5))))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(app.grantor.logLines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
})
