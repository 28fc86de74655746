/** The text that a wallet signs (ERC-4361). The auth service composes the text from the sealed challenge, each time the same. */
import { ParsedMessage as SiweParsedMessage } from '@signinwithethereum/siwe-parser'
import { ParsedMessage as SpruceParsedMessage } from '@spruceid/siwe-parser'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { LOGIN_SERVER, movingTo, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let client: TestClient

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ scopes: ['enhancement', 'profile'] })
})
afterAll(() => grantor.close())

type Login = { walk: Walk; challenge: string; text: string }

async function textFor(of: TestClient, more = {}, fields: Record<string, unknown> = {}): Promise<Login> {
  const walk = new Walk(grantor)
  const challenge = await walk.challenge(requestOf(of, more))
  return { walk, challenge, text: await textOf(walk, challenge, fields) }
}

async function textOf(walk: Walk, challenge: string, fields: Record<string, unknown> = {}): Promise<string> {
  const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1, ...fields }
  const answer = await walk.loginApi('/login/message', claim)
  expect(answer.status).toBe(200)
  return answer.json().message as string
}

/** Parses the text with both parsers that wallets use, and expects the same fields. */
function parse(text: string): SiweParsedMessage {
  const parsed = new SiweParsedMessage(text)
  const spruce = new SpruceParsedMessage(text)
  expect(spruce.domain).toBe(parsed.domain)
  expect(spruce.nonce).toBe(parsed.nonce)
  expect(spruce.statement).toBe(parsed.statement)
  return parsed
}

describe('The fields of the text', () => {
  test('The signed text has the login host, the wallet, the redirect URI, the chain, the client, its start and its end (ERC-5573)', async () => {
    const at = grantor.clock.now()
    const { text } = await textFor(client)
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
    const parsed = parse(text)
    expect(parsed).toMatchObject({
      domain: new URL(grantor.loginUrl).host,
      address: testWallet(0).address,
      uri: client.redirectUris[0],
      version: '1',
      chainId: 1,
      issuedAt: iso(at),
      expirationTime: iso(at + 30 * 86_400),
      resources: [`urn:uuid:${client.id}`, expect.stringMatching(/^urn:recap:[A-Za-z0-9_-]+$/)],
    })
  })

  test('Each challenge has its own nonce of at least 128 bits, and always the same text', async () => {
    const logins = await Promise.all(Array.from({ length: 50 }, () => textFor(client)))
    const parsed = logins.map(({ text }) => parse(text))
    // 62^22 > 2^130
    for (const { nonce } of parsed) expect(nonce).toMatch(/^[A-Za-z0-9]{22}$/)
    expect(new Set(parsed.map(({ nonce }) => nonce)).size).toBe(50)
    // 1,100 random characters contain nearly all of the 62.
    expect(new Set(parsed.flatMap(({ nonce }) => [...nonce])).size).toBeGreaterThan(55)
    const [{ walk, challenge, text } = {} as Login] = logins
    expect(await textOf(walk, challenge)).toBe(text)
  })

  test('The domain in the signed text is the configured one, and never comes from a header or from the request', async () => {
    const { walk, challenge, text } = await textFor(client)
    const answer = await send(grantor.authUrl, {
      method: 'POST',
      path: '/login/message',
      headers: {
        authorization: LOGIN_SERVER,
        'content-type': 'application/json',
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        origin: 'https://evil.example',
        referer: 'https://evil.example/',
      },
      body: JSON.stringify({ login_challenge: challenge, address: walk.wallet.address, chain_id: 1, domain: 'evil.example' }),
    })
    expect(answer.json().message).toBe(text)
    expect(text).not.toContain('evil')
  })

  test('The statement of the signed text names the app, its host, the permissions and the day on which the permissions end', async () => {
    const { text } = await textFor(client, { scope: 'profile enhancement' })
    const until = new Date((grantor.clock.now() + 30 * 86_400) * 1000).toISOString().slice(0, 10)
    expect(parse(text).statement).toBe(
      `Allow 'MyApp' at app.example.net until ${until}. No gas, no transfer. ` +
        `I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement+profile' for '${grantor.authUrl}'.`,
    )
  })

  test('The signed text is the same for a client with signed consent and for one with session consent', async () => {
    const { text } = await textFor(await grantor.createClient({ consent: 'signed' }))
    const { text: other } = await textFor(await grantor.createClient({ consent: 'session' }))
    const withoutIds = (of: string) => of.replace(/^(- urn:uuid:|Nonce: ).*$/gm, '$1')
    expect(withoutIds(text)).toBe(withoutIds(other))
  })

  test('The statement of the signed text names each requested resource with its permissions (RFC 8707)', async () => {
    const resources = ['https://b.example.com/', 'https://a.example.com/']
    const { text } = await textFor(await grantor.createClient({ resources }), { resource: resources })
    expect(parse(text).statement).toMatch(
      / \(1\) 'oauth': 'enhancement' for 'https:\/\/a\.example\.com\/'\. \(2\) 'oauth': 'enhancement' for 'https:\/\/b\.example\.com\/'\.$/,
    )
  })

  test('The grant has the scopes of the signed text, and expires at the time in the text', async () => {
    const { walk, challenge } = await textFor(client, { scope: 'profile' })
    const page = await walk.complete(await walk.prove(challenge))
    const [, code = ''] = /code=([A-Za-z0-9._-]+)/.exec(page.body) ?? []
    const tokens = (await walk.exchange(client, code)).json()
    expect(tokens.scope).toBe('profile')
    const [grant] = await grantor.store.grants.listGrants({ clientId: client.id, limit: 1 })
    expect(grant?.expiresAt).toBe(grantor.clock.now() + 30 * 86_400)
  })
})

