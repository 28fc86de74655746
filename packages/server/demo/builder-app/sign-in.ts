import * as client from 'openid-client'
import type { Connection } from './connection.ts'
import type { Exchange } from './exchange.ts'
import { browserExchange } from './exchange.ts'
import type { StepReport } from './report.ts'
import { explainFailure } from './report.ts'
import type { Attempt, DemoSession, Tokens } from './sessions.ts'
import { rememberAttempt } from './sessions.ts'

/**
 * Phase 1, first half: the URL of the authorization request (RFC 6749 §4.1.1).
 *
 * `state` binds the response to this browser; the code challenge binds it to this attempt (PKCE, RFC 7636).
 */
export async function startSignIn(connect: Connection, session: DemoSession, redirectUri: string): Promise<URL> {
  const configuration = await connect(() => {})
  const codeVerifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const to = client.buildAuthorizationUrl(configuration, {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'enhancement',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
  rememberAttempt(session, state, { codeVerifier, sent: to, startedAt: performance.now() })
  return to
}

/** Removes the attempt of this response, and returns it: each response is used once. */
export function takeAttempt(session: DemoSession | undefined, answer: URL): Attempt | undefined {
  const state = answer.searchParams.get('state') ?? ''
  const attempt = session?.attempts.get(state)
  session?.attempts.delete(state)
  return attempt
}

/**
 * Phase 1, second half: the browser has returned (§4.1.2), and the code in the URL is exchanged for tokens (§4.1.3).
 *
 * openid-client checks `state` and `iss` (RFC 9207) before it sends the code.
 */
export async function finishSignIn(
  connect: Connection,
  session: DemoSession,
  attempt: Attempt,
  cameBack: URL,
  now: () => number,
): Promise<StepReport> {
  const at = now()
  const exchanges: Exchange[] = []
  const browser = browserExchange(attempt.sent, cameBack)
  try {
    const configuration = await connect((exchange) => exchanges.push(exchange))
    const answer = await client.authorizationCodeGrant(configuration, cameBack, {
      expectedState: attempt.sent.searchParams.get('state') ?? '',
      pkceCodeVerifier: attempt.codeVerifier,
    })
    session.tokens = readTokens(answer, at)
    session.signIns += 1
    session.roundTrip = (performance.now() - attempt.startedAt) / 1_000
    // The earlier reports are about another grant.
    session.reports.clear()
    session.reports.set('sign-in', {
      outcome: 'done',
      words: 'The browser came back with a code. Its state and issuer are the right ones.',
      at,
      exchange: browser,
    })
    const report: StepReport = {
      outcome: 'done',
      words: 'The code was valid, and cannot be used again. This app now has two tokens.',
      at,
      exchange: exchanges[0],
    }
    session.reports.set('exchange', report)
    return report
  } catch (error) {
    return { ...explainFailure(error), at, exchange: exchanges[0] ?? browser }
  }
}

export function readTokens(answer: client.TokenEndpointResponse, at: number): Tokens {
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
    scope: answer.scope ?? '',
    expiresAt: at + (answer.expires_in ?? 0),
  }
}
