/** The load of the bench, sent to real servers. */

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { closedLoop, sendAll } from '../../../../bench/load/closed-loop.ts'
import { type Answer, connect, readAnswer } from '../../../../bench/load/connection.ts'
import { openLoop } from '../../../../bench/load/open-loop.ts'
import { requireStatus, requireText, type Work } from '../../../../bench/load/work.ts'
import { refreshing } from '../../../../bench/operations.ts'
import { formPost } from '../../../../bench/request.ts'
import type { Target } from '../../../../bench/target.ts'

const servers: { close(): unknown; closeAllConnections(): void }[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const REQUEST = formPost('/', 'Basic YTpi', { token: 'x' })

function work(count: number, accept: Work['accept'] = (answer) => requireStatus(answer, 200, 'post')): Work {
  let left = count
  return { next: () => (left-- > 0 ? REQUEST : undefined), accept }
}

test('The bench reads a response only when it is complete, and refuses one without Content-Length or with trailing data', () => {
  const whole = 'HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 4\r\n\r\nbody'
  for (let cut = 0; cut < whole.length; cut++) expect(readAnswer(whole.slice(0, cut))).toBeUndefined()
  expect(readAnswer(whole)).toMatchObject({ status: 200, body: 'body' })
  expect(() => readAnswer(`${whole}HTTP`)).toThrow('longer')
  expect(() => readAnswer('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('without Content-Length')
})

test('The bench sends every request once and counts every response', async () => {
  let received = 0
  const port = await serve((_request, response) => void response.setHeader('content-length', 2).end(`${received++ % 10}\n`))
  expect(await sendAll(port, work(500), 8)).toMatchObject({ all: 500 })
  expect(received).toBe(500)
})

test('One response with a wrong status ends the run of the bench, and the error repeats only the status and the error code', async () => {
  let received = 0
  const port = await serve((_request, response) => {
    const body = received++ === 20 ? '{"error":"invalid_grant","secret":"do-not-tell"}' : '{}'
    response.writeHead(body === '{}' ? 200 : 400, { 'content-length': body.length }).end(body)
  })
  const failed = await closedLoop(port, work(1000), { connections: 4, seconds: 5 }).catch(String)
  expect(failed).toContain('post: answered 400 (invalid_grant) instead of 200')
  expect(failed).not.toContain('do-not-tell')
})

test('A response that lacks the required text ends the run of the bench', async () => {
  const port = await serve((_request, response) => void response.setHeader('content-length', 16).end('{"active":false}'))
  const active = work(5, (answer) => requireText(answer, '"active":true', 'introspect'))
  await expect(sendAll(port, active, 1)).rejects.toThrow('introspect: the answer lacks "active":true')
})

test('A server that closes a connection with a request in progress ends the run of the bench', async () => {
  const port = await serve((request) => void request.socket.destroy())
  await expect(sendAll(port, work(5), 1)).rejects.toThrow('closed a connection under load')
})

test('A server that closes a connection in the middle of a response ends the run of the bench', async () => {
  const port = await serve((request, response) => {
    response.setHeader('content-length', 100).write('{', () => request.socket.destroy())
  })
  await expect(sendAll(port, work(5), 1)).rejects.toThrow('closed a connection under load')
})

test('A connection of the bench that the server closed while it had no request is opened again (RFC 9112 §9.5)', async () => {
  const sockets: Socket[] = []
  const port = await serve((request, response) => {
    sockets.push(request.socket)
    response.setHeader('content-length', 2).end('{}')
  })
  let received = Promise.withResolvers<Answer>()
  const connection = await connect(
    port,
    (answer) => received.resolve(answer),
    (error) => received.reject(error),
  )
  const exchange = async () => {
    received = Promise.withResolvers()
    connection.send(REQUEST)
    expect(await received.promise).toMatchObject({ status: 200, body: '{}' })
    return sockets.at(-1) as Socket
  }
  for (const closeIdle of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
    const served = await exchange()
    closeIdle(served)
    await once(served, 'close')
    // The client has read the end of the connection when a later one was served.
    await sendAll(port, work(1), 1)
  }
  await exchange()
  connection.close()
  // Three of this connection, and two of `sendAll`.
  expect(new Set(sockets).size).toBe(5)
})

test('Each refresh of the bench sends the refresh token of the response before it, and no token is sent twice', async () => {
  const received: string[] = []
  const port = await serve((request, response) => {
    let body = ''
    request.on('data', (piece) => void (body += piece))
    request.on('end', () => {
      const token = new URLSearchParams(body).get('refresh_token') ?? ''
      received.push(token)
      const answer = JSON.stringify({ access_token: 'a.b.c', refresh_token: `${token}+` })
      response.setHeader('content-length', answer.length).end(answer)
    })
  })
  const target = { paths: { token: '/' }, authorization: 'Basic YTpi' } as unknown as Target
  const chains = refreshing(target, ['one', 'two', 'three'])
  let left = 30
  await sendAll(port, { ...chains, next: () => (left-- > 0 ? chains.next() : undefined) }, 2)
  expect(received).toHaveLength(30)
  expect(new Set(received).size).toBe(30)
  expect(received.filter((token) => token.startsWith('two'))).toHaveLength(10)
})

test('The latency of a request that is due while the server stalls includes the wait for a free connection', async () => {
  const stalledFor = 400
  let [received, stallEnds] = [0, 0]
  const port = await serve((_request, response) => {
    const answer = () => response.setHeader('content-length', 2).end('{}')
    if (++received === 100) stallEnds = performance.now() + stalledFor
    setTimeout(answer, Math.max(0, stallEnds - performance.now()))
  })
  // The first half second is not counted. In the second one, four of five requests are due while the server stalls.
  const { p50, requests } = await openLoop(port, work(10_000), { connections: 4, rate: 200, seconds: 0.5 })
  expect(requests).toBe(100)
  expect(p50).toBeGreaterThan(50)
})
