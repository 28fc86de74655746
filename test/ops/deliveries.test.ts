/** Notices to clients when the process that brings them is told to stop. How they are brought otherwise: test/http/backchannel-logout. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDeliveries, type DeliveryOptions, type Notice } from '../../src/ops/deliveries.ts'
import { createFetchFromClient } from '../../src/outbound/fetch-from-client.ts'

type Outcome = Parameters<DeliveryOptions['note']>[0]

let receiver: Server
let url: string
/** what came in, in order, and how it is answered: 200 at once unless set */
let received: string[]
let answer: (response: ServerResponse, body: string) => void
let outcomes: Outcome[]

beforeEach(async () => {
  received = []
  outcomes = []
  answer = (response) => response.end()
  receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      received.push(body)
      answer(response, body)
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
})
afterEach(() => {
  receiver.closeAllConnections()
  return new Promise((resolve) => receiver.close(resolve))
})

const made = (options: Partial<DeliveryOptions> = {}) =>
  createDeliveries({
    call: createFetchFromClient({ allowLoopback: true }),
    note: (outcome) => void outcomes.push(outcome),
    // longer than any machine needs, unless the test is about the end of that time
    stopWithin: 3600,
    ...options,
  })
const notice = (n: number): Notice => ({ clientId: `client-${n}`, url, form: { n: String(n) } })
const notices = (count: number): Notice[] => Array.from({ length: count }, (_, n) => notice(n))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const refuse = (response: ServerResponse) => response.writeHead(503).end()

describe('told to stop', () => {
  test('all that was not tried yet is still brought, however many wait, and the end waits for it', async () => {
    answer = (response) => void setTimeout(() => response.end(), 20)
    const deliveries = made()
    deliveries.add(async () => notices(40))
    await deliveries.stop()
    expect(outcomes).toHaveLength(40)
    expect(outcomes.every(({ delivered }) => delivered)).toBe(true)
    expect(new Set(received).size).toBe(40)
  })

  test('notices that are still being made are made and brought, and tried again where that fails', async () => {
    const deliveries = made()
    let tries = 0
    deliveries.add(async () => {
      await pause(50)
      if (tries++ === 0) throw new Error('the store was away for a moment')
      return notices(2)
    })
    await deliveries.stop()
    expect(outcomes.map(({ delivered }) => delivered)).toEqual([true, true])
  })

  test('one that waits for its next try has it now', async () => {
    answer = refuse
    const deliveries = made({ pauses: [0, 3600] })
    deliveries.add(async () => notices(1))
    await expect.poll(() => received.length).toBe(1)
    answer = (response) => response.end()
    await deliveries.stop()
    expect(outcomes).toEqual([{ delivered: true, clientId: 'client-0' }])
  })

  test('one that fails then too is let go, and written down as lost, with what the client said', async () => {
    answer = refuse
    const deliveries = made({ pauses: [0, 3600, 3600] })
    deliveries.add(async () => notices(1))
    await expect.poll(() => received.length).toBe(1)
    await deliveries.stop()
    expect(received).toHaveLength(2)
    expect(outcomes).toEqual([{ delivered: false, clientId: 'client-0', why: 'status_503' }])
  })

  test('a client that hangs does not hold up the end: its notice, and those behind it, are written down as lost', async () => {
    answer = (response, body) => body === 'n=99' && response.end()
    const deliveries = made({ stopWithin: 0.2 })
    deliveries.add(async () => [...notices(30), notice(99)])
    await deliveries.stop()
    expect(outcomes).toHaveLength(31)
    expect(new Set(outcomes.map(({ delivered, why }) => `${delivered} ${why}`))).toEqual(new Set(['false stopped']))
    await pause(50)
    expect(outcomes, 'and nothing is said of them twice').toHaveLength(31)
  })

  test('with nothing to bring it is over at once', async () => {
    await made().stop()
    expect(outcomes).toEqual([])
  })
})
