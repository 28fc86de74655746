/** What an id that is not registered costs, whoever sends it. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rotateClientSecret } from '../../src/domain/clients/register-client.ts'
import { asserting, assertionOf, newClientKey, post } from '../support/client-key.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { basic, encode, Walk } from '../support/walk.ts'

const FORM = 'application/x-www-form-urlencoded'
const key = newClientKey()

let grantor: Grantor
let lookUps: string[]
beforeEach(async () => {
  grantor = await startGrantor()
  lookUps = []
  const { readClient } = grantor.store.clients
  grantor.store.clients.readClient = async (id) => {
    lookUps.push(id)
    // Longer than an unknown id is remembered.
    grantor.clock.advance(2)
    return readClient(id)
  }
})
afterEach(() => grantor.close())

const WAYS: Record<string, (id: string) => Promise<{ status: number }>> = {
  'Basic at the token endpoint': (id) => post(grantor, '/oauth/token', {}, { authorization: basic(id, 'secret') }),
  'Basic at introspection': (id) => post(grantor, '/oauth/introspect', { token: 'x' }, { authorization: basic(id, 'secret') }),
  'client_id at revocation': (id) => post(grantor, '/oauth/revoke', { token: 'x', client_id: id }),
  'client_id at the pushed request': (id) => post(grantor, '/oauth/par', { client_id: id }),
  'a secret in the body': (id) => post(grantor, '/oauth/token', { client_id: id, client_secret: 'secret' }),
  'an assertion': async (id) => post(grantor, '/oauth/token', asserting(await assertionOf(grantor, id, key))),
  'the authorization request': (id) => new Walk(grantor).authorize({ client_id: id, redirect_uri: 'https://app.example/' }),
  'the logout request': (id) => new Walk(grantor).browse({ path: `/oauth/logout?${encode({ client_id: id })}` }),
}

describe.each(Object.entries(WAYS))('%s', (_, ask) => {
  test('with an id that nobody has is looked up once and refused', async () => {
    const id = randomUUID()
    expect((await ask(id)).status).toBeOneOf([400, 401])
    expect(lookUps).toEqual([id])
  })

  test.each([
    'nobody',
    'x'.repeat(3000),
    '\0',
    `${randomUUID()}\0`,
    `${randomUUID()}\n`,
    '\u001b[31m',
    randomUUID().toUpperCase(),
  ])('with an id that cannot be one is refused without a look-up: %.40j', async (id) => {
    expect((await ask(id)).status).toBeOneOf([400, 401])
    expect(lookUps).toEqual([])
  })
})

describe('A client authentication that fails costs one look-up, whether the client is unknown, disabled or registered (RFC 6749 §2.3.1)', () => {
  const AUTHENTICATED: Record<string, (client: TestClient) => Promise<{ status: number }>> = {
    'a wrong secret at the token endpoint': ({ id }) => post(grantor, '/oauth/token', {}, { authorization: basic(id, 'wrong') }),
    'a wrong secret at introspection': ({ id }) =>
      post(grantor, '/oauth/introspect', { token: 'x' }, { authorization: basic(id, 'wrong') }),
    'a wrong secret at revocation': ({ id }) =>
      post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(id, 'wrong') }),
    'a wrong secret at the pushed request': ({ id }) => post(grantor, '/oauth/par', {}, { authorization: basic(id, 'wrong') }),
    'a wrong secret in the body': ({ id }) => post(grantor, '/oauth/token', { client_id: id, client_secret: 'wrong' }),
    'the right secret, sent in the body': ({ id, secret }) =>
      post(grantor, '/oauth/token', { client_id: id, client_secret: secret }),
    'no secret': ({ id }) => post(grantor, '/oauth/token', { client_id: id }),
    'an assertion signed with another key': async ({ id }) =>
      post(grantor, '/oauth/token', asserting(await assertionOf(grantor, id, newClientKey()))),
  }
  const unknown = async (): Promise<TestClient> => ({ ...(await grantor.createClient()), id: randomUUID() })
  const disabled = async (): Promise<TestClient> => {
    const client = await grantor.createClient()
    await grantor.store.clients.replaceClient({ ...client, disabledAt: grantor.clock.now() })
    await grantor.noticeChanges()
    return client
  }
  const withKey = (): Promise<TestClient> => grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [key.jwk] } })
  const KINDS = { unknown, disabled, 'with a secret': () => grantor.createClient(), 'with a key': withKey }

  test.each(
    Object.entries(AUTHENTICATED).flatMap(([way, ask]) =>
      Object.entries(KINDS).map(([kind, create]) => ({ way, kind, ask, create })),
    ),
  )('$way, for a client $kind', async ({ ask, create }) => {
    const client = await create()
    // The client is in memory, as the clients are that are in use.
    await grantor.deps.clients.find(client.id)
    grantor.clock.advance(2)
    lookUps = []
    expect((await ask(client)).status).toBe(401)
    expect(lookUps).toEqual([client.id])
  })

  test('A failure that follows within a second costs no look-up, whichever the client', async () => {
    const clients = await Promise.all(Object.values(KINDS).map((create) => create()))
    const fail = ({ id }: TestClient) => post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(id, 'wrong') })
    for (const client of clients) {
      await fail(client)
      lookUps = []
      expect((await fail(client)).status).toBe(401)
      expect(lookUps).toEqual([])
    }
  })
})

test('A secret that was set on another node a moment ago is accepted, although the client in memory has the old one', async () => {
  const client = await grantor.createClient()
  const ask = (secret: string) =>
    post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(client.id, secret), 'content-type': FORM })
  expect((await ask(client.secret)).status).toBe(200)
  grantor.clock.advance(2)
  const rotated = rotateClientSecret(client, 60, grantor.clock.now())
  await grantor.store.clients.replaceClient(rotated.client)
  expect((await ask(rotated.secret)).status).toBe(200)
})

test('a known client that fails is looked up once, and the log names it (RFC 6749 §2.3.1)', async () => {
  const client = await grantor.createClient()
  await post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(client.id, 'wrong'), 'content-type': FORM })
  expect(lookUps).toEqual([client.id])
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'secret_wrong', client_id: client.id })
})
