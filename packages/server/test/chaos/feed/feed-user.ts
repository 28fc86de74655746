/** A user with apps: tokens, and everything that the user and the apps can end. A request without a response is repeated on any node. */
import { setTimeout as pause } from 'node:timers/promises'
import { owner } from '../../support/wallet-contracts.ts'
import type { Entry, RecordedResponse } from '../history.ts'
import type { ServiceNode } from '../nodes.ts'
import type { Random } from '../random.ts'
import type { AppClient, Person, RecordedClient } from '../recorded-client.ts'
import { retryUntilAnswered } from '../retry.ts'
import { type Book, entryOf } from './book.ts'
import type { WatchedToken } from './check-feed.ts'
import type { GrantCopies } from './grant-copies.ts'

/** Sends a request, and keeps the commit of its ending open meanwhile. */
export type Hold = (grantId: string, send: () => Promise<unknown>) => Promise<unknown>

export type UserPlace = {
  recorded: RecordedClient
  nodes: readonly ServiceNode[]
  /** apps for which a session is enough */
  apps: readonly AppClient[]
  book: Book
  copies: GrantCopies
  /** the number of grants that each wallet gets in addition, and that end with everything */
  copiesOfGrant: number
  hold: Hold | undefined
}

type Token = { text: string; watched: WatchedToken }
type HeldGrant = { app: AppClient; id: string; tokens: Token[]; refresh: string }

/** Grants of each app. */
const GRANTS = 2
/** Milliseconds between two requests of a user, at most. */
const PAUSE = 200

export class FeedUser {
  readonly #place: UserPlace
  readonly #random: Random
  readonly #name: string
  #rounds = 0
  /** the number of requests that got a response, and of sign-ins */
  responses = 0

  constructor(place: UserPlace, random: Random, name: string) {
    this.#place = place
    this.#random = random
    this.#name = name
  }

  /** One wallet, from its first sign-in to the end of everything. */
  async runRound(): Promise<void> {
    const { recorded, apps, book, copies, copiesOfGrant } = this.#place
    const wallet = owner(`${this.#name}, wallet ${++this.#rounds}`)
    const [app] = apps as [AppClient]
    const person = await untilDone(() => recorded.signIn(this.#node(), () => Promise.resolve(wallet), app))
    this.responses++
    const grants: HeldGrant[] = []
    for (const app of apps) for (let count = 0; count < GRANTS; count++) grants.push(...(await this.#connect(person, app)))
    const copied: string[] = []
    for (const each of apps) {
      const grant = grants.find(({ app }) => app === each)
      if (grant) copied.push(...(await untilDone(() => copies.copyGrant(grant.id, Math.ceil(copiesOfGrant / apps.length)))))
    }
    const left = await this.#endSome(person, grants)
    // The end of a session ends no token: the APIs accept the tokens of the grants that are left.
    await this.#ask(() => recorded.signOut(this.#node(), person))
    await this.#pause()
    await book.end({
      tokens: watched(left),
      entries: [...left.map(({ id }) => id), ...copied].map(entryOf.uuid),
      send: () => this.#ask(() => recorded.endEverything(this.#node(), person)),
    })
    // A run has more requests than memory for them.
    recorded.history.length = 0
  }

  /** In any order: one access token, one grant, and all grants of one app. Returns the grants that are left. */
  async #endSome(person: Person, grants: HeldGrant[]): Promise<HeldGrant[]> {
    const { recorded, apps, hold = (_, send) => send() } = this.#place
    const app = this.#random.pick(apps)
    const left = new Set(grants)
    const take = (ended: readonly HeldGrant[]): readonly HeldGrant[] => {
      for (const grant of ended) left.delete(grant)
      return ended
    }
    const endings = [
      async () => {
        for (const grant of [...left].slice(0, 1)) await this.#revokeToken(grant)
      },
      async () => {
        for (const grant of take([...left].slice(-1))) {
          const send = () => this.#ask(() => recorded.revoke(this.#node(), grant.app, grant.refresh))
          await this.#endGrants([grant], () => hold(grant.id, send))
        }
      },
      async () => {
        const ended = take([...left].filter((grant) => grant.app === app))
        await this.#endGrants(ended, () => this.#ask(() => recorded.endApp(this.#node(), person, app)))
      },
    ]
    for (const end of shuffled(endings, this.#random)) {
      await this.#pause()
      await end()
    }
    return [...left]
  }

  async #revokeToken({ app, tokens }: HeldGrant): Promise<void> {
    const { book, recorded } = this.#place
    const { text, watched } = this.#random.pick(tokens)
    const send = () => this.#ask(() => recorded.revoke(this.#node(), app, text))
    await book.end({ tokens: [watched], entries: [entryOf.uuid(watched.id)], send })
  }

  #endGrants(grants: readonly HeldGrant[], send: () => Promise<unknown>): Promise<void> {
    return this.#place.book.end({ tokens: watched(grants), entries: grants.map(({ id }) => entryOf.uuid(id)), send })
  }

  /** A grant with two access tokens; none if a lost response made that impossible. */
  async #connect(person: Person, app: AppClient): Promise<HeldGrant[]> {
    const { recorded, book } = this.#place
    const code = await this.#ask(() => recorded.authorize(this.#node(), person, app))
    if (code.kind !== 'code') return []
    // One attempt only: one that got no response may reach the store after its repetition, and a code that is used twice ends the grant.
    const { response: redeemed } = await recorded.redeem(this.#node(), app, code.code)
    if (redeemed.kind !== 'tokens') return []
    this.responses++
    const { access, grantId: id, refresh } = redeemed
    const grant: HeldGrant = { app, id, tokens: [{ text: access, watched: book.addToken(access) }], refresh }
    const begun = Date.now()
    const refreshed = await this.#ask(() => recorded.refresh(this.#node(), app, refresh))
    if (refreshed.kind !== 'tokens') {
      // A repeated refresh that comes too late ends the grant.
      book.mayHaveEnded(watched([grant]), begun)
      return []
    }
    grant.tokens.push({ text: refreshed.access, watched: book.addToken(refreshed.access) })
    return [{ ...grant, refresh: refreshed.refresh }]
  }

  #node(): ServiceNode {
    return this.#random.pick(this.#place.nodes)
  }

  #pause(): Promise<void> {
    return pause(this.#random.below(PAUSE))
  }

  /** The response. Each attempt may go to another node. */
  async #ask(ask: () => Promise<Entry>): Promise<RecordedResponse> {
    const { response } = await retryUntilAnswered(ask, this.#random, () => Promise.resolve())
    if (response.kind === 'lost' || response.kind === 'unexpected') throw new Error(JSON.stringify(response))
    this.responses++
    return response
  }
}

const watched = (grants: readonly HeldGrant[]) => grants.flatMap(({ tokens }) => tokens.map((token) => token.watched))

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}

/** Milliseconds. It only ends what hangs. */
const PATIENCE = 180_000

/** Repeats what fails while a node or the database is away. */
export async function untilDone<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (const since = performance.now(); ; ) {
    try {
      return await attempt()
    } catch (error) {
      // The new error has the stack of the caller.
      if (performance.now() - since > PATIENCE) throw new Error(`no attempt succeeded in ${PATIENCE} ms`, { cause: error })
      await pause(50)
    }
  }
}
