/** Device authorization (RFC 8628) over HTTP, on both stores. device-page.test.ts covers the page, device-polls.test.ts the polls. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import {
  allowDevice,
  askForDevice,
  authorizedDevice,
  challengeOfDevice,
  createDeviceClient,
  DEVICE_GRANT,
  poll,
} from '../../../support/device.ts'
import { newDpopKey, proofOf, thumbprint } from '../../../support/dpop.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, type StartOptions, startBeside, startGrantor, type TestClient } from '../../../support/start.ts'
import { noticeOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const engines = [
  { engine: 'SQLite', open: async () => ({ options: {} as StartOptions, drop: async () => undefined }) },
  {
    engine: 'PostgreSQL',
    open: async () => {
      const database = await createPostgresDatabase()
      return { options: { postgres: database.address } as StartOptions, drop: () => database.drop() }
    },
  },
]

const API = 'https://api.example.com/'

describe.each(engines)('Device authorization on $engine (RFC 8628)', ({ open }) => {
  let grantor: Grantor
  /** another node on the same store */
  let node: Grantor
  let client: TestClient
  let walk: Walk
  const closing: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    const { options, drop } = await open()
    closing.push(drop)
    grantor = await startGrantor({ ...options, limits: { pushes: 1000 } })
    closing.push(() => grantor.close())
    node = await startBeside(grantor, { ...options, limits: { pushes: 1000 } })
    closing.push(() => node.close())
    client = await createDeviceClient(grantor, { resources: [API] })
    await node.noticeChanges()
    walk = new Walk(grantor)
  })
  afterAll(async () => {
    for (const close of closing.toReversed()) await close()
  })

  test('A device gets a device code, a user code of eight consonants, the two URLs, the lifetime and the interval (RFC 8628 §3.2, §6.1)', async () => {
    const answer = await askForDevice(walk, client)
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    const { authUrl } = grantor
    const body = answer.json()
    expect(body).toEqual({
      device_code: expect.stringMatching(/^grk\.[0-9a-f]{10}\.[\w-]+$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${authUrl}/device`,
      verification_uri_complete: `${authUrl}/device?user_code=${String(body.user_code)}`,
      expires_in: 900,
      interval: 5,
    })
  })

  test('A device polls until the user has signed once, then gets tokens for the signed scopes (RFC 8628 §3.4, §3.5)', async () => {
    const device = await authorizedDevice(walk, client, { scope: 'enhancement profile', resource: API })
    expectRefusal(await poll(walk, client, device), 'authorization_pending')
    expect(noticeOf(await allowDevice(walk, device))).toBe('device_allowed')
    grantor.clock.advance(5)
    const answer = await poll(walk, client, device)
    expect(answer.status).toBe(200)
    const tokens = tokensOf(answer)
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'enhancement profile' })
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: walk.wallet.address, aud: API, client_id: client.id })
    expect((await walk.refresh(client, tokens.refresh_token)).status).toBe(200)
  })

  test('The signed text names the app, the code and the key of the device, and its receipt has no redirect URI (RFC 8628 §5.4, RFC 9449)', async () => {
    const key = newDpopKey()
    const jkt = await thumbprint(key)
    const device = await authorizedDevice(walk, client, { dpop_jkt: jkt })
    const challenge = await challengeOfDevice(walk, device)
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
    const message = (await walk.loginApi('/login/message', claim)).json().message as string
    expect(message).toContain(`Allow 'Acme CLI' until `)
    expect(message).toContain(`Gives access to the device that shows the code ${device.user_code}.`)
    expect(readConsent(message)).toMatchObject({
      clientId: client.id,
      clientName: 'Acme CLI',
      redirectUri: '',
      userCode: device.user_code,
      shownBy: 'device',
      keyThumbprint: jkt,
      grants: [{ scopes: ['enhancement'] }],
    })
  })

  test('The user can decline single scopes, and the device gets the others', async () => {
    const device = await authorizedDevice(walk, client, { scope: 'enhancement profile' })
    await allowDevice(walk, device, 'profile')
    expect(tokensOf(await poll(walk, client, device)).scope).toBe('profile')
  })

  test('A device code is accepted on another node than the one that made it', async () => {
    const other = new Walk(node)
    const device = await authorizedDevice(walk, client)
    await allowDevice(other, device)
    expect((await poll(other, client, device)).status).toBe(200)
    const second = await authorizedDevice(other, client)
    await allowDevice(walk, second)
    expect((await poll(walk, client, second)).status).toBe(200)
  })

  test('A device code that is presented a second time is refused, and its grant ends (RFC 6749 §4.1.2)', async () => {
    const device = await authorizedDevice(walk, client)
    await allowDevice(walk, device)
    const { refresh_token } = tokensOf(await poll(walk, client, device))
    grantor.clock.advance(5)
    expectRefusal(await poll(walk, client, device), 'invalid_grant')
    expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'code_replayed' })
    expectRefusal(await walk.refresh(client, refresh_token), 'invalid_grant')
  })

  test('Of 20 simultaneous redemptions of one device code on two nodes, exactly one gets tokens', async () => {
    const device = await authorizedDevice(walk, client)
    await allowDevice(walk, device)
    const walks = [walk, new Walk(node)]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => {
        // Without a pause a node would refuse all polls but the first.
        grantor.clock.advance(5)
        return poll(walks[at % 2] as Walk, client, device)
      }),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, json } of answers) if (status !== 200) expect(['invalid_grant', 'slow_down']).toContain(json().error)
  })

  test('A device code is refused after its lifetime, also if the user has allowed it (RFC 8628 §3.5)', async () => {
    const device = await authorizedDevice(walk, client)
    await allowDevice(walk, device)
    grantor.clock.advance(900)
    expectRefusal(await poll(walk, client, device), 'expired_token')
  })

  test('A device code of another client is refused (RFC 8628 §5.2)', async () => {
    const device = await authorizedDevice(walk, client)
    const other = await createDeviceClient(grantor)
    await allowDevice(walk, device)
    expectRefusal(await poll(walk, other, device), 'invalid_grant')
    expect(grantor.events.at(-1)).toMatchObject({ reason: 'device_code_of_another_client' })
    expect((await poll(walk, client, device)).status).toBe(200)
  })

  test('A device code that is bound to a DPoP key is accepted with a proof of this key only (RFC 9449 §10)', async () => {
    const [key, otherKey] = [newDpopKey(), newDpopKey()]
    const htu = `${grantor.authUrl}/oauth/device_authorization`
    const asked = await askForDevice(walk, client, {}, { dpop: await proofOf(grantor, key, { htu }) })
    const device = asked.json() as { device_code: string; user_code: string }
    await allowDevice(walk, device)
    expectRefusal(await poll(walk, client, device, { dpop: await proofOf(grantor, otherKey) }), 'invalid_grant')
    expect(grantor.events.at(-1)).toMatchObject({ reason: 'bound_to_another_key' })
    expect((await poll(walk, client, device)).json()).toMatchObject({ error: 'invalid_dpop_proof' })
    const answer = await poll(walk, client, device, { dpop: await proofOf(grantor, key) })
    expect(tokensOf(answer).token_type).toBe('DPoP')
  })

  test('After the user declined, the device gets access_denied (RFC 8628 §3.5)', async () => {
    const device = await authorizedDevice(walk, client)
    const path = await walk.reject(await challengeOfDevice(walk, device))
    expect(noticeOf(await walk.complete(path))).toBe('device_denied')
    expectRefusal(await poll(walk, client, device), 'access_denied')
  })

  test('If the user ends everything before the device polls, the device gets no tokens', async () => {
    const wallet = testWallet(2)
    const person = new Walk(grantor, wallet)
    const device = await authorizedDevice(walk, client)
    await allowDevice(person, device)
    await grantor.store.wallets.raiseEpoch(wallet.address as Address)
    expectRefusal(await poll(walk, client, device), 'invalid_grant')
  })

  test('A client needs the grant type at the device authorization endpoint and at the token endpoint', async () => {
    const other = await grantor.createClient({ type: 'native' })
    expectRefusal(await askForDevice(walk, other), 'unauthorized_client')
    expectRefusal(await poll(walk, other, { device_code: 'grk.0000000000.AAAA' }), 'unauthorized_client')
  })

  test.each<[string, string, Record<string, string>]>([
    ['a scope that the client may not have', 'invalid_scope', { scope: 'admin' }],
    ['a resource that the client may not have', 'invalid_target', { resource: 'https://other.example/' }],
    ['a malformed key thumbprint', 'invalid_request', { dpop_jkt: 'short' }],
  ])('A device authorization request with %s gets %s', async (_, error, more) => {
    expect((await askForDevice(walk, client, more)).json()).toMatchObject({ error })
  })

  test('A device authorization request that is longer than a login challenge can hold gets invalid_request', async () => {
    const scopes = Array.from({ length: 40 }, (_, at) => `${'x'.repeat(55)}.${at}`)
    const roomy = await createDeviceClient(grantor, { scopes, defaultScopes: scopes })
    expect((await askForDevice(walk, roomy)).json()).toMatchObject({ error: 'invalid_request' })
  })

  test('At the device authorization endpoint a repeated parameter is refused, an empty one is absent, and an unknown one is ignored (RFC 8628 §3.1)', async () => {
    expect((await askForDevice(walk, client, { scope: ['enhancement', 'profile'] })).json()).toMatchObject({
      error: 'invalid_request',
    })
    const device = await authorizedDevice(walk, client, { scope: '', dpop_jkt: '', state: 'unknown' })
    await allowDevice(walk, device)
    expect(tokensOf(await poll(walk, client, device)).scope).toBe('enhancement')
  })

  test('A confidential client authenticates at the device authorization endpoint as at the token endpoint (RFC 8628 §3.1)', async () => {
    const confidential = await createDeviceClient(grantor, { type: 'confidential', consent: 'session' })
    expectRefusal(await askForDevice(walk, { ...confidential, secret: 'wrong' }), 'invalid_client')
    const device = await authorizedDevice(walk, confidential)
    expect((await walk.describe(await challengeOfDevice(walk, device))).json()).toMatchObject({ may_choose_scopes: true })
    await allowDevice(walk, device)
    expect((await poll(walk, confidential, device)).status).toBe(200)
    const grants = await grantor.store.grants.listUnendedGrants({ wallet: walk.wallet.address, limit: 50 } as never)
    expect(grants.find(({ clientId }) => clientId === confidential.id)).toMatchObject({ consented: true })
  })

  test('A device code is not a client id, and a sealed registration is not a device code', async () => {
    const { device_code } = await authorizedDevice(walk, client)
    expectRefusal(await askForDevice(walk, { ...client, id: device_code }), 'invalid_client')
    expectRefusal(await poll(walk, client, { device_code: device_code.replace('grk', 'grd') }), 'invalid_grant')
  })

  test('A garbled, truncated or foreign device code is refused', async () => {
    const { device_code } = await authorizedDevice(walk, client)
    for (const code of ['x', device_code.slice(0, -2), device_code.replace('grk', 'grc'), `${device_code}A`]) {
      expectRefusal(await poll(walk, client, { device_code: code }), 'invalid_grant')
    }
    expect((await walk.token(client, { grant_type: DEVICE_GRANT })).json()).toMatchObject({ error: 'invalid_request' })
  })
})
