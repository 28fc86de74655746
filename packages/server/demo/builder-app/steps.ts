import * as client from 'openid-client'
import type { Connection } from './connection.ts'
import type { Exchange } from './exchange.ts'
import type { StepReport } from './report.ts'
import { explainFailure } from './report.ts'
import type { DemoSession, Tokens } from './sessions.ts'
import { keepReport } from './sessions.ts'
import { readTokens } from './sign-in.ts'

export interface StepDeps {
  connect: Connection
  apiUrl: string
  now: () => number
}

type Outcome = Pick<StepReport, 'outcome' | 'words'>
type Step = (configuration: client.Configuration, tokens: Tokens, session: DemoSession, deps: StepDeps) => Promise<Outcome>

/** The steps that a signed-in user can take, in any order and any number of times. */
export const steps = { 'call-api': callApi, refresh, introspect, revoke } satisfies Record<string, Step>

/** Runs one step and keeps its report, also if the step fails. */
export async function takeStep(name: keyof typeof steps, tokens: Tokens, session: DemoSession, deps: StepDeps): Promise<void> {
  const exchanges: Exchange[] = []
  const outcome = await deps
    .connect((exchange) => exchanges.push(exchange))
    .then(async (configuration) => await steps[name](configuration, tokens, session, deps))
    .catch(explainFailure)
  keepReport(session, name, { ...outcome, at: deps.now(), exchange: exchanges[0] })
}

/** Presents the access token to the resource API (RFC 6750 §2.1). */
async function callApi(
  configuration: client.Configuration,
  tokens: Tokens,
  _: DemoSession,
  { apiUrl }: StepDeps,
): Promise<Outcome> {
  const response = await client.fetchProtectedResource(configuration, tokens.accessToken, new URL('/me', apiUrl), 'GET')
  if (response.status === 200)
    return { outcome: 'done', words: 'The response names the wallet of the token, and the app that called.' }
  return { outcome: 'trouble', words: 'The API cannot check tokens at the moment, so it refuses every call. Try again shortly.' }
}

/** Phase 2: exchanges the refresh token for new tokens (RFC 6749 §6). */
async function refresh(
  configuration: client.Configuration,
  tokens: Tokens,
  session: DemoSession,
  { now }: StepDeps,
): Promise<Outcome> {
  const { refreshToken } = tokens
  if (refreshToken === undefined) return { outcome: 'refused', words: 'This app received no refresh token.' }
  const fresh = readTokens(await client.refreshTokenGrant(configuration, refreshToken), now())
  // If the response has no refresh token, the old one stays valid (§6).
  session.tokens = { ...fresh, refreshToken: fresh.refreshToken ?? refreshToken }
  return {
    outcome: 'done',
    words:
      'This app has two new tokens, and deleted the old refresh token. If the old one is presented later, it may have been stolen, so the whole permission ends.',
  }
}

/** Phase 3: introspects the access token (RFC 7662 §2). */
async function introspect(configuration: client.Configuration, tokens: Tokens): Promise<Outcome> {
  const { active } = await client.tokenIntrospection(configuration, tokens.accessToken, { token_type_hint: 'access_token' })
  return active
    ? { outcome: 'done', words: 'The token is active: it works right now.' }
    : { outcome: 'refused', words: 'The token is not active. The response contains nothing more about such a token.' }
}

/** Phase 4: revokes the refresh token, and with it the whole grant (RFC 7009 §2). */
async function revoke(configuration: client.Configuration, tokens: Tokens): Promise<Outcome> {
  await client.tokenRevocation(configuration, tokens.refreshToken ?? tokens.accessToken, { token_type_hint: 'refresh_token' })
  return {
    outcome: 'done',
    words: 'The permission of this app has ended. Now try the other steps again: each of them is refused.',
  }
}
