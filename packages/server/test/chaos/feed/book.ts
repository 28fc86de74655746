/** What the users of a run know: their tokens, and what ended them when. */
import { createHash } from 'node:crypto'
import { wordsOf } from '../../../../resource/src/feed/message.ts'
import type { Apis } from './apis.ts'
import type { Ending, WatchedToken } from './check-feed.ts'
import type { Acknowledged } from './follower.ts'

/** Milliseconds for which APIs check a token after its ending was acknowledged: more than the feed may be old. */
const WATCHED_FOR = 4000

/** The entries by which the feed names what ended (docs/reference/feed.md). */
export const entryOf = {
  uuid: (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex'),
  client: (clientId: string): Buffer => createHash('sha256').update(clientId).digest().subarray(0, 16),
  clientToken: (clientId: string, jti: string): Buffer => entryOf.client(`${clientId}\0${jti}`),
}

export type EndingOf = {
  /** the tokens that can no longer be used */
  tokens: readonly WatchedToken[]
  /** everything that ended; each counts as one ending */
  entries: readonly Buffer[]
  send: () => Promise<unknown>
  /** Resolves when every node knows of the ending, if the response comes before that. */
  known?: () => Promise<void>
}

export class Book {
  readonly tokens: WatchedToken[] = []
  readonly ledger: Acknowledged[] = []
  /** the number of acknowledged endings */
  ended = 0
  readonly #apis: Pick<Apis, 'watch' | 'stop'>
  readonly #watched = new Set<string>()
  #failure: Error | undefined

  constructor(apis: Pick<Apis, 'watch' | 'stop'>) {
    this.#apis = apis
  }

  /** A new access token, which the APIs check from now on. */
  addToken(text: string): WatchedToken {
    const { jti, exp } = claimsOf(text)
    const token = { id: jti, expiresAt: exp * 1000, endings: [] }
    this.tokens.push(token)
    this.#watched.add(jti)
    this.#apis.watch(jti, text)
    return token
  }

  /** Ends something, and writes down when. */
  async end({ tokens, entries, send, known }: EndingOf): Promise<void> {
    const ending: Ending = { begun: Date.now(), acknowledged: null }
    for (const token of tokens) token.endings.push(ending)
    await send()
    this.ledger.push({ at: Date.now(), entries: wordsOf(Buffer.concat(entries)) ?? new Uint32Array() })
    this.ended += entries.length
    await known?.()
    ending.acknowledged = Date.now()
    setTimeout(() => void this.stop(tokens).catch((error: Error) => (this.#failure ??= error)), WATCHED_FOR)
  }

  /** Something that may have ended these tokens, or not. */
  mayHaveEnded(tokens: readonly WatchedToken[], begun: number): void {
    for (const { endings } of tokens) endings.push({ begun, acknowledged: null })
  }

  /** The APIs no longer check these tokens; all of them if absent. */
  async stop(tokens: readonly WatchedToken[] = this.tokens): Promise<void> {
    if (this.#failure) throw this.#failure
    const ids = tokens.flatMap(({ id }) => (this.#watched.delete(id) ? [id] : []))
    if (ids.length > 0) await this.#apis.stop(ids)
  }
}

export function claimsOf(token: string): { jti: string; exp: number; grant_id?: string; client_id: string } {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as ReturnType<typeof claimsOf>
}
