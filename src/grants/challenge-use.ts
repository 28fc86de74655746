/** Whether a login was finished: the session that its challenge can start was started, in the browser that asked or on another device. */
import { type Challenge, sessionIdOf } from './challenge.ts'
import type { Deps } from './deps.ts'
import { hashSessionId } from './session.ts'

/** `continued_elsewhere`: finished on another device than this challenge is for. `key_retired`: it can start no session any more. */
export type ChallengeUse = 'open' | 'already_used' | 'continued_elsewhere' | 'key_retired'

export async function readChallengeUse(deps: Deps, challenge: Challenge): Promise<ChallengeUse> {
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return 'key_retired'
  const session = await deps.store.sessions.readSession(hashSessionId(sessionId))
  if (!session) return 'open'
  return session.elsewhere && !challenge.elsewhere ? 'continued_elsewhere' : 'already_used'
}
