/** Devices whose client is not registered: its client id is the URL of a metadata document. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { type ClientHost, startClientHost } from '../../../support/client-host.ts'
import {
  allowDevice,
  askForDevice,
  authorizedDevice,
  challengeOfDevice,
  DEVICE_GRANT,
  openDevicePage,
  poll,
} from '../../../support/device.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { Walk } from '../../../support/walk.ts'

let grantor: Grantor
let host: ClientHost
let walk: Walk
let document: Record<string, unknown>
let clientId: string
let count = 0

beforeAll(async () => {
  host = await startClientHost((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  grantor = await startGrantor({ clientMetadata: true })
})
afterAll(async () => {
  await grantor.close()
  await host.close()
})
beforeEach(() => {
  walk = new Walk(grantor)
  clientId = `${host.origin}/device.json?n=${++count}`
  document = {
    client_id: clientId,
    client_name: 'Agent CLI',
    grant_types: [DEVICE_GRANT, 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
})

const client = () => ({ id: clientId, secret: '', redirectUris: [] as string[] }) as unknown as TestClient

test('A device whose client has a metadata document without redirect URIs signs a wallet in and refreshes, without registration', async () => {
  const device = await authorizedDevice(walk, client(), { scope: 'openid wallet' })
  const page = await openDevicePage(walk, device.user_code)
  expect(page.body).toContain(new URL(clientId).host)
  expect(page.body).toContain('It calls itself “<bdi>Agent CLI</bdi>”.')
  await allowDevice(walk, device)
  const tokens = tokensOf(await poll(walk, client(), device))
  expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: clientId, sub: walk.wallet.address })
  expect((await walk.refresh(client(), tokens.refresh_token)).status).toBe(200)
})

test('The signed text names the host of the client id before the name that the client gave itself', async () => {
  const challenge = await challengeOfDevice(walk, await authorizedDevice(walk, client()))
  expect((await walk.describe(challenge)).json()).toMatchObject({ client_publisher: new URL(clientId).host, client_host: '' })
  const text = await walk.loginApi('/login/message', { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })
  expect(text.json().message).toContain(`Allow the app of ${new URL(clientId).host} (calls itself 'Agent CLI') until `)
})

test('A metadata document that does not name the device code grant gets no device code, and nothing is written', async () => {
  const before = await grantor.rows()
  document = { ...document, grant_types: ['authorization_code'], redirect_uris: ['http://localhost/callback'] }
  expectRefusal(await askForDevice(walk, client()), 'unauthorized_client')
  clientId = `${host.origin}/device.json?n=${++count}`
  document = { ...document, client_id: clientId, grant_types: ['refresh_token'] }
  expectRefusal(await askForDevice(walk, client()), 'invalid_client')
  expect(grantor.events.at(-1)).toMatchObject({ reason: 'metadata_grant_types' })
  expect(await grantor.rows()).toEqual(before)
})
