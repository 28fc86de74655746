/**
 * Calls to the addresses of clients, against real servers on this machine: servers of clients, and a server that must not be
 * reached.
 */
import type { LookupAddress, lookup as lookupName } from 'node:dns'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createFetchFromClient } from '../../../src/outbound/http/fetch-from-client.ts'
import { TEST_CERTIFICATE } from '../../support/certificates.ts'
import { aClientHost } from '../../support/client-host.ts'

const inDevelopment = createFetchFromClient({ allowLoopback: true, ca: TEST_CERTIFICATE })
const inProduction = createFetchFromClient({ allowLoopback: false, ca: TEST_CERTIFICATE })

/** Resolves names to the given addresses, one list per lookup, and records each name that is looked up. */
function namesLeadTo(...places: string[][]) {
  const lookups: string[] = []
  const lookup = ((name: string, _options: unknown, callback: (error: Error | null, found: LookupAddress[]) => void) => {
    const found = places[Math.min(lookups.length, places.length - 1)] ?? []
    lookups.push(name)
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof lookupName
  return { lookups, lookup }
}

test("A client's keys are read over https, and a logout token is posted as a form, without credentials or cookies", async () => {
  const host = await aClientHost((_, response) => response.end('{"keys":[]}'), { tls: true })
  expect(await inDevelopment({ url: `${host.origin}/jwks.json?a=b` })).toEqual({
    kind: 'answered',
    status: 200,
    headers: {},
    body: '{"keys":[]}',
  })
  expect(await inDevelopment({ url: `${host.origin}/logout`, form: { logout_token: 'a+b c&d' } })).toMatchObject({ status: 200 })
  expect(host.requests).toMatchObject([
    { method: 'GET', path: '/jwks.json?a=b', body: '' },
    {
      method: 'POST',
      path: '/logout',
      body: 'logout_token=a%2Bb+c%26d',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    },
  ])
  expect(host.requests[0]?.headers.authorization, 'no credentials are sent').toBeUndefined()
  expect(host.requests[0]?.headers.cookie).toBeUndefined()
})

test('Outside of development plain http is refused, and other schemes are always refused', async () => {
  const host = await aClientHost((_, response) => response.end('{}'))
  const refused = { kind: 'unavailable', why: 'not_https' }
  expect(await inProduction({ url: host.origin })).toEqual(refused)
  for (const url of ['ftp://localhost/', 'file:///etc/passwd', 'data:,x', 'javascript:0', 'no url']) {
    expect(await inDevelopment({ url }), `call of ${url}`).toEqual(refused)
  }
  expect(host.connections()).toBe(0)
  expect(await inDevelopment({ url: host.origin })).toMatchObject({ kind: 'answered' })
})

test('An address of this machine or its network is never called, in any notation', async () => {
  const host = await aClientHost((_, response) => response.end('{}'), { tls: true })
  const names = [
    'localhost',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ]
  for (const name of [...names, '169.254.169.254', '10.0.0.1', '[fe80::1]', '[fd00::1]', '[64:ff9b::7f00:1]', '[::]']) {
    expect(await inProduction({ url: `https://${name}:${host.port}/` }), `call of ${name}`).toEqual({
      kind: 'unavailable',
      why: 'address_not_public',
    })
  }
  expect(host.connections()).toBe(0)
})

test('In development this machine may be called, but not the other addresses of its network', async () => {
  for (const name of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '[fe80::1]', '[::ffff:127.0.0.1]']) {
    expect(await inDevelopment({ url: `http://${name}/` }), `call of ${name}`).toEqual({
      kind: 'unavailable',
      why: 'address_not_public',
    })
  }
})

test("A name that resolves to this machine's network is not called, even if it also resolves to a public address", async () => {
  const host = await aClientHost((_, response) => response.end('{}'), { tls: true })
  for (const places of [
    ['127.0.0.1'],
    ['93.184.215.14', '127.0.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['2606:4700::1', '10.0.0.1'],
    [],
  ]) {
    const { lookup } = namesLeadTo(places)
    const fetchFromClient = createFetchFromClient({ allowLoopback: false, ca: TEST_CERTIFICATE, lookup })
    const answer = await fetchFromClient({ url: `https://keys.example.test:${host.port}/` })
    expect(answer, `where it leads to ${places.join()}`).toEqual({ kind: 'unavailable', why: 'address_not_public' })
  }
  expect(host.connections()).toBe(0)
})

test('A name is resolved once, and the checked address is the one connected to, so DNS rebinding has no effect', async () => {
  const host = await aClientHost((_, response) => response.end('first'), { tls: true })
  const { lookups, lookup } = namesLeadTo(['127.0.0.1'], ['127.0.0.66'])
  const fetchFromClient = createFetchFromClient({ allowLoopback: true, ca: TEST_CERTIFICATE, lookup })
  expect(await fetchFromClient({ url: `https://keys.example.test:${host.port}/` })).toMatchObject({
    kind: 'answered',
    body: 'first',
  })
  expect(lookups).toEqual(['keys.example.test'])
})

test("A redirect of a client's server is not followed", async () => {
  const neighbour = await aClientHost((_, response) => response.end('secret'))
  for (const status of [301, 302, 303, 307, 308]) {
    const host = await aClientHost((_, response) => response.writeHead(status, { location: neighbour.origin }).end())
    expect(await inDevelopment({ url: host.origin })).toEqual({ kind: 'unavailable', why: 'redirect' })
  }
  expect(neighbour.connections()).toBe(0)
})

test('A server without a trusted certificate for its name gets no request', async () => {
  const host = await aClientHost((_, response) => response.end('{}'), { tls: true })
  const certificate = { kind: 'unavailable', why: 'certificate' }
  expect(await createFetchFromClient({ allowLoopback: true })({ url: host.origin }), 'of an unknown issuer').toEqual(certificate)
  const { lookup } = namesLeadTo(['127.0.0.1'])
  const elsewhere = createFetchFromClient({ allowLoopback: true, ca: TEST_CERTIFICATE, lookup })
  expect(await elsewhere({ url: `https://another.example.test:${host.port}/` }), 'for another name').toEqual(certificate)
  expect(host.requests).toEqual([])
})

test('A server or a name lookup that does not complete is abandoned after the time limit', async () => {
  const patience = { allowLoopback: true, timeoutMs: 200 }
  const silent = await aClientHost(() => undefined)
  const trickling = await aClientHost((_, response) => {
    response.writeHead(200)
    const trickle = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(trickle))
  })
  const timedOut = { kind: 'unavailable', why: 'timed_out' }
  for (const host of [silent, trickling]) expect(await createFetchFromClient(patience)({ url: host.origin })).toEqual(timedOut)
  const lookup = (() => undefined) as unknown as typeof lookupName
  expect(await createFetchFromClient({ ...patience, lookup })({ url: 'https://keys.example.test/' })).toEqual(timedOut)
})

test('A response is read up to 64 KiB, and a longer one is refused, whatever length it announces', async () => {
  const fits = await aClientHost((_, response) => response.end('x'.repeat(65_536)))
  expect(await inDevelopment({ url: fits.origin })).toMatchObject({ kind: 'answered', body: 'x'.repeat(65_536) })
  const tooLong = await aClientHost((_, response) => response.end('x'.repeat(65_537)))
  expect(await inDevelopment({ url: tooLong.origin })).toEqual({ kind: 'unavailable', why: 'too_long' })
  let sent = 0
  const endless = await aClientHost((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
    }
    response.on('drain', more)
    more()
  })
  expect(await inDevelopment({ url: endless.origin })).toEqual({ kind: 'unavailable', why: 'too_long' })
  expect(sent).toBeLessThan(2e7)
})

