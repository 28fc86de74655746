import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'

let server: Server
let proxy: CuttingProxy
/** the paths that the server received, in order */
let received: string[]
beforeEach(async () => {
  received = []
  server = createServer((request, response) => {
    received.push(request.url ?? '')
    response.end('done')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await startCuttingProxy({ port: (server.address() as AddressInfo).port })
})
afterEach(async () => {
  await proxy.close()
  server.closeAllConnections()
  server.close()
})

const get = async (path: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${proxy.port}${path}`).catch(() => null)
  return answer ? answer.text() : 'lost'
}

test('Without an order the proxy passes every request', async () => {
  expect(await Promise.all([get('/1'), get('/2')])).toEqual(['done', 'done'])
  expect(proxy.cuts()).toBe(0)
})

test('With the order "cut before" the request never arrives, and the next one passes', async () => {
  proxy.cutNext('before')
  expect([await get('/1'), await get('/2')]).toEqual(['lost', 'done'])
  expect([received, proxy.cuts()]).toEqual([['/2'], 1])
})

test('With the order "cut after" the request is processed, and its response is lost', async () => {
  proxy.cutNext('after')
  expect([await get('/1'), await get('/2')]).toEqual(['lost', 'done'])
  expect([received, proxy.cuts()]).toEqual([['/1', '/2'], 1])
})

test('With the order "refuse" no connection is accepted until the order ends', async () => {
  proxy.refuse(true)
  expect(await get('/1')).toBe('lost')
  proxy.refuse(false)
  expect(await get('/2')).toBe('done')
  expect(received).toEqual(['/2'])
})
