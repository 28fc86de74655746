/** Whether a challenge was used: the session was started, in the browser that requested the login or on another device. */
import { type Challenge, sessionIdOf } from '../authorization/challenge.ts'
import { hashSessionId } from '../consent/session.ts'
import type { Deps } from '../model/deps.ts'

/** `continued_elsewhere`: the login was finished on another device. `key_retired`: the challenge can no longer start a session. */
export type ChallengeUse = 'open' | 'already_used' | 'continued_elsewhere' | 'key_retired'

export async function readChallengeUse(deps: Deps, challenge: Challenge): Promise<ChallengeUse> {
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return 'key_retired'
  const session = await deps.store.sessions.readSession(hashSessionId(sessionId))
  if (!session) return 'open'
  return session.elsewhere && !challenge.elsewhere ? 'continued_elsewhere' : 'already_used'
}
