/**
 * One question to the hook of the operator: its subject, what an answer means, and what is recorded. Every failure refuses the
 * request with 503. A question is sent once and never repeated: the client repeats its own request.
 */
import { randomUUID } from 'node:crypto'
import { type StandardMessage, signStandardWebhook } from '../../protocol/keys/standard-webhook.ts'
import { hookUnavailable } from '../../protocol/oauth/oauth-error.ts'
import { shortenAddress } from '../../protocol/wallet/address.ts'
import {
  ALLOWED_AS_ASKED,
  type Deps,
  type Hook,
  type HookOccasion,
  type HookPermission,
  type HookQuestion,
} from '../model/deps.ts'
import { HOOK_FAILURES, type HookAnswer, type HookFailure, type HookResponse, readAnswer } from './answer.ts'
import { Circuit } from './circuit.ts'
import { KnownAnswers } from './known-answers.ts'
import { Places } from './places.ts'
import { questionText, subjectOf } from './question.ts'

export type HookOutcome = 'yes' | 'no' | 'fewer' | HookFailure
export const HOOK_OUTCOMES: readonly HookOutcome[] = ['yes', 'no', 'fewer', ...HOOK_FAILURES]

export type HookParts = {
  issuer: string
  /** the first signs; the second too, while the secret is being changed */
  secrets: readonly Uint8Array[]
  /** one POST of a signed question; does not throw */
  post(json: { text: string; headers: Readonly<Record<string, string>> }): Promise<HookResponse>
  audit: Deps['audit']
  /** counts each question, whether it was sent or an earlier answer counted again */
  count(occasion: HookOccasion, outcome: HookOutcome): void
  /** clients for which the hook is never called */
  exempt: readonly string[]
  /** seconds in which a client may repeat a refresh with the same token */
  retryWindow: number
  /** epoch seconds */
  now: () => number
}

type Failed = { kind: 'failed'; reason: HookFailure; retryAfter: number; status?: number }

/** Seconds after which a client should repeat its request, unless the failure names a time. */
const RETRY_AFTER = 5

export function createHook({ audit, count, exempt, ...call }: HookParts): Hook {
  const find = sharingAnswers(createCaller(call), call)
  return {
    async ask(question) {
      if (exempt.includes(question.client.id)) return { kind: 'allowed', ...ALLOWED_AS_ASKED }
      const answer = await find(question)
      count(question.occasion, outcomeOf(answer))
      await record(audit, question, answer)
      return permissionOf(answer)
    },
  }
}

function outcomeOf(answer: HookAnswer | Failed): HookOutcome {
  if (answer.kind === 'failed') return answer.reason
  if (answer.kind === 'refused') return 'no'
  return answer.scopes === null ? 'yes' : 'fewer'
}

function permissionOf(answer: HookAnswer | Failed): HookPermission {
  if (answer.kind === 'refused') return { kind: 'refused' }
  if (answer.kind === 'allowed') return { kind: 'allowed', scopes: answer.scopes, claims: answer.claims }
  const { reason, retryAfter, status } = answer
  return {
    kind: 'failed',
    error: hookUnavailable(reason, { retryAfter, detail: status === undefined ? undefined : `status ${status}` }),
  }
}

/**
 * Equal questions at the same time share one call. An earlier answer counts again for the time that the answer names. At a refresh it also
 * counts for the retry window of the presented token, so that simultaneous and repeated refreshes get the same scopes.
 */
