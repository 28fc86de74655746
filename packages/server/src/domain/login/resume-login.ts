/** Continues a login on another device: the browser that opens the link gets a new challenge with the same text to sign. */
import { loginPageUrl } from '../authorization/authorize.ts'
import { challengeExpiresAt, newBrowserKey, resumeChallenge } from '../authorization/challenge.ts'
import { openLinkedChallenge } from '../authorization/short-challenge.ts'
import type { Deps } from '../model/deps.ts'

export type ResumeOutcome = { kind: 'login'; to: string; browserKey: string } | { kind: 'broken' } | { kind: 'expired' }

export async function resumeLogin(deps: Deps, text: string | null, browserKey: string | null): Promise<ResumeOutcome> {
  const challenge = await openLinkedChallenge(deps, text ?? '')
  if (typeof challenge === 'string' || challenge.purpose.kind !== 'app' || challenge.elsewhere) return { kind: 'broken' }
  if (challengeExpiresAt(challenge) <= deps.now()) return { kind: 'expired' }
  const key = browserKey ?? newBrowserKey()
  const resumed = resumeChallenge(deps, challenge, challenge.purpose.request, { browserKey: key, crossDevice: false })
  return resumed === null ? { kind: 'broken' } : { kind: 'login', to: loginPageUrl(deps, resumed), browserKey: key }
}
