/** The reads of the store that an unregistered or failing client causes. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rotateClientSecret } from '../../../../src/domain/clients/register-client.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { basic, encode, Walk } from '../../../support/walk.ts'

const FORM = 'application/x-www-form-urlencoded'
const key = newClientKey()

let grantor: Grantor
let lookUps: string[]
beforeAll(async () => {
  grantor = await startGrantor()
  const { readClient } = grantor.store.clients
  grantor.store.clients.readClient = async (id) => {
    lookUps.push(id)
    // Unknown ids are cached for a shorter time than this.
    grantor.clock.advance(2)
    return readClient(id)
  }
})
beforeEach(() => {
  lookUps = []
  // Longer than a test before this one is remembered.
  grantor.clock.advance(2)
})
afterAll(() => grantor.close())

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

describe.each(Object.entries(WAYS))('Unregistered client ids: %s', (_, send) => {
  test('A client id that is not registered is looked up once and refused', async () => {
    const id = randomUUID()
    expect((await send(id)).status).toBeOneOf([400, 401])
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
  ])('A text that cannot be a client id is refused without a look-up: %.40j', async (id) => {
    expect((await send(id)).status).toBeOneOf([400, 401])
    expect(lookUps).toEqual([])
  })
})

describe('The look-ups of failed client authentications (RFC 6749 §2.3.1)', () => {
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
  const KINDS = {
    'that is unknown': unknown,
    'that is disabled': disabled,
    'with a secret': () => grantor.createClient(),
    'with a key': withKey,
  }

  test.each(
    Object.entries(AUTHENTICATED).flatMap(([way, send]) =>
      Object.entries(KINDS).map(([kind, create]) => ({ way, kind, send, create })),
    ),
  )('A failed authentication by $way causes one look-up for a client $kind (RFC 6749 §2.3.1)', async ({ send, create }) => {
    const client = await create()
    // Puts the client into the cache, like a client that is in use.
    await grantor.deps.clients.find(client.id)
    grantor.clock.advance(2)
    lookUps = []
    expect((await send(client)).status).toBe(401)
    expect(lookUps).toEqual([client.id])
  })

  test('A second failed authentication within a second causes no look-up, whatever the client', async () => {
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
  const send = (secret: string) =>
    post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(client.id, secret), 'content-type': FORM })
  expect((await send(client.secret)).status).toBe(200)
  grantor.clock.advance(2)
  const rotated = rotateClientSecret(client, 60, grantor.clock.now())
  await grantor.store.clients.replaceClient(rotated.client)
  expect((await send(rotated.secret)).status).toBe(200)
})

test('A registered client that fails to authenticate is looked up once, and the log names the client (RFC 6749 §2.3.1)', async () => {
  const client = await grantor.createClient()
  await post(grantor, '/oauth/revoke', { token: 'x' }, { authorization: basic(client.id, 'wrong'), 'content-type': FORM })
  expect(lookUps).toEqual([client.id])
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'secret_wrong', client_id: client.id })
})
