/** A device that signs in (RFC 8628), by HTTP: its requests and polls, and what its user does in a browser. */
import type { ClientRegistration } from '../../src/domain/clients/register-client.ts'
import type { Grantor, TestClient } from './start.ts'
import { type Answer, fieldOf, movingTo, type Parameters, parameterOf, type Walk } from './walk.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export type DeviceAuthorization = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

/** A public client that uses device codes only. */
export function createDeviceClient(grantor: Grantor, more: Partial<ClientRegistration> = {}): Promise<TestClient> {
  return grantor.createClient({
    name: 'Acme CLI',
    type: 'native',
    redirectUris: [],
    grantTypes: [DEVICE_GRANT, 'refresh_token'],
    scopes: ['enhancement', 'profile'],
    defaultScopes: ['enhancement'],
    ...more,
  })
}

export function askForDevice(walk: Walk, client: TestClient, more: Parameters = {}, headers = {}): Promise<Answer> {
  return walk.call('/oauth/device_authorization', client, more, { 'user-agent': 'acme-cli/2.1', ...headers })
}

/** The response to a valid request; throws for a refusal. */
export async function authorizedDevice(walk: Walk, client: TestClient, more: Parameters = {}): Promise<DeviceAuthorization> {
  const answer = await askForDevice(walk, client, more)
  if (answer.status !== 200) throw new Error(`the device was answered ${answer.status}: ${answer.body}`)
  return answer.json() as DeviceAuthorization
}

export function poll(walk: Walk, client: TestClient, { device_code }: { device_code: string }, headers = {}): Promise<Answer> {
  return walk.token(client, { grant_type: DEVICE_GRANT, device_code }, headers)
}

/** Opens the page with a code. */
export function openDevicePage(walk: Walk, userCode: string): Promise<Answer> {
  return walk.browse({ path: `/device?user_code=${encodeURIComponent(userCode)}` })
}

/** Presses a button of the page that shows the request. */
export function decide(walk: Walk, page: Answer, decision: 'allow' | 'deny'): Promise<Answer> {
  // Another node of the same service has the same public address.
  const origin = walk.grantor.deps.settings.authUrl
  return walk.postForm('/device', { request: fieldOf(page, 'request'), decision }, { origin })
}

/** The login challenge to which the page leads. */
export async function challengeOfDevice(walk: Walk, { user_code }: { user_code: string }): Promise<string> {
  const page = await openDevicePage(walk, user_code)
  return parameterOf(movingTo(await decide(walk, page, 'allow')), 'login_challenge')
}

/** The user enters the code, compares it, and signs. The result is the answer of `/login/complete`. */
export async function allowDevice(walk: Walk, device: { user_code: string }, scope?: string): Promise<Answer> {
  return walk.complete(await walk.prove(await challengeOfDevice(walk, device), walk.wallet, scope))
}
