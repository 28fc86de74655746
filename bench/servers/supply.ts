/** Makes codes and tokens over HTTP, as apps do. */
import { sendAll } from '../load/closed-loop.ts'
import type { Work } from '../load/work.ts'
import { authorizing, refreshing, tokensIn } from '../operations.ts'
import { formPost } from '../request.ts'
import type { Supply, Target } from '../target.ts'

export type Sources = {
  /** signs in a person at the path of an authorization request and returns the Cookie header */
  signIn(authorize: string): Promise<string>
  /** refresh tokens that were made before */
  kept?: string[]
  /** in place of authorization requests with the cookies of people */
  codes?(count: number): Promise<string[]>
  /** in place of exchanged codes */
  refreshTokens?(count: number): Promise<string[]>
  /** the number of grants of the access tokens */
  chains?: number
}

/** Without other sources, people sign in, apps request codes and exchange them. */
export function supplyFrom(target: Target, { signIn, kept = [], chains = CHAINS, ...other }: Sources): Supply {
  const { id, redirectUri } = target.client
  const authorize = `${target.paths.authorize}?client_id=${id}&redirect_uri=${encodeURIComponent(redirectUri)}`
  let refreshes: Work | undefined
  const minted: string[] = []

  const sessions = async (count: number): Promise<string[]> => {
    const all: string[] = []
    for (let left = count; left > 0; left--) all.push(await signIn(authorize))
    return all
  }
  async function codes(count: number): Promise<string[]> {
    if (other.codes) return other.codes(count)
    // New people each time: the oldest grants of a person beyond 100 at one client would end.
    const people = await sessions(Math.max(PEOPLE, Math.ceil(count / GRANTS_OF_EACH)))
    const made: string[] = []
    const asking = authorizing(target, people, (code) => void made.push(code))
    let left = count
    await sendAll(target.port, { ...asking, next: () => (left-- > 0 ? asking.next() : undefined) })
    return made
  }
  async function refreshTokens(count: number): Promise<string[]> {
    if (kept.length >= count) return kept.splice(0, count)
    if (other.refreshTokens) return other.refreshTokens(count)
    const requests = (await codes(count)).map((code) =>
      formPost(target.paths.token, target.authorization, { grant_type: 'authorization_code', code, redirect_uri: redirectUri }),
    )
    const made: string[] = []
    await sendAll(target.port, {
      next: () => requests.pop(),
      accept: (answer) => void made.push(tokensIn(answer, target).refreshToken),
    })
    return made
  }
  return {
    forget: async () => undefined,
    sessions,
    codes,
    refreshTokens,
    async accessTokens(count) {
      refreshes ??= refreshing(target, await refreshTokens(chains), ({ accessToken }) => void minted.push(accessToken))
      const { next, accept } = refreshes
      let left = count
      await sendAll(target.port, { next: () => (left-- > 0 ? next() : undefined), accept })
      return minted.splice(0)
    },
  }
}

/** The minimum number of people for whom codes are issued, and the maximum number of grants of each. */
const PEOPLE = 50
const GRANTS_OF_EACH = 80

const CHAINS = 2000

/** Calls `make` as often, 16 calls at once. */
export async function eachAtOnce(count: number, make: () => Promise<string>): Promise<string[]> {
  const made: string[] = []
  let left = count
  const worker = async () => {
    while (left-- > 0) made.push(await make())
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return made
}
