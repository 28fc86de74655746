/**
 * One person and the apps it uses: a random life of codes, refreshes, races, replays, revocations and endings, on
 * whatever node chance picks. It goes on after every lost answer as a good client does, by asking again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { askAgain } from './ask-again.ts'
import { type Held, heldSince, isTokens, moveOn } from './held.ts'
import type { Entry } from './history.ts'
import type { ServiceNode } from './nodes.ts'
import type { Random } from './random.ts'
import type { RecordedChain, Wallet } from './recorded-chain.ts'
import type { AppClient, Person, RecordedClient } from './recorded-client.ts'
import { WalletInUse } from './wallet-in-use.ts'

export type Place = {
  recorded: RecordedClient
  /** where contract wallets are */
  chain: RecordedChain
  nodes: readonly ServiceNode[]
  clients: readonly AppClient[]
  /** how many requests take part in a race */
  racers: number
  /** milliseconds in which a request without an answer may still be worked on */
  settling: number
}

/** How many grants one person keeps at a time. */
const KEPT = 6

export class Actor {
  readonly #place: Place
  readonly #random: Random
  readonly #wallet: WalletInUse
  #person: Person
  #held: Held[] = []

  private constructor(place: Place, random: Random, wallet: WalletInUse, person: Person) {
    this.#place = place
    this.#random = random
    this.#wallet = wallet
    this.#person = person
  }

  static async signedIn(place: Place, random: Random, wallet: Wallet): Promise<Actor> {
    const inUse = new WalletInUse(place.chain, wallet)
    const person = await place.recorded.signIn(random.pick(place.nodes), () => inUse.next(), random.pick(place.clients))
    return new Actor(place, random, inUse, person)
  }

  /** Lives until the time (of `performance.now`). */
  async live(until: number): Promise<void> {
    while (performance.now() < until) await this.#step()
  }

  /** Looks at everything it knows of once more, on every node, and uses every leaf. */
  async audit(): Promise<void> {
    for (const held of this.#held) {
      for (const node of this.#place.nodes) {
        for (const token of held.access.slice(-2)) {
          await this.#persistently(() => this.#place.recorded.introspect(node, held.client, token))
        }
      }
      await this.#refresh(held)
      const token = held.access.at(-1) ?? ''
      await this.#persistently(() => this.#place.recorded.introspect(this.#node(), held.client, token))
    }
  }

  async #step(): Promise<void> {
    const steps: [number, (held: Held) => Promise<void>][] = [
      [30, (held) => this.#refresh(held)],
      [20, (held) => this.#introspect(held)],
      [8, (held) => this.#refreshTogether(held, 2 + this.#random.below(4))],
      [3, (held) => this.#refreshTogether(held, this.#place.racers)],
      [3, (held) => this.#refreshAndRevoke(held)],
      [3, (held) => this.#askAsAnother(held)],
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
      [15, () => this.#begin()],
      [this.#wallet.isContract ? 8 : 0, () => this.#handOver()],
    ]
    const held = this.#held.length === 0 ? undefined : this.#random.pick(this.#held)
    let ticket = this.#random.below(steps.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, run] of steps) {
      ticket -= weight
      if (ticket < 0) return held ? run(held) : this.#begin()
    }
  }

  #node(): ServiceNode {
    return this.#random.pick(this.#place.nodes)
  }

  /** Asks again until there is an answer; another node may have one. */
  #persistently(ask: () => Promise<Entry>): Promise<Entry> {
    return askAgain(ask, this.#random, this.#place.settling)
  }

  async #code(client: AppClient): Promise<string | null> {
    const ask = (): Promise<Entry> => this.#place.recorded.authorize(this.#node(), this.#person, client)
    let { told } = await this.#persistently(ask)
    if (told.kind === 'login') {
      if (client.consent === 'session') await this.#signInAgain()
      else this.#person = await this.#signIn(client)
      told = (await this.#persistently(ask)).told
    }
    return told.kind === 'code' ? told.code : null
  }

  /** A new session, and a signed consent to this app; the earlier session stays. */
  #signIn(client: AppClient): Promise<Person> {
    return this.#place.recorded.signIn(this.#node(), () => this.#wallet.next(), client)
  }

  async #begin(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const code = await this.#code(client)
    if (code === null) return
    const { told } = await this.#persistently(() => this.#place.recorded.redeem(this.#node(), client, code))
    this.#keep(client, code, told)
  }

  #keep(client: AppClient, code: string, told: Entry['told']): void {
    if (!isTokens(told)) return
    this.#held.push(heldSince(client, code, told))
    if (this.#held.length > KEPT) this.#held.splice(this.#random.below(KEPT), 1)
  }

  async #refresh(held: Held): Promise<void> {
    const { refresh } = held
    const { told } = await this.#persistently(() => this.#place.recorded.refresh(this.#node(), held.client, refresh))
    moveOn(held, told)
  }

  async #introspect(held: Held): Promise<void> {
    const token = this.#random.pick(held.access.slice(-4))
    await this.#place.recorded.introspect(this.#node(), held.client, token)
  }

  async #introspectAll(all: readonly Held[]): Promise<void> {
    for (const held of all) await this.#introspect(held)
  }

  async #refreshTogether(held: Held, count: number): Promise<void> {
    const { refresh, client } = held
    const all = await this.#atOnce(count, () => this.#place.recorded.refresh(this.#node(), client, refresh))
    const won = all.find(({ told }) => isTokens(told))
    if (!won) return this.#refresh(held)
    if (all.some(({ told }) => told.kind === 'lost')) await pause(this.#place.settling)
    moveOn(held, won.told)
  }

