/**
 * A strategy over `passport-oauth2`, with state, PKCE, the check of `iss`, and the address of the wallet.
 * @module @grantor/connect/passport
 */
import { requireIssuer } from './issuer.ts'

export type PassportOptions = {
  /** the URL of the service */
  issuer: string
  clientId: string
  /** The client is registered for `client_secret_post`: `passport-oauth2` sends the secret in the body. */
  clientSecret: string
  callbackUrl: string
  /** names with a space between them; `openid` unless given */
  scope?: string
}

export type PassportUser = { wallet: string; accessToken: string; refreshToken: string | undefined }

type Done = (error: unknown, user?: unknown) => void
type Verify = (accessToken: string, refreshToken: string | undefined, profile: { sub: string }, done: Done) => void

type Incoming = { query?: Record<string, unknown>; body?: Record<string, unknown> }

/** What is used of the class `Strategy` of `passport-oauth2`. */
type OAuth2Strategy = {
  authenticate(request: Incoming, options?: object): void
  fail(challenge: { message: string }, status?: number): void
  userProfile(accessToken: string, done: (error: unknown, profile?: unknown) => void): void
}
type OAuth2StrategyClass<Instance> = new (options: never, verify: never) => Instance

/**
 * A strategy from the class of `passport-oauth2`. `findUser` makes the user of the app from the wallet; the user is the wallet with the tokens
 * unless given.
 *
 * @example
 * passport.use('grantor', grantorStrategy(Strategy, { issuer, clientId, clientSecret, callbackUrl }))
 */
export function grantorStrategy<Instance extends object>(
  Strategy: OAuth2StrategyClass<Instance>,
  { issuer, clientId, clientSecret, callbackUrl, scope = 'openid' }: PassportOptions,
  findUser: (user: PassportUser) => unknown = (user) => user,
): Instance {
  const options = {
    authorizationURL: `${requireIssuer(issuer)}/oauth/authorize`,
    tokenURL: `${issuer}/oauth/token`,
    clientID: clientId,
    clientSecret,
    callbackURL: callbackUrl,
    scope: scope.split(' '),
    scopeSeparator: ' ',
    state: true,
    pkce: true,
  }
  const verify: Verify = (accessToken, refreshToken, { sub }, done) => {
    Promise.resolve({ wallet: sub, accessToken, refreshToken })
      .then(findUser)
      .then((user) => done(null, user), done)
  }
  const strategy = new Strategy(options as never, verify as never)
  const own = strategy as unknown as OAuth2Strategy
  const { authenticate } = own
  Object.assign(own, {
    // RFC 9207, which `passport-oauth2` does not check
    authenticate(this: OAuth2Strategy, request: Incoming, given?: object) {
      const { code, iss } = { ...request.body, ...request.query }
      if (code !== undefined && iss !== issuer) return this.fail({ message: 'iss is not the issuer' }, 403)
      return authenticate.call(this, request, given)
    },
    userProfile: (accessToken: string, done: Done) => {
      readUserinfo(issuer, accessToken).then((profile) => done(null, profile), done)
    },
  } satisfies Partial<OAuth2Strategy>)
  return strategy
}

async function readUserinfo(issuer: string, accessToken: string): Promise<unknown> {
  const answer = await fetch(`${issuer}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${accessToken}` },
    signal: AbortSignal.timeout(15_000),
  })
  if (!answer.ok) throw new Error(`userinfo answered ${answer.status}`)
  return answer.json()
}
