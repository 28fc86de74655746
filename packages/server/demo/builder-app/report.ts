import * as client from 'openid-client'
import type { Exchange } from './exchange.ts'

/** The result of a step, in words for a person, and its message. */
export interface StepReport {
  /** `refused`: the response is a refusal. `trouble`: there was no usable response, so the result is unknown. */
  outcome: 'done' | 'refused' | 'trouble'
  words: string
  /** Epoch seconds. */
  at: number
  exchange: Exchange | undefined
}

type Failure = Pick<StepReport, 'outcome' | 'words'>

/** What each error code means for this app (RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1). */
const meanings: Record<string, string> = {
  access_denied: 'You declined, so this app got nothing. You can start again whenever you like.',
  invalid_grant:
    'This code or token does not work any more: it expired, was used before, or was revoked. Sign in again to get a new one.',
  invalid_client: 'The service does not accept this app’s id and secret. Its builder has to check them.',
  invalid_scope: 'This app requested more than it may have. Its builder has to check the requested scopes.',
  invalid_request: 'The service did not understand the request. Its builder has to check what this app sends.',
  invalid_token: 'The API does not accept this token any more: it expired, or it was revoked.',
  insufficient_scope: 'This token does not allow that call. The builder of this app has to check the requested scopes.',
  login_required: 'You have to sign in, but the request did not allow the service to show a page.',
  temporarily_unavailable: 'The service cannot answer at the moment. Nothing is lost: try again shortly.',
}

const unreachable = 'There was no response. Is the service running? Nothing is lost: try again shortly.'

/** The outcome for an error of openid-client. Any other error is a defect of this app, and is thrown again. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof client.AuthorizationResponseError) return failure(error.error, error.error_description, 302)
  if (error instanceof client.ResponseBodyError) return failure(error.error, error.error_description, error.status)
  if (error instanceof client.WWWAuthenticateChallengeError) {
    const [challenge] = error.cause
    const code = challenge?.parameters.error ?? (challenge?.scheme === 'basic' ? 'invalid_client' : 'unauthorized')
    return failure(code, challenge?.parameters.error_description, error.status)
  }
  // `fetch` throws a TypeError if there is no response. A ClientError is an invalid response, or a timeout.
  if (error instanceof TypeError || error instanceof client.ClientError) return { outcome: 'trouble', words: unreachable }
  throw error
}

function failure(code: string, description: string | undefined, status: number): Failure {
  const outcome = status >= 500 || status === 429 || code === 'temporarily_unavailable' ? 'trouble' : 'refused'
  return { outcome, words: meanings[code] ?? description ?? `The answer was ${code}.` }
}
