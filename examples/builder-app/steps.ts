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

/** The steps a signed-in person can take, in any order and as often as they like. */
export const steps = { 'call-api': callApi, refresh, introspect, revoke } satisfies Record<string, Step>

/** Runs one step and keeps its report; a failure is a report too. */
export async function takeStep(name: keyof typeof steps, tokens: Tokens, session: DemoSession, deps: StepDeps): Promise<void> {
  const exchanges: Exchange[] = []
  const outcome = await deps
    .connect((exchange) => exchanges.push(exchange))
    .then(async (configuration) => await steps[name](configuration, tokens, session, deps))
    .catch(explainFailure)
  keepReport(session, name, { ...outcome, at: deps.now(), exchange: exchanges[0] })
}

/** The token is presented to the resource API (RFC 6750 §2.1). */
async function callApi(
  configuration: client.Configuration,
  tokens: Tokens,
  _: DemoSession,
  { apiUrl }: StepDeps,
): Promise<Outcome> {
  const response = await client.fetchProtectedResource(configuration, tokens.accessToken, new URL('/me', apiUrl), 'GET')
  if (response.status === 200)
    return { outcome: 'done', words: 'The API knows whose wallet it was called for, and by which app.' }
  return { outcome: 'trouble', words: 'The API cannot check the token at the moment, so it lets nobody in. Try again shortly.' }
}

/** Phase 2: new tokens from the refresh token (RFC 6749 §6). */
async function refresh(
  configuration: client.Configuration,
  tokens: Tokens,
  session: DemoSession,
  { now }: StepDeps,
): Promise<Outcome> {
  const { refreshToken } = tokens
  if (refreshToken === undefined) return { outcome: 'refused', words: 'This app was given no refresh token.' }
  const fresh = readTokens(await client.refreshTokenGrant(configuration, refreshToken), now())
  // Without a new one the old one stays in use (§6).
  session.tokens = { ...fresh, refreshToken: fresh.refreshToken ?? refreshToken }
  return {
    outcome: 'done',
    words:
      'Two new tokens. This app threw the old refresh token away: whoever presents it later is taken for a thief, and everything ends.',
  }
}

/** Phase 3: what the service says about the access token (RFC 7662 §2). */
async function introspect(configuration: client.Configuration, tokens: Tokens): Promise<Outcome> {
  const { active } = await client.tokenIntrospection(configuration, tokens.accessToken, { token_type_hint: 'access_token' })
  return active
    ? { outcome: 'done', words: 'The token is active: it works right now.' }
    : { outcome: 'refused', words: 'The token is not active. About a token that does not work, the service says nothing more.' }
}

/** Phase 4: the refresh token is revoked, and with it the whole grant (RFC 7009 §2). */
async function revoke(configuration: client.Configuration, tokens: Tokens): Promise<Outcome> {
  await client.tokenRevocation(configuration, tokens.refreshToken ?? tokens.accessToken, { token_type_hint: 'refresh_token' })
  return {
    outcome: 'done',
    words: 'Everything this app was allowed is over. Now try the other steps again: each of them is refused.',
  }
}