describe('Sign-ins without an app', () => {
  test.each([
    ['to the account page', '/account', 'Sign in to see and end what apps may do for this address.'],
    ['to end everything', '/account/end-everything', 'End everything: every app loses all access that this address gave it,'],
  ])(
    'The text of a sign-in %s names only the login server, allows no app anything, and expires in ten minutes',
    async (_, path, words) => {
      const walk = new Walk(grantor)
      const page = await walk.browse({ method: 'GET', path })
      const to = page.location || movingTo(await walk.postForm(path, {}))
      const parsed = parse(await textOf(walk, parameterOf(to, 'login_challenge')))
      expect(parsed).toMatchObject({ domain: new URL(grantor.loginUrl).host, uri: `${grantor.loginUrl}/login` })
      expect(parsed.statement?.startsWith(words)).toBe(true)
      expect(parsed.statement).toContain('This allows no app anything.')
      expect(parsed.resources).toBeUndefined()
      expect(Date.parse(parsed.expirationTime ?? '') - Date.parse(parsed.issuedAt)).toBe(600_000)
    },
  )
})

describe('Names and hosts of apps in the text', () => {
  test.each([
    'Ünïcödé Äpp',
    'Приложение',
    '株式会社',
    '🦊🦊🦊',
    '"quoted" <b>%20</b>',
    "O'Neill & Sons",
    'Evil. No permissions',
    'Bank at bank.example',
    `URI: https://evil.example Version: 1`,
    'x'.repeat(80),
    '١٢٣ عربى',
  ])('Both parsers can read the text for an app with the name %s, and the statement has its host', async (name) => {
    const ownClient = await grantor.createClient({ name, redirectUris: ['https://own.example.net:8443/cb'] })
    const { walk, challenge, text } = await textFor(ownClient)
    expect(text).toMatch(/^[\x20-\x7e\n]+$/)
    expect(text).not.toMatch(/["%<>]/)
    expect(parse(text).statement).toContain('at own.example.net:8443 until ')
    expect((await walk.complete(await walk.prove(challenge))).status).toBe(200)
  })

  test.each([
    ['https://[2001:db8::1]:8443/cb', '[2001:db8::1]:8443'],
    ['http://127.0.0.1:5000/cb', '127.0.0.1:5000'],
    ['https://xn--bcher-kva.example/cb', 'xn--bcher-kva.example'],
    ['https://a_b.example.net/cb', 'a_b.example.net'],
  ])('The statement has the host of the redirect URI %s', async (uri, host) => {
    const native = await grantor.createClient({ type: 'native', redirectUris: [uri] })
    const { walk, challenge, text } = await textFor(native, PKCE)
    expect(parse(text).statement).toContain(`at ${host} until `)
    expect((await walk.complete(await walk.prove(challenge))).status).toBe(200)
  })

  test('An app with a private-use scheme is named as an app on the device, not as a host (RFC 8252 §7.1)', async () => {
    const native = await grantor.createClient({ name: 'Bank', type: 'native', redirectUris: ['login.bank.example:/cb'] })
    const { walk, challenge, text } = await textFor(native, PKCE)
    const { statement = '' } = parse(text)
    expect(statement).toContain("Allow 'Bank' (an app that opens login.bank.example: links) until ")
    expect(statement).not.toContain('at login.bank.example')
    expect((await walk.complete(await walk.prove(challenge))).status).toBe(200)
  })
})

describe('The text when the signature arrives', () => {
  test('The signed text is composed again byte for byte, even almost ten minutes later and after the app was renamed', async () => {
    const renamed = await grantor.createClient()
    const { walk, challenge, text } = await textFor(renamed)
    await grantor.store.clients.replaceClient({ ...renamed, name: 'Another Name' })
    await grantor.noticeChanges()
    grantor.clock.advance(590)
    expect(await textOf(walk, challenge)).toBe(text)
    const proof = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1, signature: walk.wallet.sign(text) }
    expect((await walk.loginApi('/login/accept', proof)).status).toBe(200)
  })

  test('Another wallet gets another text, and a signature by the first wallet over either text is refused', async () => {
    const { walk, challenge, text } = await textFor(client)
    const other = testWallet(1)
    const second = await textOf(walk, challenge, { address: other.address })
    expect(second).toBe(text.replace(walk.wallet.address, other.address))
    const proof = { login_challenge: challenge, address: other.address, chain_id: 1 }
    expect((await walk.loginApi('/login/accept', { ...proof, signature: walk.wallet.sign(text) })).status).toBe(401)
    expect((await walk.loginApi('/login/accept', { ...proof, signature: walk.wallet.sign(second) })).status).toBe(401)
    expect((await walk.loginApi('/login/accept', { ...proof, signature: other.sign(second) })).status).toBe(200)
  })

  test('A signature over the text of one challenge is refused for another challenge', async () => {
    const one = await textFor(client)
    const two = await textFor(client)
    const proof = {
      login_challenge: two.challenge,
      address: two.walk.wallet.address,
      chain_id: 1,
      signature: one.walk.wallet.sign(one.text),
    }
    expect((await two.walk.loginApi('/login/accept', proof)).status).toBe(401)
  })
})