test('A compressed response is refused and not decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  const host = await aClientHost((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  expect(await inDevelopment({ url: host.origin })).toEqual({ kind: 'unavailable', why: 'compressed' })
  expect(host.requests[0]?.headers['accept-encoding']).toBe('identity')
})

test('A server that does not speak HTTP or is not running is reported as unreachable', async () => {
  const host = await aClientHost((request) => request.socket.end('nonsense\r\n\r\n'))
  expect(await inDevelopment({ url: host.origin })).toEqual({ kind: 'unavailable', why: 'unreachable' })
  await host.close()
  expect(await inDevelopment({ url: host.origin })).toEqual({ kind: 'unavailable', why: 'unreachable' })
})

test('The number of concurrent calls is limited, and each completed call makes room for another', async () => {
  const waiting: (() => void)[] = []
  const host = await aClientHost((_, response) => void waiting.push(() => response.end('ok')))
  const fetchFromClient = createFetchFromClient({ allowLoopback: true, concurrency: 2 })
  const two = [fetchFromClient({ url: host.origin }), fetchFromClient({ url: host.origin })]
  expect(await fetchFromClient({ url: host.origin })).toEqual({ kind: 'unavailable', why: 'busy' })
  await expect.poll(() => waiting.length).toBe(2)
  for (const end of waiting.splice(0)) end()
  expect(await Promise.all(two)).toMatchObject([{ body: 'ok' }, { body: 'ok' }])
  const next = fetchFromClient({ url: host.origin })
  await expect.poll(() => waiting.length).toBe(1)
  waiting[0]?.()
  expect(await next).toMatchObject({ body: 'ok' })
})

