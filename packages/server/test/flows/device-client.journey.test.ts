/** `openid-client` and `oauth4webapi`, unchanged, as device clients (RFC 8628): discovery, device authorization, polls, refresh; also with DPoP. */
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { allowDevice, challengeOfDevice, createDeviceClient } from '../support/device.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

let grantor: Grantor
let polls = 0
let ticking: NodeJS.Timeout

beforeAll(async () => {
  grantor = await startGrantor()
  // The library polls and makes proofs in real time.
  ticking = setInterval(() => (grantor.clock.at = Math.floor(Date.now() / 1000)), 100)
  const store = grantor.store.pushedRequests
  const { readPushed } = store
  store.readPushed = (id) => {
    if (id.startsWith('answer:')) polls++
    return readPushed(id)
  }
})
afterAll(() => {
  clearInterval(ticking)
  return grantor.close()
})

async function discover(clientId: string): Promise<client.Configuration> {
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const insecure = client.allowInsecureRequests
  return client.discovery(new URL(grantor.authUrl), clientId, undefined, client.None(), { execute: [insecure] })
}

/** Waits for the next poll that reaches the store. */
async function nextPoll(): Promise<void> {
  const before = polls
  await expect.poll(() => polls).toBeGreaterThan(before)
}

test.each([
  ['without DPoP', false],
  ['with DPoP', true],
])('openid-client signs in on a device %s: it waits for the user, then gets tokens and refreshes them', async (_, isBound) => {
  const { id } = await createDeviceClient(grantor)
  const config = await discover(id)
  const device = await client.initiateDeviceAuthorization(config, { scope: 'enhancement profile' })
  expect(device.verification_uri_complete).toBe(`${device.verification_uri}?user_code=${device.user_code}`)
  const DPoP = isBound ? client.getDPoPHandle(config, await client.randomDPoPKeyPair()) : undefined
  const options = DPoP === undefined ? undefined : { DPoP }
  const tokens = client.pollDeviceAuthorizationGrant(config, device, undefined, options)
  await nextPoll()
  const walk = new Walk(grantor)
  await allowDevice(walk, device)
  const { access_token, refresh_token = '', token_type, scope } = await tokens
  expect([token_type, scope]).toEqual([isBound ? 'dpop' : 'bearer', 'enhancement profile'])
  expect(access_token).toMatch(/^eyJ/)
  const next = await client.refreshTokenGrant(config, refresh_token, undefined, options)
  expect(next.refresh_token).not.toBe(refresh_token)
})

test('openid-client reports the refusal of the user as access_denied', async () => {
  const { id } = await createDeviceClient(grantor)
  const config = await discover(id)
  const device = await client.initiateDeviceAuthorization(config, {})
  const walk = new Walk(grantor)
  await walk.complete(await walk.reject(await challengeOfDevice(walk, device)))
  await expect(client.pollDeviceAuthorizationGrant(config, device)).rejects.toMatchObject({ error: 'access_denied' })
})

test('oauth4webapi gets authorization_pending before the user signs on another device, then tokens bound to its key, and refreshes them', async () => {
  const still = await startGrantor()
  onTestFinished(() => still.close())
  const { id: client_id } = await createDeviceClient(still)
  const issuer = new URL(still.authUrl)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  const insecure = { [oauth.allowInsecureRequests]: true }
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  const self: oauth.Client = { client_id }
  const options = { DPoP: oauth.DPoP(self, await oauth.generateKeyPair('ES256')), ...insecure }
  const asked = await oauth.deviceAuthorizationRequest(server, self, oauth.None(), { scope: 'enhancement' }, options)
  const device = await oauth.processDeviceAuthorizationResponse(server, self, asked)
  const poll = async () => {
    const answer = await oauth.deviceCodeGrantRequest(server, self, oauth.None(), device.device_code, options)
    return oauth.processDeviceCodeResponse(server, self, answer)
  }
  await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending' })
  await expect(poll(), 'sooner than the interval').rejects.toMatchObject({ error: 'slow_down' })
  await allowDevice(new Walk(still), device)
  still.clock.advance(10)
  const { token_type, refresh_token = '' } = await poll()
  expect(token_type).toBe('dpop')
  const answer = await oauth.refreshTokenGrantRequest(server, self, oauth.None(), refresh_token, options)
  const refreshed = await oauth.processRefreshTokenResponse(server, self, answer)
  expect([refreshed.token_type, refreshed.scope]).toEqual(['dpop', 'enhancement'])
  expect(refreshed.refresh_token).not.toBe(refresh_token)
})
