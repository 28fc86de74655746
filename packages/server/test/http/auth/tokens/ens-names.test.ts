/**
 * ENS names in the claims of scope `profile`, with a real service, two RPC endpoints of a local chain, and servers of avatars: what lies, hangs
 * or is no picture changes a name or a picture only, and never `sub`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import type { SignedInAccount } from '../../../../src/domain/model/deps.ts'
import { makePictureUrl } from '../../../../src/domain/tokens/picture-link.ts'
import { addressPicture } from '../../../../src/pages/address-picture.ts'
import { parseAddress } from '../../../../src/protocol/wallet/address.ts'
import { claimsOf } from '../../../support/app.ts'
import { isDoneWithin, soon } from '../../../support/attempts.ts'
import { startClientHost } from '../../../support/client-host.ts'
import { ensTest } from '../../../support/ens.ts'
import { FILE, started } from '../../../support/fixtures.ts'
import { openIdTokens } from '../../../support/openid-app.ts'
import { gif, jpeg, png, webp } from '../../../support/pictures.ts'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { encode, requestOf, Walk } from '../../../support/walk.ts'
import { owner } from '../../../support/wallet-contracts.ts'

const PROFILE = { response_type: 'code', scope: 'openid profile' }
const MEGABYTE = Buffer.alloc(1_048_576)

/** What the server of the avatars sends, by path. */
const sent: Record<string, (response: ServerResponse) => unknown> = {
  '/png': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(png()),
  '/jpeg': (response) => response.end(jpeg()),
  '/gif': (response) => response.end(gif()),
  '/webp': (response) => response.end(webp('VP8X')),
  '/svg': (response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
  '/html': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('<script>alert(1)</script>'),
  '/huge-picture': (response) => response.end(png(30_000, 30_000)),
  '/missing': (response) => response.writeHead(404).end(png()),
  '/300-kB': (response) => response.end(Buffer.concat([png(), Buffer.alloc(300_000)])),
  '/100-MB': (response) => void sendOn(response),
  '/compressed': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(png())),
  '/redirect': (response) => response.writeHead(302, { location: '/png-behind-a-redirect' }).end(),
  '/png-behind-a-redirect': (response) => response.end(png()),
  '/hang': () => undefined,
}

/** Sends 100 MB, unless the connection is closed. */
async function sendOn(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-length': String(100 * MEGABYTE.length) }).write(png())
  for (let left = 100; left > 0 && !response.destroyed; left--) {
    response.write(MEGABYTE)
    await pause(1)
  }
}

const test = ensTest
  .extend('options', FILE, ({ chain, beside }) => ({
    chains: [{ chainId: 1, name: 'Ethereum', rpc: [chain.url, beside.url], home: true }],
    ensNames: true,
  }))
  .extend('client', FILE, ({ grantor }) => grantor.createClient({ scopes: ['openid', 'profile'] }))
  .extend(
    'host',
    FILE,
    started(
      () => startClientHost((request: IncomingMessage, response) => sent[request.url ?? '']?.(response), { tls: true }),
      (host) => host.close(),
    ),
  )

test.beforeEach(({ chain, beside }) => {
  chain.setFault(null)
  beside.setFault(null)
})

/** A look-up that the machine was too busy for is repeated a minute later. */
async function eventually<Value>(grantor: Grantor, look: () => Promise<Value>, wanted: Value): Promise<void> {
  const attempt = async () => {
    const found = await look()
    if (!isDeepStrictEqual(found, wanted)) grantor.clock.advance(60)
    return found
  }
  await soon(attempt, wanted)
}

const shortForm = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`

async function signIn(grantor: Grantor, client: TestClient, name: string): Promise<Walk> {
  const walk = new Walk(grantor, owner(name))
  await walk.signIn(requestOf(client, PROFILE))
  return walk
}

async function readUserinfo(grantor: Grantor, accessToken: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${accessToken}` }
  return (await send(grantor.authUrl, { path: '/oauth/userinfo', headers })).json()
}

