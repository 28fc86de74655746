/**
 * The measured operations: the same requests for every server, and the expected responses.
 *
 * Codes and tokens that requests use are made before the measured time. Every response is checked, and the first wrong one ends the run.
 */
import { drawing } from './drawing.ts'
import type { Answer } from './load/connection.ts'
import { requireStatus, requireText, type Work, WrongAnswer } from './load/work.ts'
import { formPost, get } from './request.ts'
import type { Supply, Target } from './target.ts'

/** Makes work for `count` requests, or work without an end. */
export type Prepare = (count: number) => Promise<Work>

export type Operation = {
  name: string
  /** whether an empty post is a fair floor for it */
  floor: boolean
  /** the servers that it can be measured at; all of them if absent */
  fits?(target: Target): boolean
  prepare(target: Target, chains: number): Prepare
  /** whether the server answers it at the port for introspection */
  introspects?: boolean
}

export const OPERATIONS = {
  code: {
    name: 'code exchange',
    floor: false,
    prepare: (target) => async (count) => {
      const { token } = target.paths
      const codes = await supplyOf(target).codes(count)
      const requests = codes.map((code) =>
        formPost(token, target.authorization, {
          grant_type: 'authorization_code',
          code,
          redirect_uri: target.client.redirectUri,
        }),
      )
      return oneByOne(requests, (answer) => void tokensIn(answer, target))
    },
  },
  refresh: {
    name: 'refresh',
    floor: false,
    prepare: refreshInChains,
  },
  same: {
    name: 'introspect, same token',
    introspects: true,
    floor: true,
    prepare: (target) => async () => {
      const [token = 'an-unknown-token'] = target.supply ? await target.supply.accessTokens(1) : []
      const request = introspection(target, token)
      return { next: () => request, accept: (answer) => requireActive(target, answer) }
    },
  },
  new: {
    name: 'introspect, new token each time',
    introspects: true,
    floor: false,
    prepare: (target) => async (count) => introspecting(target, await supplyOf(target).accessTokens(count)),
  },
  other: {
    name: 'introspect, token of another node',
    introspects: true,
    floor: false,
    fits: ({ supply, isFloor }) => isFloor === true || supply?.accessTokensOfAnotherNode !== undefined,
    prepare: (target) => async (count) =>
      introspecting(target, (await supplyOf(target).accessTokensOfAnotherNode?.(count)) ?? []),
  },
  revoke: {
    name: 'revoke',
    floor: false,
    prepare: (target) => async (count) => {
      const tokens = await supplyOf(target).refreshTokens(count)
      const requests = tokens.map((token) =>
        formPost(target.paths.revoke, target.authorization, { token, token_type_hint: 'refresh_token' }),
      )
      return oneByOne(requests, (answer) => requireStatus(answer, 200, 'revoke'))
    },
  },
  authorize: {
    name: 'authorize with a session',
    floor: false,
    prepare(target) {
      let work: Work | undefined
      return async () => (work ??= authorizing(target, await supplyOf(target).sessions(SESSIONS)))
    },
  },
  draw: {
    name: 'draw from a limit',
    floor: false,
    prepare(target) {
      let work: Work | undefined
      return async () => (work ??= await drawing(target, LIMITED_GRANTS))
    },
  },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS

const SESSIONS = 20
/** A grant has at most 10,000 draws. */
const LIMITED_GRANTS = 1000

function supplyOf({ supply, name }: Target): Supply {
  if (!supply) throw new Error(`${name} has nothing to take requests from`)
  return supply
}

function oneByOne(requests: string[], accept: (answer: Answer) => void): Work {
  let index = 0
  return { next: () => requests[index++], accept }
}

function introspecting(target: Target, tokens: string[]): Work {
  return oneByOne(
    tokens.map((token) => introspection(target, token)),
    (answer) => requireActive(target, answer),
  )
}

/** Many chains: each request has the refresh token of the previous response (RFC 6749 §6). `onTokens` is called with every response. */
export function refreshing(target: Target, refreshTokens: string[], onTokens?: (tokens: Tokens) => void): Work {
  const waiting = new Queue(refreshTokens)
  return {
    next() {
      const token = waiting.take()
      return token === undefined
        ? undefined
        : formPost(target.paths.token, target.authorization, { grant_type: 'refresh_token', refresh_token: token })
    },
    accept(answer) {
      const tokens = tokensIn(answer, target)
      waiting.put(tokens.refreshToken)
      onTokens?.(tokens)
    },
  }
}

/** All rounds go on with the same grants. */
function refreshInChains(target: Target, chains: number): Prepare {
  let work: Work | undefined
  return async () => (work ??= refreshing(target, await supplyOf(target).refreshTokens(chains)))
}

/** Browsers that are signed in request codes, in turns. `onCode` is called with every code. */
export function authorizing(target: Target, cookies: string[], onCode?: (code: string) => void): Work {
  const { id, redirectUri } = target.client
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: id,
    redirect_uri: redirectUri,
    scope: 'enhancement',
    state: 'a-state',
  })
  const requests = cookies.map((cookie) => get(`${target.paths.authorize}?${query.toString()}`, cookie))
  let index = 0
  return {
    next: () => requests[index++ % requests.length],
    accept(answer) {
      requireStatus(answer, target.redirect, 'authorize')
      const [, location = ''] = /\r\nlocation: ([^\r]*)/i.exec(answer.head) ?? []
      const [, code] = /[?&]code=([^&]+)/.exec(location) ?? []
      if (code === undefined || !location.startsWith(redirectUri)) throw new WrongAnswer('authorize: no code came back')
      onCode?.(decodeURIComponent(code))
    },
  }
}

