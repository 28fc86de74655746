/** Whether a challenge was used: the session was started, in the browser that requested the login or on another device. */
import { createHash } from 'node:crypto'
import { type Challenge, isCrossDevice, sessionIdOf } from '../authorization/challenge.ts'
import { hashSessionId } from '../consent/session.ts'
import type { Deps } from '../model/deps.ts'

/**
 * `continued_elsewhere`: the login was finished on another device. `signed_on_other_device`: another device signed, and the browser that
 * requested the login can complete it, or has completed it. `key_retired`: the challenge can no longer start a session.
 */
export type ChallengeUse = 'open' | 'already_used' | 'continued_elsewhere' | 'signed_on_other_device' | 'key_retired'

export async function readChallengeUse(deps: Deps, challenge: Challenge): Promise<ChallengeUse> {
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return 'key_retired'
  const mayHaveProof = deps.settings.crossDevice && challenge.purpose.kind === 'app'
  const [session, proof] = await Promise.all([
    deps.store.sessions.readSession(hashSessionId(sessionId)),
    mayHaveProof ? deps.store.pushedRequests.readPushed(rowOfCrossDeviceProof(challenge)) : null,
  ])
  if (!session) return proof ? 'signed_on_other_device' : 'open'
  if (isCrossDevice(challenge)) return 'signed_on_other_device'
  return session.elsewhere && !challenge.elsewhere ? 'continued_elsewhere' : 'already_used'
}

/** The id of the row with the proof that another device gave for the login of a browser. A `request_uri` cannot contain this id. */
export function rowOfCrossDeviceProof({ nonce }: Challenge): string {
  return `cross-device:${createHash('sha256').update(nonce).digest('base64url')}`
}