/** The name in userinfo, and in an ID token, of an account that signs in now. */
async function namesOf(grantor: Grantor, client: TestClient, walk: Walk): Promise<unknown[]> {
  const tokens = await openIdTokens(walk, client, PROFILE)
  const userinfo = await readUserinfo(grantor, tokens.access_token)
  const idToken = claimsOf(tokens.id_token)
  for (const { sub, name, preferred_username: username } of [idToken, userinfo])
    expect([sub, username]).toEqual([walk.wallet.address, name])
  return [idToken.name, userinfo.name]
}

describe('The name in the claims of scope profile', () => {
  test('The name is the primary ENS name, in the ID token and in userinfo, and sub stays the address (ENSIP-3, OpenID Connect Core §5.7)', async ({
    grantor,
    client,
    ens,
  }) => {
    const { address } = owner('alice')
    await ens.setName(address, 'alice.eth')
    await ens.setAddress('alice.eth', address)
    const walk = await signIn(grantor, client, 'alice')
    await eventually(grantor, () => namesOf(grantor, client, walk), ['alice.eth', 'alice.eth'])
  })

  test('Without scope profile no RPC endpoint is called for a name', async ({ grantor, client, chain, ens }) => {
    const { address } = owner('reserved')
    await ens.setName(address, 'reserved.eth')
    await ens.setAddress('reserved.eth', address)
    const before = chain.asked.length
    const walk = new Walk(grantor, owner('reserved'))
    await walk.signIn(requestOf(client, { ...PROFILE, scope: 'openid' }))
    const { access_token: token, id_token: idToken } = await openIdTokens(walk, client, { ...PROFILE, scope: 'openid' })
    expect(await readUserinfo(grantor, token)).toEqual({ sub: address })
    expect(claimsOf(idToken)).not.toHaveProperty('name')
    expect(chain.asked.length).toBe(before)
  })

  test.for([
    ['names the name of another account', 'bob', 'carol.eth', 'carol'],
    ['has an invisible character', 'dave', 'da\u200bve.eth', 'dave'],
    ['has a look-alike character', 'erin', '\u0435rin.eth', 'erin'],
  ] as const)(
    'An account whose reverse record %s is shown by its address (ENSIP-3, ENSIP-15)',
    async ([, account, name, resolvesTo], { grantor, client, ens, chain }) => {
      const { address } = owner(account)
      await ens.setName(address, name)
      await ens.setAddress(name, owner(resolvesTo).address)
      const before = chain.asked.length
      const walk = await signIn(grantor, client, account)
      await expect.poll(() => chain.asked.length).toBeGreaterThan(before)
      for (let i = 0; i < 3; i++) expect(await namesOf(grantor, client, walk)).toEqual([shortForm(address), shortForm(address)])
    },
  )

  test('Two RPC endpoints that contradict each other give no name', async ({ grantor, client, ens, chain, beside }) => {
    const { address } = owner('frank')
    await ens.setName(address, 'frank.eth')
    await ens.setAddress('frank.eth', address)
    beside.setFault({ body: '{"jsonrpc":"2.0","id":ID,"result":"0x"}' })
    const before = chain.asked.length
    const walk = await signIn(grantor, client, 'frank')
    await expect.poll(() => chain.asked.length).toBeGreaterThan(before)
    for (let i = 0; i < 3; i++) expect(await namesOf(grantor, client, walk)).toEqual([shortForm(address), shortForm(address)])
  })

  test.for(['hang', 'trickle', 'huge', '500'] as const)(
    'An RPC endpoint that does not respond delays no token and no userinfo, is called once and logged by its host, and gives the name a minute after it works again: %s',
    async (fault, { grantor, client, ens, chain }) => {
      // The log has at most one line a minute.
      grantor.clock.advance(60)
      const account = `slow ${fault}`
      const { address } = owner(account)
      const name = `slow-${fault}.eth`
      await ens.setName(address, name)
      await ens.setAddress(name, address)
      chain.setFault(fault)
      const before = chain.asked.length
      // The timeout of an RPC endpoint is two seconds.
      const work = signIn(grantor, client, account)
      expect(await isDoneWithin(1_800, work)).toBe(true)
      const walk = await work
      const names = namesOf(grantor, client, walk)
      expect(await isDoneWithin(1_800, names)).toBe(true)
      expect(await names).toEqual([shortForm(address), shortForm(address)])
      expect(chain.asked.length).toBe(before + 1)
      const host = new URL(chain.url).host
      await expect
        .poll(() => grantor.logLines.findLast((line) => line.includes('names unavailable')))
        .toContain(`"problem":"${host}: `)
      expect(grantor.logLines.join('')).not.toContain('secret-key-of-the-operator')
      chain.setFault(null)
      await eventually(grantor, () => namesOf(grantor, client, walk), [name, name])
    },
  )

  test('A name that no longer resolves to the address is shown for an hour at most', async ({ grantor, client, ens }) => {
    const { address } = owner('grace')
    await ens.setName(address, 'grace.eth')
    await ens.setAddress('grace.eth', address)
    const walk = await signIn(grantor, client, 'grace')
    await eventually(grantor, () => namesOf(grantor, client, walk), ['grace.eth', 'grace.eth'])
    await ens.setAddress('grace.eth', owner('mallory').address)
    grantor.clock.advance(3_599)
    expect(await namesOf(grantor, client, walk)).toEqual(['grace.eth', 'grace.eth'])
    grantor.clock.advance(1)
    expect(await namesOf(grantor, client, walk)).toEqual([shortForm(address), shortForm(address)])
  })
})