/** An authorization request without a session, with PKCE, and with the resource that unregistered clients may request. */
export function authorizePath(
  { paths, demo }: Pick<Target, 'paths' | 'demo'>,
  { clientId, redirectUri }: { clientId: string; redirectUri: string },
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...(demo ? { resource: demo.resource, scope: 'notes.read' } : {}),
    state: 'a-state',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  return `${paths.authorize}?${query.toString()}`
}

export type Tokens = { accessToken: string; refreshToken: string }

/** Both tokens of a token response. Throws if one is missing. */
export function tokensIn(answer: Answer, { opaqueTokens }: Target): Tokens {
  requireStatus(answer, 200, 'token')
  const [, accessToken] = /"access_token":"([^"]+)"/.exec(answer.body) ?? []
  const [, refreshToken] = /"refresh_token":"([^"]+)"/.exec(answer.body) ?? []
  if (accessToken === undefined || refreshToken === undefined) throw new WrongAnswer('token: no pair of tokens came back')
  if (!opaqueTokens && accessToken.split('.').length !== 3) throw new WrongAnswer('token: the access token is not a JWT')
  return { accessToken, refreshToken }
}

/** A post as long as that of the operation, to the path that does the least the operation needs. */
export function floorOf(name: OperationName, target: Target): Work {
  const request = formPost(`/${name}`, target.authorization, { grant_type: name, token: 'x'.repeat(FLOOR_LENGTHS[name] ?? 0) })
  return { next: () => request, accept: (answer) => requireStatus(answer, 200, `the floor of ${name}`) }
}

/** Characters of a code, a refresh token and an access token. */
const FLOOR_LENGTHS: Partial<Record<OperationName, number>> = { code: 320, refresh: 130, same: 720, other: 720 }

function introspection(target: Target, token: string): string {
  return formPost(target.paths.introspect, target.authorization, { token, token_type_hint: 'access_token' })
}

function requireActive(target: Target, answer: Answer): void {
  requireStatus(answer, 200, 'introspect')
  if (target.supply) requireText(answer, '"active":true', 'introspect')
}

/** A first-in, first-out queue that does not move its items when it takes one. */
class Queue {
  private items: string[]
  private head = 0

  constructor(items: string[]) {
    this.items = [...items]
  }

  take(): string | undefined {
    const item = this.items[this.head]
    if (item === undefined) return undefined
    if (++this.head > 10_000) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  put(item: string): void {
    this.items.push(item)
  }
}
