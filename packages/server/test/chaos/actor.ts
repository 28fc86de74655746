/**
 * One simulated user with its apps: random codes, refreshes, races, replays, revocations, endings, approvals and draws, on random nodes. A request
 * without a response is repeated, as a good client does.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { ApprovalActor, type Requests, type Signer } from './approval-actor.ts'
import { DrawActor } from './draw-actor.ts'
import { type HeldGrant, isTokens, newHeldGrant, storeTokens } from './held-grant.ts'
import type { Entry, Numbers } from './history.ts'
import type { ServiceNode } from './nodes.ts'
import type { Random } from './random.ts'
import type { RecordedChain, Wallet } from './recorded-chain.ts'
import { type AppClient, MOST, type Person, type RecordedClient } from './recorded-client.ts'
import { retryUntilAnswered, type Settle } from './retry.ts'
import { WalletInUse } from './wallet-in-use.ts'

export type Place = {
  recorded: RecordedClient
  /** the chain of the contract wallets */
  chain: RecordedChain
  nodes: readonly ServiceNode[]
  clients: readonly AppClient[]
  /** how many requests take part in a race */
  racers: number
  /** the weight of a draw among the other operations */
  drawing: number
  settle: Settle
}

/** The number of grants that one user keeps at a time. */
const MAX_GRANTS = 6

export class Actor {
  readonly #place: Place
  readonly #random: Random
  readonly #wallet: WalletInUse
  readonly #approvals: ApprovalActor
  readonly #draws: DrawActor
  #person: Person
  #grants: HeldGrant[] = []

  private constructor(place: Place, random: Random, wallet: WalletInUse, person: Person) {
    this.#place = place
    this.#random = random
    this.#wallet = wallet
    this.#person = person
    const requests: Requests = {
      recorded: place.recorded,
      random,
      node: () => this.#node(),
      sendWithRetries: (ask) => this.#sendWithRetries(ask),
    }
    this.#approvals = new ApprovalActor(requests)
    this.#draws = new DrawActor(requests)
  }

  static async signIn(place: Place, random: Random, wallet: Wallet): Promise<Actor> {
    const inUse = new WalletInUse(place.chain, wallet)
    const person = await place.recorded.signIn(random.pick(place.nodes), () => inUse.next(), random.pick(place.clients))
    return new Actor(place, random, inUse, person)
  }

