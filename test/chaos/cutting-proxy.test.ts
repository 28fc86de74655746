import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'

let server: Server
let proxy: CuttingProxy
/** what arrived, in order */
let worked: string[]
beforeEach(async () => {
  worked = []
  server = createServer((request, response) => {
    worked.push(request.url ?? '')
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

const ask = async (path: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${proxy.port}${path}`).catch(() => null)
  return answer ? answer.text() : 'lost'
}

test('Without an order the proxy passes every request', async () => {
  expect(await Promise.all([ask('/1'), ask('/2')])).toEqual(['done', 'done'])
  expect(proxy.cuts()).toBe(0)
})

test('With the order "cut before" the request never arrives, and the next one passes', async () => {
  proxy.cutNext('before')
  expect([await ask('/1'), await ask('/2')]).toEqual(['lost', 'done'])
  expect([worked, proxy.cuts()]).toEqual([['/2'], 1])
})

test('With the order "cut after" the request is processed, and its response is lost', async () => {
  proxy.cutNext('after')
  expect([await ask('/1'), await ask('/2')]).toEqual(['lost', 'done'])
  expect([worked, proxy.cuts()]).toEqual([['/1', '/2'], 1])
})

test('With the order "refuse" no connection is accepted until the order ends', async () => {
  proxy.refuse(true)
  expect(await ask('/1')).toBe('lost')
  proxy.refuse(false)
  expect(await ask('/2')).toBe('done')
  expect(worked).toEqual(['/2'])
})
