/** Delivery of notices to clients when the process stops. packages/server/test/http/auth/account/backchannel-logout tests delivery at other times. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDeliveries, type DeliveryOptions, type LogoutNotice } from '../../../src/app/process/deliveries.ts'
import { createFetchFromClient } from '../../../src/outbound/http/fetch-from-client.ts'

type Outcome = Parameters<DeliveryOptions['note']>[0]

let receiver: Server
let url: string
/** The received notices in order, and the response to each: 200 at once unless a test sets another. */
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

const newDeliveries = (options: Partial<DeliveryOptions> = {}) =>
  createDeliveries({
    call: createFetchFromClient({ allowLoopback: true }),
    note: (outcome) => void outcomes.push(outcome),
    // Longer than any machine needs. The test of this time limit sets a shorter one.
    stopWithin: 3600,
    ...options,
  })
const notice = (n: number): LogoutNotice => ({ clientId: `client-${n}`, url, form: { n: String(n) } })
const notices = (count: number): LogoutNotice[] => Array.from({ length: count }, (_, n) => notice(n))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const refuse = (response: ServerResponse) => response.writeHead(503).end()

describe('Deliveries when the process stops', () => {
  test('Stop delivers all 40 waiting notices before it resolves', async () => {
    answer = (response) => void setTimeout(() => response.end(), 20)
    const deliveries = newDeliveries()
    deliveries.add(async () => notices(40))
    await deliveries.stop()
    expect(outcomes).toHaveLength(40)
    expect(outcomes.every(({ delivered }) => delivered)).toBe(true)
    expect(new Set(received).size).toBe(40)
  })

  test('Stop waits for notices that are still being newDeliveries, makes them again after a failure, and delivers them', async () => {
    const deliveries = newDeliveries()
    let tries = 0
    deliveries.add(async () => {
      await pause(50)
      if (tries++ === 0) throw new Error('the store was away for a moment')
      return notices(2)
    })
    await deliveries.stop()
    expect(outcomes.map(({ delivered }) => delivered)).toEqual([true, true])
  })

  test('On stop, a notice that waits for its next attempt is sent at once', async () => {
    answer = refuse
    const deliveries = newDeliveries({ pauses: [0, 3600] })
    deliveries.add(async () => notices(1))
    await expect.poll(() => received.length).toBe(1)
    answer = (response) => response.end()
    await deliveries.stop()
    expect(outcomes).toEqual([{ delivered: true, clientId: 'client-0' }])
  })

  test('A notice whose last attempt on stop fails is given up and recorded as not delivered, with the status of the client', async () => {
    answer = refuse
    const deliveries = newDeliveries({ pauses: [0, 3600, 3600] })
    deliveries.add(async () => notices(1))
    await expect.poll(() => received.length).toBe(1)
    await deliveries.stop()
    expect(received).toHaveLength(2)
    expect(outcomes).toEqual([{ delivered: false, clientId: 'client-0', why: 'status_503' }])
  })

  test('Stop ends in time although a client does not respond, and records its notice and those queued behind it once, as not delivered', async () => {
    answer = (response, body) => body === 'n=99' && response.end()
    const deliveries = newDeliveries({ stopWithin: 0.2 })
    deliveries.add(async () => [...notices(30), notice(99)])
    await deliveries.stop()
    expect(outcomes).toHaveLength(31)
    expect(new Set(outcomes.map(({ delivered, why }) => `${delivered} ${why}`))).toEqual(new Set(['false stopped']))
    await pause(50)
    expect(outcomes, 'no outcome is recorded twice').toHaveLength(31)
  })

  test('Without notices, stop resolves at once and records nothing', async () => {
    await newDeliveries().stop()
    expect(outcomes).toEqual([])
  })
})