  /** Performs random operations. `isOver` is called before each of them. */
  async actUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.#step()
  }

  /** Introspects the tokens of all grants on every node, and uses every refresh token, every approval and every draw once more. */
  async audit(): Promise<void> {
    await this.#approvals.audit()
    await this.#draws.audit()
    for (const held of this.#grants) {
      for (const node of this.#place.nodes) {
        for (const token of held.access.slice(-2)) {
          await this.#sendWithRetries(() => this.#place.recorded.introspect(node, held.client, token))
        }
      }
      await this.#refresh(held)
      const token = held.access.at(-1) ?? ''
      await this.#sendWithRetries(() => this.#place.recorded.introspect(this.#node(), held.client, token))
    }
  }

  async #step(): Promise<void> {
    const steps: [number, (held: HeldGrant) => Promise<void>][] = [
      [30, (held) => this.#refresh(held)],
      [20, (held) => this.#introspect(held)],
      [8, (held) => this.#refreshTogether(held, 2 + this.#random.below(4))],
      [3, (held) => this.#refreshTogether(held, this.#place.racers)],
      [3, (held) => this.#refreshAndRevoke(held)],
      [3, (held) => this.#useAsAnotherClient(held)],
      [2, (held) => this.#replayRefresh(held)],
      [2, (held) => this.#redeemAgain(held)],
      [3, (held) => this.#revoke(held, held.refresh)],
      [3, (held) => this.#revoke(held, this.#random.pick(held.access))],
      [2, (held) => this.#endApp(held.client)],
      [3, () => this.#endAppWhileRedeeming()],
      [1, () => this.#endOthers()],
      [1, () => this.#endEverything()],
      [1, () => this.#signInAgain()],
      [3, () => this.#raceForCode()],
      [15, () => this.#connect()],
      [15, (held) => this.#askUser(held)],
      [5, () => this.#approvals.repeat()],
      [this.#place.drawing, () => this.#draw()],
      [this.#place.drawing / 6, () => this.#draws.repeat()],
      [this.#wallet.isContract ? 8 : 0, () => this.#transferContract()],
    ]
    const run = this.#random.pickWeighted(steps)
    await (this.#grants.length === 0 ? this.#connect() : run(this.#random.pick(this.#grants)))
  }

  #node(): ServiceNode {
    return this.#random.pick(this.#place.nodes)
  }

  /** Repeats a request until it gets a response. Each attempt may go to another node. */
  #sendWithRetries(ask: () => Promise<Entry>): Promise<Entry> {
    return retryUntilAnswered(ask, this.#random, this.#place.settle)
  }

  async #code(client: AppClient): Promise<string | null> {
    const ask = (): Promise<Entry> => this.#place.recorded.authorize(this.#node(), this.#person, client)
    let { response } = await this.#sendWithRetries(ask)
    if (response.kind === 'login') {
      if (client.consent === 'session') await this.#signInAgain()
      else this.#person = await this.#signIn(client)
      response = (await this.#sendWithRetries(ask)).response
    }
    return response.kind === 'code' ? response.code : null
  }

  /** Starts a new session, with a signed consent to this app. The earlier session stays. */
  #signIn(client: AppClient): Promise<Person> {
    return this.#place.recorded.signIn(this.#node(), () => this.#wallet.next(), client)
  }

  async #connect(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const code = await this.#code(client)
    if (code === null) return
    const { response } = await this.#sendWithRetries(() => this.#place.recorded.redeem(this.#node(), client, code))
    this.#keepGrant(client, code, response)
  }

  /** Only with a confidential client, which can introspect the tokens for the API of the limit. */
  async #connectWithLimit(): Promise<void> {
    if (this.#wallet.isUsedUp) return this.#signInAgain()
    const { recorded, clients } = this.#place
    const client = this.#random.pick(clients.filter(({ secret }) => secret !== ''))
    const limit = newLimit(this.#random)
    const code = await recorded.signLimit(this.#node(), this.#signer(), client, limit)
    const { response } = await this.#sendWithRetries(() => recorded.redeem(this.#node(), client, code))
    this.#keepGrant(client, code, response, limit)
  }

  #keepGrant(client: AppClient, code: string, response: Entry['response'], limit: Numbers | null = null): void {
    if (!isTokens(response)) return
    this.#grants.push(newHeldGrant(client, code, response, limit))
    if (this.#grants.length > MAX_GRANTS) this.#grants.splice(this.#random.below(MAX_GRANTS), 1)
  }

  async #refresh(held: HeldGrant): Promise<void> {
    const { refresh } = held
    const { response } = await this.#sendWithRetries(() => this.#place.recorded.refresh(this.#node(), held.client, refresh))
    storeTokens(held, response)
  }

  async #introspect(held: HeldGrant): Promise<void> {
    const token = this.#random.pick(held.access.slice(-4))
    await this.#place.recorded.introspect(this.#node(), held.client, token)
  }

  async #introspectAll(all: readonly HeldGrant[]): Promise<void> {
    for (const held of all) await this.#introspect(held)
  }

  async #refreshTogether(held: HeldGrant, count: number): Promise<void> {
    const { refresh, client } = held
    const all = await this.#atOnce(count, () => this.#place.recorded.refresh(this.#node(), client, refresh))
    const won = all.find(({ response }) => isTokens(response))
    if (!won) return this.#refresh(held)
    const lost = all.filter(({ response }) => response.kind === 'lost')
    if (lost.length > 0) await this.#place.settle(lost)
    storeTokens(held, won.response)
  }

  async #refreshAndRevoke(held: HeldGrant): Promise<void> {
    const { refresh, client } = held
    const { recorded, racers } = this.#place
    const revokers = new Set([this.#random.below(racers), this.#random.below(racers)])
    const all = await this.#atOnce(racers, (index) =>
      revokers.has(index) ? recorded.revoke(this.#node(), client, refresh) : recorded.refresh(this.#node(), client, refresh),
    )
    for (const { response } of all) storeTokens(held, response)
    await this.#introspect(held)
    await this.#refresh(held)
  }

  async #raceForCode(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const code = await this.#code(client)
    if (code === null) return
    const { recorded, racers } = this.#place
    const all = await this.#atOnce(racers, () => recorded.redeem(this.#node(), client, code))
    const won = all.find(({ response }) => isTokens(response))
    if (!won) return
    this.#keepGrant(client, code, won.response)
    await this.#introspect(this.#grants.at(-1) as HeldGrant)
  }

  #atOnce(count: number, ask: (index: number) => Promise<Entry>): Promise<Entry[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
  }

  /** An API asks the user of a grant to sign an action. */
  async #askUser(held: HeldGrant): Promise<void> {
    const { wallet } = this.#person
    // The wallet of an earlier grant may have been replaced, and the API of a limit asks for nothing.
    if (held.limit !== null || wallet.address !== held.wallet || this.#wallet.isUsedUp) return this.#refresh(held)
    const signer = this.#signer()
    const { recorded, racers, clients } = this.#place
    const approvals = this.#approvals
    const others = clients.filter(({ secret }) => secret !== '')
    await this.#random.pick([
      () => approvals.askSignAndUse(held, signer),
      () => approvals.askSignAndUse(held, signer),
      () => approvals.useTogether(held, signer, 2 + this.#random.below(6)),
      () => approvals.useTogether(held, signer, racers),
      () => approvals.useWhileEnding(held, signer, () => recorded.revoke(this.#node(), held.client, held.refresh)),
      () => approvals.useWhileEnding(held, signer, () => recorded.endApp(this.#node(), this.#person, held.client)),
      () => approvals.decline(held, signer),
      () => approvals.useAsAnotherClient(held, signer, this.#random.pick(others)),
    ])()
    await this.#introspect(held)
  }

  /** Draws from a limit that the wallet has signed, or signs now. */
  async #draw(): Promise<void> {
    const limited = this.#grants.filter(({ limit }) => limit !== null)
    if (limited.length === 0 || this.#random.below(20) === 0) return this.#connectWithLimit()
    const held = this.#random.pick(limited)
    const { recorded, racers } = this.#place
    const draws = this.#draws
    await this.#random.pickWeighted([
      [60, () => draws.drawAndGiveBack(held)],
      [10, () => draws.drawTogether(held, 2 + this.#random.below(6))],
      [1, () => draws.drawTogether(held, racers)],
      [8, () => draws.giveBackTogether(held, 2 + this.#random.below(4))],
      [5, () => draws.drawAsAnotherApi(held)],
      [2, () => this.#drawWhileEnding(held, () => recorded.revoke(this.#node(), held.client, held.refresh))],
      [1, () => this.#drawWhileEnding(held, () => recorded.endApp(this.#node(), this.#person, held.client))],
    ])()
  }

  async #drawWhileEnding(held: HeldGrant, end: () => Promise<Entry>): Promise<void> {
    await this.#draws.drawWhileEnding(held, end)
    // The audit sees only some of the ended grants, so that most draws are from living ones.
    if (this.#random.below(3) > 0) this.#grants = this.#grants.filter((each) => each !== held)
  }

  /** The wallet of the session, for proofs outside of a login. */
  #signer(): Signer {
    const { wallet } = this.#person
    return () => {
      this.#wallet.noteProof()
      return wallet
    }
  }

  async #useAsAnotherClient(held: HeldGrant): Promise<void> {
    const others = this.#place.clients.filter((client) => client !== held.client)
    // For a public client the vault introspects, which is not the API of a limit.
    const other = this.#random.pick(held.limit === null ? others : others.filter(({ secret }) => secret !== ''))
    const { recorded } = this.#place
    await this.#random.pick([
      () => recorded.introspect(this.#node(), other, held.access.at(-1) ?? ''),
      () => recorded.refresh(this.#node(), other, held.refresh),
      () => recorded.revoke(this.#node(), other, held.refresh),
      () => recorded.redeem(this.#node(), other, held.code),
    ])()
    await this.#introspect(held)
  }

  async #replayRefresh(held: HeldGrant): Promise<void> {
    if (held.earlierRefreshTokens.length < 2) return this.#refresh(held)
    const old = this.#random.pick(held.earlierRefreshTokens.slice(0, -1))
    await this.#sendWithRetries(() => this.#place.recorded.refresh(this.#node(), held.client, old))
    await this.#introspect(held)
  }

  async #redeemAgain(held: HeldGrant): Promise<void> {
    await this.#sendWithRetries(() => this.#place.recorded.redeem(this.#node(), held.client, held.code))
    await this.#introspect(held)
  }

  async #revoke(held: HeldGrant, token: string): Promise<void> {
    await this.#sendWithRetries(() => this.#place.recorded.revoke(this.#node(), held.client, token))
    await this.#introspect(held)
  }

  async #endApp(client: AppClient): Promise<void> {
    const { response } = await this.#sendWithRetries(() => this.#place.recorded.endApp(this.#node(), this.#person, client))
    if (response.kind === 'refused') await this.#signInAgain()
    await this.#introspectAll(this.#grants.filter((each) => each.client === client))
  }

  /** Redeems codes shortly before, during and after the ending of their app. */
  async #endAppWhileRedeeming(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const codes: string[] = []
    for (let count = 0; count < 4; count++) codes.push((await this.#code(client)) ?? '')
    const { recorded } = this.#place
    const late = codes.pop()
    const ending = recorded.endApp(this.#node(), this.#person, client)
    const redemptions = codes.filter(Boolean).map(async (code) => {
      await pause(this.#random.below(8))
      const { response } = await recorded.redeem(this.#node(), client, code)
      this.#keepGrant(client, code, response)
      if (isTokens(response)) await recorded.introspect(this.#node(), client, response.access)
    })
    await Promise.all([ending, ...redemptions])
    if (late) await recorded.redeem(this.#node(), client, late)
    await this.#introspectAll(this.#grants.filter(({ code }) => codes.includes(code)))
  }

  async #signInAgain(): Promise<void> {
    const { recorded, clients } = this.#place
    const code = await this.#place.recorded.authorize(this.#node(), this.#person, this.#random.pick(clients))
    await this.#sendWithRetries(() => recorded.signOut(this.#node(), this.#person))
    await recorded.authorize(this.#node(), this.#person, this.#random.pick(clients))
    if (code.response.kind === 'code') {
      const client = clients.find(({ id }) => code.request.op === 'authorize' && id === code.request.client) as AppClient
      await recorded.redeem(this.#node(), client, code.response.code)
    }
    this.#person = await this.#signIn(this.#random.pick(clients))
  }

  /** Gets a code from a session, and then ends the session from another one. */
  async #endOthers(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const other = this.#person
    const { response } = await recorded.authorize(this.#node(), other, client)
    this.#person = await this.#signIn(client)
    await this.#sendWithRetries(() => recorded.endOthers(this.#node(), this.#person))
    await recorded.authorize(this.#node(), other, client)
    if (response.kind === 'code') await recorded.redeem(this.#node(), client, response.code)
  }

  /** Ends everything by a signature, while the apps continue to refresh. */
  async #endEverything(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const { response } = await recorded.authorize(this.#node(), this.#person, client)
    const ending = this.#sendWithRetries(() => {
      this.#wallet.noteProof()
      return recorded.endEverything(this.#node(), this.#person)
    })
    await Promise.all([ending, ...this.#grants.map((held) => this.#refreshTogether(held, 2))])
    await this.#introspectAll(this.#grants)
    await recorded.authorize(this.#node(), this.#person, client)
    if (response.kind === 'code') await recorded.redeem(this.#node(), client, response.code)
    this.#person = await this.#signIn(client)
  }

  /** Transfers the contract to another owner, while the apps of the former owner continue to refresh. */
  async #transferContract(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const former = this.#person
    const { response } = await recorded.authorize(this.#node(), former, client)
    await Promise.all([this.#wallet.transfer(), ...this.#grants.map((held) => this.#refreshTogether(held, 2))])
    for (const held of this.#grants) await this.#refresh(held)
    await this.#introspectAll(this.#grants)
    if (response.kind === 'code') await recorded.redeem(this.#node(), client, response.code)
    this.#wallet.noteProof()
    await recorded.signInAsFormer(this.#node(), former, client)
    this.#person = await this.#signIn(client)
  }
}

/** Numbers that a user may choose: few uses, or many. */
function newLimit(random: Random): Numbers {
  const uses = 1 + random.below(random.pick([8, MOST.uses]))
  const each = 1 + random.below(MOST.each)
  return { uses, each, amount: Math.min(MOST.amount, each + random.below(each * uses)) }
}