  async #refreshAndRevoke(held: Held): Promise<void> {
    const { refresh, client } = held
    const { recorded, racers } = this.#place
    const revokers = new Set([this.#random.below(racers), this.#random.below(racers)])
    const all = await this.#atOnce(racers, (index) =>
      revokers.has(index) ? recorded.revoke(this.#node(), client, refresh) : recorded.refresh(this.#node(), client, refresh),
    )
    for (const { told } of all) moveOn(held, told)
    await this.#introspect(held)
    await this.#refresh(held)
  }

  async #raceForCode(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const code = await this.#code(client)
    if (code === null) return
    const { recorded, racers } = this.#place
    const all = await this.#atOnce(racers, () => recorded.redeem(this.#node(), client, code))
    const won = all.find(({ told }) => isTokens(told))
    if (!won) return
    this.#keep(client, code, won.told)
    await this.#introspect(this.#held.at(-1) as Held)
  }

  #atOnce(count: number, ask: (index: number) => Promise<Entry>): Promise<Entry[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
  }

  async #askAsAnother(held: Held): Promise<void> {
    const other = this.#random.pick(this.#place.clients.filter((client) => client !== held.client))
    const { recorded } = this.#place
    await this.#random.pick([
      () => recorded.introspect(this.#node(), other, held.access.at(-1) ?? ''),
      () => recorded.refresh(this.#node(), other, held.refresh),
      () => recorded.revoke(this.#node(), other, held.refresh),
      () => recorded.redeem(this.#node(), other, held.code),
    ])()
    await this.#introspect(held)
  }

  async #replayRefresh(held: Held): Promise<void> {
    if (held.earlier.length < 2) return this.#refresh(held)
    const old = this.#random.pick(held.earlier.slice(0, -1))
    await this.#persistently(() => this.#place.recorded.refresh(this.#node(), held.client, old))
    await this.#introspect(held)
  }

  async #redeemAgain(held: Held): Promise<void> {
    await this.#persistently(() => this.#place.recorded.redeem(this.#node(), held.client, held.code))
    await this.#introspect(held)
  }

  async #revoke(held: Held, token: string): Promise<void> {
    await this.#persistently(() => this.#place.recorded.revoke(this.#node(), held.client, token))
    await this.#introspect(held)
  }

  async #endApp(client: AppClient): Promise<void> {
    const { told } = await this.#persistently(() => this.#place.recorded.endApp(this.#node(), this.#person, client))
    if (told.kind === 'refused') await this.#signInAgain()
    await this.#introspectAll(this.#held.filter((each) => each.client === client))
  }

  /** Codes that are redeemed just before, while and just after their app is ended. */
  async #endAppWhileRedeeming(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const codes: string[] = []
    for (let count = 0; count < 4; count++) codes.push((await this.#code(client)) ?? '')
    const { recorded } = this.#place
    const late = codes.pop()
    const ending = recorded.endApp(this.#node(), this.#person, client)
    const redemptions = codes.filter(Boolean).map(async (code) => {
      await pause(this.#random.below(8))
      const { told } = await recorded.redeem(this.#node(), client, code)
      this.#keep(client, code, told)
      if (isTokens(told)) await recorded.introspect(this.#node(), client, told.access)
    })
    await Promise.all([ending, ...redemptions])
    if (late) await recorded.redeem(this.#node(), client, late)
    await this.#introspectAll(this.#held.filter(({ code }) => codes.includes(code)))
  }

  async #signInAgain(): Promise<void> {
    const { recorded, clients } = this.#place
    const code = await this.#place.recorded.authorize(this.#node(), this.#person, this.#random.pick(clients))
    await this.#persistently(() => recorded.signOut(this.#node(), this.#person))
    await recorded.authorize(this.#node(), this.#person, this.#random.pick(clients))
    if (code.told.kind === 'code') {
      const client = clients.find(({ id }) => code.asked.op === 'authorize' && id === code.asked.client) as AppClient
      await recorded.redeem(this.#node(), client, code.told.code)
    }
    this.#person = await this.#signIn(this.#random.pick(clients))
  }

  /** A session, a code from it, and then it is ended from another one. */
  async #endOthers(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const other = this.#person
    const { told } = await recorded.authorize(this.#node(), other, client)
    this.#person = await this.#signIn(client)
    await this.#persistently(() => recorded.endOthers(this.#node(), this.#person))
    await recorded.authorize(this.#node(), other, client)
    if (told.kind === 'code') await recorded.redeem(this.#node(), client, told.code)
  }

  /** By a signature, while the apps go on using what they have. */
  async #endEverything(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const { told } = await recorded.authorize(this.#node(), this.#person, client)
    const ending = this.#persistently(() => {
      this.#wallet.noteProof()
      return recorded.endEverything(this.#node(), this.#person)
    })
    await Promise.all([ending, ...this.#held.map((held) => this.#refreshTogether(held, 2))])
    await this.#introspectAll(this.#held)
    await recorded.authorize(this.#node(), this.#person, client)
    if (told.kind === 'code') await recorded.redeem(this.#node(), client, told.code)
    this.#person = await this.#signIn(client)
  }

  /** The contract gets another owner, while the apps of the former one go on using what they have. */
  async #handOver(): Promise<void> {
    const client = this.#random.pick(this.#place.clients)
    const { recorded } = this.#place
    const former = this.#person
    const { told } = await recorded.authorize(this.#node(), former, client)
    await Promise.all([this.#wallet.handOver(), ...this.#held.map((held) => this.#refreshTogether(held, 2))])
    for (const held of this.#held) await this.#refresh(held)
    await this.#introspectAll(this.#held)
    if (told.kind === 'code') await recorded.redeem(this.#node(), client, told.code)
    this.#wallet.noteProof()
    await recorded.signInAsFormer(this.#node(), former, client)
    this.#person = await this.#signIn(client)
  }
}