describe('The name on the pages of the service', () => {
  test('The account page and the questions of the service show the name beside the address, and never in place of it', async ({
    grantor,
    client,
    ens,
  }) => {
    const { address } = owner('heidi')
    await ens.setName(address, 'heidi.eth')
    await ens.setAddress('heidi.eth', address)
    const walk = await signIn(grantor, client, 'heidi')
    const question = `/oauth/authorize?${encode(requestOf(client, { ...PROFILE, prompt: 'consent' }))}`
    const label = `<span><code class="account">${shortForm(address)}</code> <bdi>heidi.eth</bdi></span>`
    for (const path of ['/account', '/account/end-everything', '/oauth/logout', question])
      await eventually(grantor, async () => [path, (await walk.browse({ path })).body.includes(label)], [path, true])
  })

  test('An RPC endpoint that hangs delays no page: the page shows the address', async ({ grantor, client, ens, chain }) => {
    const { address } = owner('ivan')
    await ens.setName(address, 'ivan.eth')
    await ens.setAddress('ivan.eth', address)
    const walk = new Walk(grantor, owner('ivan'))
    await walk.signIn(requestOf(client, { ...PROFILE, scope: 'openid' }))
    chain.setFault('hang')
    const page = walk.browse({ path: '/account' })
    expect(await isDoneWithin(1_800, page)).toBe(true)
    expect((await page).body).toContain(`<code class="account">${shortForm(address)}</code>`)
    expect((await page).body).not.toContain('ivan.eth')
  })

  test('The login page looks no name up for the address in login_hint, which anyone can send', async ({
    grantor,
    client,
    ens,
    chain,
  }) => {
    const { address } = owner('judy')
    await ens.setName(address, 'judy.eth')
    await ens.setAddress('judy.eth', address)
    const before = chain.asked.length
    const walk = new Walk(grantor)
    await walk.challenge(requestOf(client, { ...PROFILE, login_hint: address }))
    expect(chain.asked.length).toBe(before)
  })
})

/** An account that signed in with a key. */
const accountOf = (address: string): SignedInAccount => ({
  wallet: parsedAddress(address),
  walletKind: 'ordinary',
  chainId: 1,
  receiptId: 'r',
})

