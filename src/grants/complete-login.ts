/**
 * The end of a login: the browser comes back with its challenge and the proof, gets its session, and goes on to the
 * app. Inserting the session is the once-only gate, so one challenge yields one session, however many requests race.
 */
import { randomUUID } from 'node:crypto'
import { unseal } from '../keys/sealed.ts'
import { type AskingApp, askingApp, clientOfRequest, codeRedirect, deniedRedirect } from './authorization-request.ts'
import { isOfBrowser, openChallenge, sessionIdOf } from './challenge.ts'
import type { Deps } from './deps.ts'
import type { Verifier } from './login.ts'
import type { Session } from './model.ts'
import { hashSessionId, meetsConsentRule } from './session.ts'

export type CompleteOutcome =
  | { kind: 'signed_in'; sessionId: string; to: string; app: AskingApp }
  | { kind: 'denied'; to: string; app: AskingApp }
  | { kind: 'broken' | 'wrong_browser' | 'expired' | 'used' | 'ended' | 'unknown_client' }

export async function completeLogin(
  deps: Deps,
  request: { challenge: string | null; verifier: string | null; browserKey: string | null },
): Promise<CompleteOutcome> {
  const challenge = openChallenge(deps.keys, request.challenge ?? '')
  const verifier = unseal(deps.keys, 'grv', request.verifier ?? '') as Verifier | undefined
  if (!challenge || verifier?.nonce !== challenge.nonce) return { kind: 'broken' }
  // Whoever is lured into a stranger's login must not end up in the stranger's session.
  if (!isOfBrowser(challenge, request.browserKey)) return { kind: 'wrong_browser' }
  if (verifier.expiresAt <= deps.now()) return { kind: 'expired' }
  const client = await clientOfRequest(deps, challenge.request)
  if (!client) return { kind: 'unknown_client' }
  const app = askingApp(client, challenge.request)
  if (verifier.proof === 'denied') {
    deps.audit({ event: 'authorize_refused', reason: 'user_declined', client_id: client.id })
    return { kind: 'denied', to: deniedRedirect(deps, challenge.request), app }
  }

  // Asked again here: the client's rule may have changed since the wallet was vouched for.
  if (!meetsConsentRule(client, verifier.proof.method)) return { kind: 'ended' }
  const sessionId = sessionIdOf(deps.keys, challenge)
  if (sessionId === undefined) return { kind: 'expired' }
  const session = newSession(deps, sessionId, verifier.proof)
  if ((await deps.store.sessions.startSession(session, randomUUID())) === 'taken') return { kind: 'used' }

  // Read after the insert, the epoch tells of every ending that could have missed the new session.
  const epoch = await deps.store.wallets.readEpoch(session.wallet)
  if (epoch !== verifier.proof.epoch) {
    await deps.store.sessions.endSession(session.hash, deps.now())
    return { kind: 'ended' }
  }
  deps.audit({ event: 'session_started', reason: session.method, client_id: client.id })
  return { kind: 'signed_in', sessionId, to: codeRedirect(deps, challenge.request, session, epoch, challenge.until), app }
}

function newSession(deps: Deps, sessionId: string, proof: Exclude<Verifier['proof'], 'denied'>): Session {
  const at = deps.now()
  return {
    hash: hashSessionId(sessionId),
    wallet: proof.wallet,
    chainId: proof.chainId,
    method: proof.method,
    authTime: at,
    lastSeenAt: at,
    expiresAt: at + deps.settings.lifetimes.session,
    endedAt: null,
  }
}