function sharingAnswers(
  call: (question: HookQuestion) => Promise<HookAnswer | Failed>,
  { retryWindow, now }: Pick<HookParts, 'retryWindow' | 'now'>,
) {
  const known = new KnownAnswers()
  const underWay = new Map<string, Promise<HookAnswer | Failed>>()

  async function askAndKeep(question: HookQuestion, { subject, refresh }: HookKeys): Promise<HookAnswer | Failed> {
    const from = now()
    const answer = await call(question)
    if (answer.kind === 'failed') return answer
    known.add(subject, answer, { from, seconds: answer.validFor })
    // A refused token is not rotated, and the wallet may be allowed again at any time.
    if (refresh !== null && answer.kind === 'allowed') known.add(refresh, answer, { from, seconds: retryWindow })
    return answer
  }

  return async (question: HookQuestion): Promise<HookAnswer | Failed> => {
    const keys = keysOf(question)
    const earlier = (keys.refresh === null ? null : known.find(keys.refresh, now())) ?? known.find(keys.subject, now())
    if (earlier) return earlier
    const same = keys.refresh ?? JSON.stringify([question.occasion, keys.subject, question.grant?.id])
    const result = underWay.get(same) ?? askAndKeep(question, keys).finally(() => underWay.delete(same))
    underWay.set(same, result)
    return result
  }
}

type HookKeys = { subject: string; refresh: string | null }

function keysOf(question: HookQuestion): HookKeys {
  const subject = subjectOf(question)
  const { id, generation = null } = question.grant ?? {}
  return { subject, refresh: generation === null ? null : JSON.stringify([subject, id, generation]) }
}

type CallParts = Pick<HookParts, 'issuer' | 'secrets' | 'post' | 'now'>

/** Returns a function that sends one question, within the limits. */
function createCaller({ issuer, secrets, post, now }: CallParts) {
  const places = new Places()
  const circuit = new Circuit(now)
  return async (question: HookQuestion): Promise<HookAnswer | Failed> => {
    const free = places.take(question.client.id, question.account.wallet)
    if (free === null) return { kind: 'failed', reason: 'hook_busy', retryAfter: 1 }
    try {
      const pause = circuit.admit()
      if (pause > 0) return { kind: 'failed', reason: 'hook_paused', retryAfter: pause }
      const at = now()
      const response = await post(signQuestion({ id: randomUUID(), at, text: questionText(question, issuer, at) }, secrets))
      circuit.note(response.kind === 'unavailable' && LOST.has(response.why) ? 'lost' : 'responded')
      const answer = readAnswer(response, question)
      if (typeof answer !== 'string') return answer
      return {
        kind: 'failed',
        reason: answer,
        retryAfter: RETRY_AFTER,
        ...(response.kind === 'answered' && answer === 'hook_status' && { status: response.status }),
      }
    } finally {
      free()
    }
  }
}

/** Failures of a call without any response. */
const LOST: ReadonlySet<string> = new Set(['timed_out', 'unreachable'])

function signQuestion(message: StandardMessage, secrets: readonly Uint8Array[]) {
  return { text: message.text, headers: signStandardWebhook(message, secrets) }
}

/**
 * A refusal and the permission for a new grant are lines of the trail. A refresh is as frequent as requests for tokens, so a refresh
 * that the hook allows is only a metric, and fewer scopes at a refresh are only counted.
 */
async function record(audit: Deps['audit'], question: HookQuestion, answer: HookAnswer | Failed): Promise<void> {
  const { occasion, client, account, scopes, grant } = question
  const about = { client_id: client.id, wallet: account.wallet, ...(grant && { grant_id: grant.id }) }
  if (answer.kind === 'failed') return audit({ event: 'hook_failed', reason: answer.reason, ...about })
  if (answer.kind === 'refused')
    return audit({ event: 'hook_refused', ...about, details: { occasion, scopes: scopes.join(' '), ...noteOf(answer) } })
  if (occasion !== 'refresh')
    return audit({
      event: 'hook_allowed',
      ...about,
      details: { occasion, scopes: (answer.scopes ?? scopes).join(' '), ...noteOf(answer) },
    })
  if (answer.scopes !== null) audit({ event: 'refresh_narrowed', ...about })
}

/** An address in the hook's words is shortened, as everywhere in the trail. */
function noteOf({ note }: HookAnswer): { note?: string } {
  return note === '' ? {} : { note: note.replaceAll(/0x[0-9a-f]{40}/gi, shortenAddress) }
}
