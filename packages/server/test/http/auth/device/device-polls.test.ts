/** The polls of a device (RFC 8628 §3.5), and what they cost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allowDevice, askForDevice, authorizedDevice, createDeviceClient, poll } from '../../../support/device.ts'
import { newDpopKey, proofOf } from '../../../support/dpop.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { countStoreCalls } from '../../../support/store-calls.ts'
import { Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
let costOf: ReturnType<typeof countStoreCalls>

beforeAll(async () => {
  grantor = await startGrantor()
  client = await createDeviceClient(grantor)
  walk = new Walk(grantor)
  costOf = countStoreCalls(grantor)
})
afterAll(() => grantor.close())

test('A poll before the answer costs one read and no write, with and without a DPoP proof (RFC 8628 §3.5)', async () => {
  const device = await authorizedDevice(walk, client)
  expect(await costOf(() => poll(walk, client, device))).toEqual({ writes: [], reads: ['readPushed'] })
  grantor.clock.advance(5)
  const dpop = await proofOf(grantor, newDpopKey())
  expect(await costOf(() => poll(walk, client, device, { dpop }))).toEqual({ writes: [], reads: ['readPushed'] })
})

test('A device authorization request costs one write and one read, and the redemption one read and one write', async () => {
  expect(await costOf(() => askForDevice(walk, client))).toEqual({ writes: ['push'], reads: ['readPushed'] })
  const device = await authorizedDevice(walk, client)
  await allowDevice(walk, device)
  expect(await costOf(() => poll(walk, client, device))).toEqual({ writes: ['redeemCode'], reads: ['readPushed'] })
})

test('A poll that comes sooner than the interval gets slow_down and costs no query (RFC 8628 §3.5)', async () => {
  const device = await authorizedDevice(walk, client)
  expectRefusal(await poll(walk, client, device), 'authorization_pending')
  grantor.clock.advance(3)
  expect(await costOf(async () => expectRefusal(await poll(walk, client, device), 'slow_down'))).toEqual({
    writes: [],
    reads: [],
  })
  grantor.clock.advance(10)
  expectRefusal(await poll(walk, client, device), 'authorization_pending')
})

test('A poll that a network delivers a second early is no fault, and the polls of two devices do not count together', async () => {
  const [device, other] = [await authorizedDevice(walk, client), await authorizedDevice(walk, client)]
  expectRefusal(await poll(walk, client, device), 'authorization_pending')
  expectRefusal(await poll(walk, client, other), 'authorization_pending')
  grantor.clock.advance(4)
  expectRefusal(await poll(walk, client, device), 'authorization_pending')
})

test('A poll before the answer leaves no line in the audit log, and slow_down leaves one', async () => {
  const device = await authorizedDevice(walk, client)
  grantor.events.length = 0
  await poll(walk, client, device)
  expect(grantor.events).toEqual([])
  await poll(walk, client, device)
  expect(grantor.events).toMatchObject([{ event: 'refused', reason: 'polled_too_soon' }])
})

test('The requests of devices of clients that do not authenticate count, with pushed requests, against the limit of their network', async () => {
  const limited = await startGrantor({ limits: { pushes: 2, client_pushes: 3 }, trustedProxies: ['127.0.0.1'] })
  const own = new Walk(limited)
  const open = await createDeviceClient(limited)
  const confidential = await createDeviceClient(limited, { type: 'confidential' })
  const asked = (by: TestClient, network: string) => askForDevice(own, by, {}, { 'x-forwarded-for': network })
  const statuses = async (by: TestClient, networks: string[]) => {
    const all: number[] = []
    for (const network of networks) all.push((await asked(by, network)).status)
    return all
  }
  expect(await statuses(open, ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'])).toEqual([200, 200, 429, 200])
  expect(await statuses(confidential, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'])).toEqual([200, 200, 200, 429])
  await limited.close()
})

test('The request of a refused device writes nothing', async () => {
  const cost = await costOf(async () => expectRefusal(await askForDevice(walk, client, { scope: 'admin' }), 'invalid_scope'))
  expect(cost).toEqual({ writes: [], reads: [] })
})