/** The URL of the picture in the claims, without a sign-in. */
const pictureUrl = ({ deps }: Grantor, address: string): string => makePictureUrl(deps, accountOf(address))

async function fetchPicture(url: string): Promise<{ headers: Headers; bytes: Buffer }> {
  const response = await fetch(url)
  expect(response.status).toBe(200)
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

const digest = async (url: string) => (await fetchPicture(url)).bytes.toString('hex')
const computed = (address: string) => addressPicture(address).toString('hex')

describe('The picture of a name (ENSIP-12)', () => {
  test.for([
    ['png', 'image/png', png()],
    ['jpeg', 'image/jpeg', jpeg()],
    ['gif', 'image/gif', gif()],
    ['webp', 'image/webp', webp('VP8X')],
  ] as const)(
    'The service serves a %s from its own origin, with the type of its bytes whatever its server says, and no script runs in it',
    async ([kind, type, bytes], { grantor, ens, host }) => {
      const { address } = owner(`avatar ${kind}`)
      await ens.setName(address, `${kind}.eth`)
      await ens.setAddress(`${kind}.eth`, address)
      await ens.setAvatar(`${kind}.eth`, `${host.origin}/${kind}`)
      const url = pictureUrl(grantor, address)
      expect(new URL(url).origin).toBe(grantor.authUrl)
      await eventually(grantor, () => digest(url), bytes.toString('hex'))
      const { headers } = await fetchPicture(url)
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': type,
        'cache-control': 'public, max-age=3600',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      })
      expect(host.requests.filter(({ path }) => path === `/${kind}`)).toHaveLength(1)
    },
  )

  test('A picture in a data URI is served, and no server is called', async ({ grantor, ens, host }) => {
    const { address } = owner('data')
    await ens.setName(address, 'data.eth')
    await ens.setAddress('data.eth', address)
    await ens.setAvatar('data.eth', `data:image/png;base64,${png().toString('base64')}`)
    const before = host.connections()
    await eventually(grantor, () => digest(pictureUrl(grantor, address)), png().toString('hex'))
    expect(host.connections()).toBe(before)
  })

  test.for(['/svg', '/html', '/huge-picture', '/missing', '/300-kB', '/100-MB', '/compressed', '/redirect', '/hang'])(
    'The computed picture is served in place of %s, and the server of the avatar is not called again for five minutes',
    async (path, { grantor, ens, host }) => {
      const name = `bad${path.slice(1).toLowerCase()}.eth`
      const { address } = owner(name)
      await ens.setName(address, name)
      await ens.setAddress(name, address)
      await ens.setAvatar(name, `${host.origin}${path}`)
      const url = pictureUrl(grantor, address)
      const calls = () => host.requests.filter((request) => request.path === path).length
      await eventually(grantor, async () => [await digest(url), calls()], [computed(address), 1])
      await eventually(grantor, async () => await grantor.deps.accountNames?.findPicture(parsedAddress(address)), null)
      const { headers, bytes } = await fetchPicture(url)
      expect(bytes.toString('hex')).toBe(computed(address))
      expect(headers.get('cache-control')).toBe('public, max-age=300')
      expect(calls()).toBe(1)
      expect(host.requests.map((request) => request.path)).not.toContain('/png-behind-a-redirect')
    },
  )

  test.for([
    ['SVG in a data URI', 'data:image/svg+xml;base64,PHN2Zy8+'],
    ['SVG that says to be a PNG', `data:image/png;base64,${Buffer.from('<svg onload="alert(1)"/>').toString('base64')}`],
    ['a script', 'javascript:alert(1)'],
    ['plain http', 'http://localhost/png'],
    ['a name and a password', 'https://user:password@localhost/png'],
    ['ipfs', 'ipfs://QmRRPWG96cmgTn2qSzjwr2qvfNEuhunv6FNeMFGa9bx6mQ'],
    ['a token', 'eip155:1/erc721:0xb7F7F6C52F2e2fdb1963Eab30438024864c313F6/2430'],
    ['a file', 'file:///etc/passwd'],
    ['no address', '%%%'],
  ] as const)('An avatar that is %s is not served', async ([what, avatar], { grantor, ens }) => {
    const name = `${what.toLowerCase().replaceAll(' ', '-')}.eth`
    const { address } = owner(name)
    await ens.setName(address, name)
    await ens.setAddress(name, address)
    await ens.setAvatar(name, avatar)
    const { accountNames } = grantor.deps
    await eventually(grantor, async () => await accountNames?.find(accountOf(address)), name)
    expect(await accountNames?.findPicture(parsedAddress(address))).toBeNull()
    expect(await digest(pictureUrl(grantor, address))).toBe(computed(address))
  })

  test('A picture that another service signed, or that no service signed, is computed, and no other server is called', async ({
    grantor,
    chain,
    host,
    ens,
  }) => {
    const { address } = owner('unsigned')
    await ens.setName(address, 'unsigned.eth')
    await ens.setAddress('unsigned.eth', address)
    await ens.setAvatar('unsigned.eth', `${host.origin}/png`)
    const before = [chain.asked.length, host.connections()]
    const [, , , , , proof = ''] = pictureUrl(grantor, owner('another').address).split('/')
    const [keyId = '', mac = ''] = proof.split('.')
    const forged = [proof, `${keyId}.`, `0000000000.${mac}`, `${keyId}.${'A'.repeat(43)}`, 'x', '%00', '__proto__']
    const plain = `${grantor.authUrl}/oauth/picture/${address}`
    for (const url of [plain, ...forged.map((each) => `${plain}/${each}`)])
      expect([url, await digest(url)]).toEqual([url, computed(address)])
    expect([chain.asked.length, host.connections()]).toEqual(before)
  })

  test('No request for a picture, a name or userinfo writes a row', async ({ grantor, client, ens, host }) => {
    const { address } = owner('rows')
    await ens.setName(address, 'rows.eth')
    await ens.setAddress('rows.eth', address)
    await ens.setAvatar('rows.eth', `${host.origin}/gif`)
    const walk = await signIn(grantor, client, 'rows')
    const { access_token: token } = await openIdTokens(walk, client, PROFILE)
    const before = await grantor.rows()
    await eventually(grantor, async () => (await readUserinfo(grantor, token)).name, 'rows.eth')
    const { picture } = await readUserinfo(grantor, token)
    expect(picture).toBe(pictureUrl(grantor, address))
    await eventually(grantor, () => digest(String(picture)), gif().toString('hex'))
    expect(await grantor.rows()).toEqual(before)
  })

  test('Outside of development an avatar on this machine or in a private network is not called', async ({
    chain,
    beside,
    ens,
    host,
  }) => {
    const grantor = await startGrantor({
      chains: [{ chainId: 1, name: 'Ethereum', rpc: [chain.url, beside.url], home: true }],
      ensNames: true,
      allowLoopback: false,
    })
    const before = host.connections()
    const hosts = [
      'localhost',
      '127.0.0.1',
      '[::1]',
      '127.1',
      '0x7f000001',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
      '10.0.0.1',
      '169.254.169.254',
    ]
    for (const [index, each] of hosts.entries()) {
      const name = `inside-${index}.eth`
      const { address } = owner(name)
      await ens.setName(address, name)
      await ens.setAddress(name, address)
      await ens.setAvatar(name, `https://${each}:${host.port}/png`)
      await eventually(grantor, async () => await grantor.deps.accountNames?.find(accountOf(address)), name)
      const url = pictureUrl(grantor, address)
      for (let i = 0; i < 2; i++) expect([each, await digest(url)]).toEqual([each, computed(address)])
    }
    expect(host.connections()).toBe(before)
    await grantor.close()
  })
})

function parsedAddress(text: string) {
  const parsed = parseAddress(text)
  if (parsed.kind !== 'address') throw new Error(`${text} is not an address`)
  return parsed.address
}
