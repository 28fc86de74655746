/**
 * Cross-device login: the wallet is on another device than the browser that signs in.
 *
 * The browser shows a QR code and eight letters. The other device opens the code's URL, shows the letters, and signs a text that names
 * them. Its proof is stored for the browser, in one row under the nonce of the challenge: the first proof stays. The browser then
 * completes its own login, with its own cookie. The other device gets no session and no code. Nothing is stored before the proof.
 */
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import { loginPageUrl } from '../authorization/authorize.ts'
import {
  type Challenge,
  challengeExpiresAt,
  crossDeviceCodeOf,
  newBrowserKey,
  resumeChallenge,
} from '../authorization/challenge.ts'
import { openLinkedChallenge, shortenChallenge } from '../authorization/short-challenge.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Deps } from '../model/deps.ts'
import type { DevicePlace } from '../model/device-request.ts'
import type { Client } from '../model/records.ts'
import { type ChallengeUse, readChallengeUse, rowOfCrossDeviceProof } from './challenge-use.ts'
import type { ProvenWallet } from './login-verifier.ts'
import { clientOfPurpose } from './sign-in-text.ts'

/** The proof of another device, for the browser that requested the login. */
type CrossDeviceProof = { browserHash: string; expiresAt: number; proof: ProvenWallet }

const CROSS_DEVICE_PROOF = sealedFormat<CrossDeviceProof>('crossDeviceProof')

/** Why another device cannot sign in a browser. */
export type CrossDeviceFault = 'broken' | 'off' | 'expired' | 'unknown_client' | Exclude<ChallengeUse, 'open' | 'key_retired'>

/** A login that another device may sign; `code` is what the browser shows. */
export type CrossDeviceLogin = {
  challenge: Challenge
  request: AuthorizationRequest
  client: Client
  code: string
  place: DevicePlace
}

/** Whether the page of a login offers to sign with another device. */
export function offersCrossDevice({ settings }: Deps, { purpose, elsewhere, place }: Challenge): boolean {
  return settings.crossDevice && purpose.kind === 'app' && !elsewhere && place !== null
}

/** The links for another device: `url` leads to the page for signing there, `resumeUrl` to a login that continues there. */
export type DeviceLinks = { url: string; resumeUrl: string }

/** The links contain the short challenge, or the whole one if the request is long. Writes nothing. */
export function deviceLinks(deps: Deps, login: { text: string; challenge: Challenge; client: Client }): DeviceLinks {
  const { authUrl } = deps.settings
  const short = shortenChallenge(deps, login.challenge, login.client)
  return {
    url: short === null ? `${authUrl}/login/cross-device?login_challenge=${login.text}` : `${authUrl}/phone?${short}`,
    resumeUrl: `${authUrl}/login/resume?login_challenge=${short ?? login.text}`,
  }
}

/** Where the browser that requested the login continues after the other device has signed. */
export function crossDeviceContinueUrl({ settings: { authUrl } }: Deps, challenge: string): string {
  return `${authUrl}/login/cross-device/complete?login_challenge=${challenge}`
}

/**
 * The login of another browser, for the page on which the user compares the codes. The challenge is that of the browser, or that of a
 * device which began to sign: the camera of a phone opens the page in a browser without a wallet, and the user goes on to the wallet
 * app. Writes nothing.
 */
export async function openCrossDevice(deps: Deps, text: string): Promise<CrossDeviceLogin | CrossDeviceFault> {
  const challenge = await openLinkedChallenge(deps, text)
  if (typeof challenge === 'string') return challenge
  if (challenge.purpose.kind !== 'app' || challenge.place === null) return 'broken'
  if (!deps.settings.crossDevice) return 'off'
  const code = crossDeviceCodeOf(deps.keys, challenge)
  if (challengeExpiresAt(challenge) <= deps.now() || code === undefined) return 'expired'
  const client = await clientOfPurpose(deps, challenge.purpose)
  if (!client) return 'unknown_client'
  const use = await readChallengeUse(deps, challenge)
  if (use === 'key_retired') return 'expired'
  return use === 'open' ? { challenge, request: challenge.purpose.request, client, code, place: challenge.place } : use
}

/** The login page of the other device, after the user compared the codes. Null if the challenge is too long for a URL. */
export function beginCrossDevice(
  deps: Deps,
  { challenge, request }: CrossDeviceLogin,
  browserKey: string | null,
): { to: string; browserKey: string } | null {
  const key = browserKey ?? newBrowserKey()
  const resumed = resumeChallenge(deps, challenge, request, { browserKey: key, crossDevice: true })
  return resumed === null ? null : { to: loginPageUrl(deps, resumed), browserKey: key }
}

/** Stores the proof for the browser that requested the login. False if a proof is stored already. */
export async function storeProofForBrowser(
  deps: Deps,
  challenge: Challenge,
  clientId: string,
  proof: ProvenWallet,
): Promise<boolean> {
  const expiresAt = challengeExpiresAt(challenge)
  const id = rowOfCrossDeviceProof(challenge)
  const sealed = CROSS_DEVICE_PROOF.seal(deps.keys, { browserHash: challenge.requestedBy, expiresAt, proof })
  await deps.store.pushedRequests.push({ id, clientId, request: sealed, expiresAt })
  return (await deps.store.pushedRequests.readPushed(id))?.request === sealed
}

/** The proof that another device gave for this browser; null if there is none. One read. */
export async function readProofForBrowser(deps: Deps, challenge: Challenge): Promise<CrossDeviceProof | null> {
  if (challenge.purpose.kind !== 'app' || challenge.elsewhere) return null
  const stored = await readStoredProof(deps, challenge)
  return stored?.browserHash === challenge.browserHash ? stored : null
}

/** Whether this wallet gave the stored proof: then the other device loads its last page again, as browsers of wallet apps do. One read. */
export async function isStoredProof(deps: Deps, challenge: Challenge, proof: ProvenWallet): Promise<boolean> {
  return (await readStoredProof(deps, challenge))?.proof.wallet === proof.wallet
}

async function readStoredProof(deps: Deps, challenge: Challenge): Promise<CrossDeviceProof | null> {
  const row = await deps.store.pushedRequests.readPushed(rowOfCrossDeviceProof(challenge))
  return (row && CROSS_DEVICE_PROOF.open(deps.keys, row.request)) ?? null
}
