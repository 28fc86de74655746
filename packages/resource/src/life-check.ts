/** Whether a token is genuine, and whether the token has ended: the three ways of docs/guides/checking-tokens.md. */
import type { AccessToken } from './access-token.ts'
import type { FeedProblem } from './feed/problem.ts'
import type { FeedSource } from './feed/reader.ts'
import { shareReader } from './feed/shared.ts'
import { USABLE_FOR } from './feed/state.ts'
import { basicCredentials, createIntrospection, type IntrospectionCredentials } from './introspection.ts'
import { createIssuerMetadata } from './issuer-metadata.ts'
import { ResourceError, refuse } from './resource-error.ts'
import { createKeyFinder, createSignatureCheck, SIGNING_ALGORITHMS, type SignedToken } from './signature-check.ts'
import { type VerifiedToken, VerifiedTokens } from './verified-tokens.ts'

export interface FeedOptions {
  /** Seconds: the greatest age of the feed. If the feed is older, tokens are introspected. Default 3. */
  maxAge?: number
  /** Called when the feed cannot be used, once for each kind of problem until the feed works again: for the API's log. */
  onProblem?: (problem: FeedProblem) => void
}

/** Seconds. */
export const MAX_AGE = 3
export const MAX_AGE_AT_MOST = USABLE_FOR / 1000

export interface LifeCheck<Token extends SignedToken = SignedToken> {
  /** Checks signature and claims. Throws a ResourceError. */
  verify(text: string): Promise<Token>
  /** Checks that the token did not end. Throws a ResourceError. */
  confirm(text: string, verified: Token): AccessToken | Promise<AccessToken>
  ready(): Promise<void>
  close(): void
}

type Options = {
  issuer: string
  audience: string
  check?: 'local' | 'introspection' | 'feed'
  introspection?: IntrospectionCredentials
  feed?: FeedOptions
  clockTolerance?: number
  fetch?: typeof fetch
  now?: () => number
}

/** Read at each call, so that a test or an instrumentation can replace the global `fetch` later. */
export const globalFetch: typeof fetch = (input, init) => fetch(input, init)

/** `now` is in epoch seconds. */
export function createLifeCheck(options: Options, now: () => number): LifeCheck {
  const { issuer, audience, introspection, clockTolerance = 0 } = options
  const ask = options.fetch ?? globalFetch
  const metadata = createIssuerMetadata(issuer, ask)
  const verify = createSignatureCheck({ issuer, audience, clockTolerance, now: options.now }, ask, metadata)
  const nothingOpen = { ready: async () => {}, close: () => {} }
  if (options.check === 'local' || !introspection) return { verify, confirm: (_, { token }) => token, ...nothingOpen }
  const introspect = createIntrospection(introspection, ask, metadata)
  if (options.check !== 'feed') return { verify, confirm: (text, { token }) => introspect(text, token), ...nothingOpen }

  const isExpired = ({ expiresAt }: AccessToken) => expiresAt <= now() - clockTolerance
  const shared = shareReader(feedSourceOf({ issuer, audience, introspection, ask }))
  return createFeedCheck({ verify, introspect, isExpired, ...shared }, options.feed)
}

type Access = { issuer: string; audience: string; introspection: IntrospectionCredentials; ask: typeof fetch }

function feedSourceOf({ issuer, audience, introspection, ask }: Access): FeedSource {
  function findIssuer() {
    const metadata = createIssuerMetadata(issuer, ask)
    return { findEndpoint: async () => (await metadata()).endingsEndpoint, getKey: createKeyFinder(ask, metadata) }
  }
  const authorization = basicCredentials(introspection)
  return { issuer, audience, algorithms: SIGNING_ALGORITHMS, authorization, ask, findIssuer }
}

type FeedParts = ReturnType<typeof shareReader> & {
  verify: (text: string) => Promise<SignedToken>
  introspect: (text: string, token: AccessToken) => Promise<AccessToken>
  isExpired: (token: AccessToken) => boolean
}

function createFeedCheck(
  { verify, introspect, isExpired, reader, release }: FeedParts,
  { maxAge = MAX_AGE, onProblem }: FeedOptions = {},
): LifeCheck<VerifiedToken> {
  const known = new VerifiedTokens()
  const stopListening = onProblem && reader.onProblem(onProblem)
  const milliseconds = maxAge * 1000

  async function verifyOnce(text: string): Promise<VerifiedToken> {
    const found = known.find(text)
    if (!found) return known.add(text, await verify(text))
    if (isExpired(found.token)) throw refuse.invalidToken('expired')
    return found
  }

  function confirm(text: string, { token, ids }: VerifiedToken): AccessToken | Promise<AccessToken> {
    const verdict = ids ? reader.decide(ids, milliseconds) : 'ask'
    if (verdict === 'ask') return ask(text, token)
    if (verdict === 'ended') throw refuse.invalidToken('ended')
    // A copy, because the next call with the same token gets the same object.
    return { ...token }
  }

  async function ask(text: string, token: AccessToken): Promise<AccessToken> {
    try {
      const answer = await introspect(text, token)
      reader.noteAnswer('good')
      return answer
    } catch (error) {
      // A refused token is an answer too.
      reader.noteAnswer(error instanceof ResourceError && error.status !== 503 ? 'good' : 'none')
      throw error
    }
  }

  return {
    verify: verifyOnce,
    confirm,
    ready: () => reader.ready(milliseconds),
    close: () => {
      stopListening?.()
      release()
    },
  }
}
