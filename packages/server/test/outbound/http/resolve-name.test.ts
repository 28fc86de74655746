/** Names of hosts that any caller can choose: a name whose servers do not respond delays no other look-up. A real DNS server on loopback. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createFetchFromClient } from '../../../src/outbound/http/fetch-from-client.ts'
import { createDnsLookup } from '../../../src/outbound/http/resolve-name.ts'
import { aClientHost } from '../../support/client-host.ts'

const TYPE_A = 1

/** A DNS server that answers every question for an IPv4 address with 127.0.0.1 and has no other records, or that never responds. */
async function aDnsServer({ silent = false } = {}) {
  const questions: Buffer[] = []
  const socket = createSocket('udp4')
  socket.on('message', (question: Buffer, { port, address }: RemoteInfo) => {
    questions.push(question)
    if (!silent) socket.send(answerTo(question), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, questions }
}

/** RFC 1035 §4: the question again, and one record if the question was for an IPv4 address. */
function answerTo(question: Buffer): Buffer {
  const nameEnd = question.indexOf(0, 12) + 1
  const isForIpv4 = question.readUInt16BE(nameEnd) === TYPE_A
  const answer = Buffer.from(question.subarray(0, nameEnd + 4))
  answer.writeUInt16BE(0x8180, 2)
  answer.writeUInt16BE(isForIpv4 ? 1 : 0, 6)
  answer.writeUInt16BE(0, 10)
  if (!isForIpv4) return answer
  // A pointer to the name of the question, type A, class IN, 60 seconds, four bytes.
  return Buffer.concat([answer, Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])])
}

test('The name of a host that any caller can choose is resolved over DNS', async () => {
  const dns = await aDnsServer()
  const host = await aClientHost((_, response) => response.end('keys'))
  const fetchFromClient = createFetchFromClient({ allowLoopback: true, lookup: createDnsLookup([dns.address]) })
  expect(await fetchFromClient({ url: `http://keys.example.test:${host.port}/` })).toMatchObject({
    kind: 'answered',
    body: 'keys',
  })
  expect(dns.questions.length).toBeGreaterThan(0)
})

test('An address from the DNS that is not public is refused', async () => {
  const dns = await aDnsServer()
  const fetchFromClient = createFetchFromClient({ allowLoopback: false, lookup: createDnsLookup([dns.address]) })
  expect(await fetchFromClient({ url: 'https://keys.example.test/' })).toEqual({ kind: 'unavailable', why: 'address_not_public' })
})

test('While 60 names whose DNS servers never respond are looked up, the system resolves another name', async () => {
  const dns = await aDnsServer({ silent: true })
  const fetchFromClient = createFetchFromClient({
    allowLoopback: true,
    concurrency: 64,
    timeoutMs: 5_000,
    lookup: createDnsLookup([dns.address]),
  })
  const order: string[] = []
  const hanging = Array.from({ length: 60 }, async (_, n) => {
    const answer = await fetchFromClient({ url: `http://host-${n}.example.test/` })
    order.push('hanging')
    return answer
  })
  await expect.poll(() => dns.questions.length).toBeGreaterThanOrEqual(120)
  await lookup('localhost')
  order.push('system')
  const answers = await Promise.all(hanging)
  expect(order[0]).toBe('system')
  expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['unavailable']))
})

test('localhost is resolved by the system, because it is not in the DNS (RFC 6761 §6.3)', async () => {
  const dns = await aDnsServer({ silent: true })
  const host = await aClientHost((_, response) => response.end('here'))
  const fetchFromClient = createFetchFromClient({ allowLoopback: true, lookup: createDnsLookup([dns.address]) })
  expect(await fetchFromClient({ url: host.origin })).toMatchObject({ kind: 'answered', body: 'here' })
  expect(dns.questions).toEqual([])
})
