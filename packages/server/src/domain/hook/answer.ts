/**
 * The check of the hook's answer. Only an answer that is complete and without contradiction counts. Everything else is a failure: the hook may
 * be broken, and a guess could give access to a wallet that must not have it.
 */
import { readClaims } from '../../protocol/keys/platform-claims.ts'
import { parseJson } from '../../protocol/oauth/parse-json.ts'
import { oauthErrors, type ReasonOf } from '../../protocol/oauth/reasons.ts'
import { isRequiredScope } from '../../protocol/oauth/standard-scopes.ts'
import type { AllowedByHook, HookQuestion } from '../model/deps.ts'

/** The response to one call; `why` names a failure of the call (`packages/server/src/outbound/http`). */
export type HookResponse =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string | undefined>>; body: string }
  | { kind: 'unavailable'; why: string }

export type HookFailure = Extract<ReasonOf<'temporarily_unavailable'>, `hook_${string}`>
const isHookFailure = (reason: string): reason is HookFailure => reason.startsWith('hook_')
export const HOOK_FAILURES = Object.keys(oauthErrors.temporarily_unavailable.reasons).filter(isHookFailure)

/** `note`: the hook's own words, for the audit trail. `validFor`: seconds for which the answer counts again. */
export type HookAnswer =
  | ({ kind: 'allowed'; note: string; validFor: number } & AllowedByHook)
  | { kind: 'refused'; note: string; validFor: number }

/** Seconds for which an answer counts again at most. */
const VALID_AT_MOST = 300
/** in characters */
const NOTE_AT_MOST = 200

export function readAnswer(response: HookResponse, asked: Pick<HookQuestion, 'scopes' | 'resources'>): HookAnswer | HookFailure {
  if (response.kind === 'unavailable') return FAILED_CALLS[response.why] ?? 'hook_unreachable'
  const { status, headers, body } = response
  if (status !== 200) return 'hook_status'
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) return 'hook_content_type'
  const parsed = parseJson(body)
  if (parsed.kind !== 'parsed' || !isJsonObject(parsed.value)) return 'hook_answer_malformed'
  return readMembers(parsed.value, asked)
}

const FAILED_CALLS: Readonly<Record<string, HookFailure>> = {
  busy: 'hook_busy',
  timed_out: 'hook_timed_out',
  certificate: 'hook_certificate',
  redirect: 'hook_redirect',
  compressed: 'hook_answer_malformed',
  too_long: 'hook_answer_too_long',
  address_not_public: 'hook_address',
}

type AnswerMembers = Readonly<Record<string, unknown>>

function isJsonObject(value: unknown): value is AnswerMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readMembers(
  { answer, scopes, claims: named, reason = '', valid_for: validFor = 0 }: AnswerMembers,
  { scopes: asked, resources }: Pick<HookQuestion, 'scopes' | 'resources'>,
): HookAnswer | HookFailure {
  if (typeof reason !== 'string' || !isSeconds(validFor)) return 'hook_answer_malformed'
  const common = { note: reason.slice(0, NOTE_AT_MOST), validFor: Math.min(validFor, VALID_AT_MOST) }
  // With `yes` or `no`, `scopes` contradicts the answer: the hook may have meant `fewer`.
  if (scopes === undefined && answer === 'no' && named === undefined) return { kind: 'refused', ...common }
  const claims = named === undefined ? null : readClaims(named, resources)
  if (named !== undefined && claims === null) return 'hook_claims_refused'
  if (scopes === undefined && answer === 'yes') return { kind: 'allowed', scopes: null, claims, ...common }
  if (answer !== 'fewer' || !isListOfTexts(scopes)) return 'hook_answer_malformed'
  if (scopes.some((scope) => !asked.includes(scope))) return 'hook_scope_not_asked'
  // An empty list means that the wallet may have none of the scopes.
  if (scopes.length === 0) return { kind: 'refused', ...common }
  // Nor can a user switch off a required scope: without `openid`, the sign-in of an OpenID client would fail.
  const left = asked.filter((scope) => scopes.includes(scope) || isRequiredScope(scope))
  return { kind: 'allowed', scopes: left.length === asked.length ? null : left, claims, ...common }
}

function isSeconds(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
