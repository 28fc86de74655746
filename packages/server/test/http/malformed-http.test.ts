/** Malformed HTTP that needs a server of its own: requests that never end, and connections that break. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type MalformedHttpOptions, malformedHttp } from '../../src/http/malformed-http.ts'
import { parseAnswer, rawExchange } from '../support/send.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** Starts a server that keeps each response until the test sends it. */
async function listen(timeout: number, options: MalformedHttpOptions = {}) {
  const responses: ServerResponse[] = []
  const limits = { requestTimeout: timeout, headersTimeout: timeout, connectionsCheckingInterval: 20 }
  server = createServer(limits, (_request, response) => void responses.push(response))
  const { clientError, connect: onConnect } = malformedHttp(options)
  server.on('clientError', clientError).on('connect', onConnect)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, responses }
}

test('A request whose head or body is incomplete at the time limit gets 408, and the connection is closed (RFC 9110 §15.5.9)', async () => {
  const { origin } = await listen(100)
  const head = parseAnswer(await rawExchange(origin, 'GET / HTTP/1.1\r\nHost: a\r\nA:', 5000))
  const body = parseAnswer(await rawExchange(origin, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx', 5000))
  for (const { status, headers, json } of [head, body])
    expect([status, headers.connection, json().error]).toEqual([408, 'close', 'invalid_request'])
})

test('A connection on which no request arrives in time is closed, without a response and without a line in the log', async () => {
  const notes: string[] = []
  const { origin } = await listen(100, { note: ({ reason }) => notes.push(reason) })
  expect(await rawExchange(origin, '', 5000)).toBe('')
  expect(notes).toEqual([])
})

test('A refusal of malformed HTTP has a Date from the clock, and no Date without a clock (RFC 9110 §6.6.1)', async () => {
  const { origin } = await listen(60_000, { now: () => 784_111_777 })
  expect(parseAnswer(await rawExchange(origin, 'BREW\r\n\r\n')).headers.date).toBe('Sun, 06 Nov 1994 08:49:37 GMT')
  server.close()
  const { origin: without } = await listen(60_000)
  expect(parseAnswer(await rawExchange(without, 'BREW\r\n\r\n')).headers).not.toHaveProperty('date')
})

test('The refusal of a pipelined request is sent and noted after the response to the request before it', async () => {
  const notes: string[] = []
  const { origin, responses } = await listen(60_000, { note: ({ reason }) => notes.push(reason) })
  const exchange = rawExchange(origin, 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 5000)
  await expect.poll(() => responses.length).toBe(1)
  expect(notes).toEqual([])
  responses[0]?.end('first')
  const received = await exchange
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 405'])
  expect(received.indexOf('first')).toBeLessThan(received.indexOf('405'))
  expect(notes).toEqual(['http_405'])
})

test('A client that keeps sending after malformed HTTP is refused once, and further chunks add no listeners', async () => {
  const notes: string[] = []
  const { origin, responses } = await listen(60_000, { note: ({ reason }) => notes.push(reason) })
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').resume()
  const closed = new Promise((resolve) => socket.on('close', resolve))
  let errors = 0
  server.on('clientError', () => errors++)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\nBREW')
  for (let chunk = 1; chunk <= 20; chunk++) {
    await expect.poll(() => errors).toBeGreaterThanOrEqual(chunk)
    socket.write('more')
  }
  expect(responses[0]?.listenerCount('close')).toBeLessThan(5)
  responses[0]?.end()
  await closed
  expect(notes).toEqual(['http_400'])
})

test('If the rest of a request is malformed, a response that has begun is cut off, and no second response follows it', async () => {
  const { origin, responses } = await listen(60_000)
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  await expect.poll(() => responses.length).toBe(1)
  responses[0]?.write('begun')
  await expect.poll(() => received).toContain('begun')
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined))
  socket.write('no length of a chunk\r\n')
  await closed
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
})

test('A connection that is reset in the middle of a request gets no response and no note', async () => {
  const notes: string[] = []
  const { origin } = await listen(60_000, { note: ({ reason }) => notes.push(reason) })
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost:')
  const connection = await accepted
  await expect.poll(() => connection.bytesRead).toBeGreaterThan(0)
  const closed = new Promise((resolve) => connection.once('close', resolve))
  socket.resetAndDestroy()
  await closed
  await rawExchange(origin, 'BREW\r\n\r\n')
  expect(notes).toEqual(['http_400'])
})