test('A picture is requested as a picture, and its bytes arrive unchanged', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  const host = await aClientHost((_, response) => response.end(bytes))
  const fetchPicture = createFetchFromClient({ allowLoopback: true, accept: 'image/png', bodyAs: 'latin1' })
  const answer = await fetchPicture({ url: host.origin })
  expect(answer.kind === 'answered' && Buffer.from(answer.body, 'latin1').equals(bytes)).toBe(true)
  expect(host.requests[0]?.headers.accept).toBe('image/png')
})

test("The operator's own server may be in a private network over https, and plain http does not leave this machine", async () => {
  const host = await aClientHost((_, response) => response.end('yes'), { tls: true })
  const plain = await aClientHost((_, response) => response.end('yes'))
  const callTo = (url: string, places: string[] = ['127.0.0.1']) => {
    const { lookup } = namesLeadTo(places)
    return createFetchFromClient({ allowLoopback: false, isOfOperator: true, ca: TEST_CERTIFICATE, lookup, timeoutMs: 500 })({
      url,
    })
  }
  expect(await callTo(`https://keys.example.test:${host.port}/`)).toMatchObject({ kind: 'answered', body: 'yes' })
  expect(await callTo(`http://hook.localhost:${plain.port}/`)).toMatchObject({ kind: 'answered', body: 'yes' })
  for (const places of [['10.0.0.1'], ['93.184.215.14'], ['127.0.0.1', '10.0.0.1']])
    expect(await callTo(`http://hook.localhost:${plain.port}/`, places)).toEqual({
      kind: 'unavailable',
      why: 'address_not_public',
    })
  expect(await callTo('http://10.0.0.1/')).toEqual({ kind: 'unavailable', why: 'address_not_public' })
  expect(await callTo('ftp://hook.example.test/')).toEqual({ kind: 'unavailable', why: 'not_https' })
})

test('With a pace, calls begin one after the other, and a call that waits for its beginning keeps its place', async () => {
  const host = await aClientHost((_, response) => response.end('{}'))
  const pauses: (() => void)[] = []
  const pause = () => new Promise<void>((resolve) => pauses.push(resolve))
  const paced = createFetchFromClient({ allowLoopback: true, concurrency: 2, pause })
  const paths = () => host.requests.map(({ path }) => path)
  expect(await paced({ url: `${host.origin}/first` })).toMatchObject({ kind: 'answered' })
  const second = paced({ url: `${host.origin}/second` })
  const third = paced({ url: `${host.origin}/third` })
  expect(await paced({ url: `${host.origin}/fourth` })).toEqual({ kind: 'unavailable', why: 'busy' })
  // The second request would have arrived before this one.
  await inDevelopment({ url: `${host.origin}/other` })
  expect(paths()).toEqual(['/first', '/other'])
  pauses.shift()?.()
  await second
  expect(paths()).toEqual(['/first', '/other', '/second'])
  await expect.poll(() => pauses.length).toBe(1)
  pauses.shift()?.()
  await third
  expect(paths()).toEqual(['/first', '/other', '/second', '/third'])
})
