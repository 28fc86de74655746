/**
 * The approvals of one simulated user: an API asks, the wallet signs or the user declines, and the API uses the approval, on random nodes. Several attempts
 * race with each other and with the end of the grant. An attempt that was used is repeated later, also after endings.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { TestWallet } from '../support/wallet.ts'
import type { HeldGrant } from './held-grant.ts'
import type { Entry } from './history.ts'
import type { ServiceNode } from './nodes.ts'
import type { Random } from './random.ts'
import type { AppClient, RecordedClient } from './recorded-client.ts'

export type Requests = {
  recorded: RecordedClient
  random: Random
  node(): ServiceNode
  /** repeats a request until it gets a response */
  sendWithRetries(ask: () => Promise<Entry>): Promise<Entry>
}

/** The wallet of a grant, for one signature. */
export type Signer = () => TestWallet

/** An approval that was signed or used, with the attempt that may use it from now on. */
type HeldApproval = { id: string; attempt: string }

/** The number of approvals that the API repeats. */
const MAX_APPROVALS = 12

export class ApprovalActor {
  readonly #requests: Requests
  #held: HeldApproval[] = []

  constructor(requests: Requests) {
    this.#requests = requests
  }

  /** Sometimes the API does not wait for the signature, or uses the approval much later. */
  async askSignAndUse(grant: HeldGrant, signer: Signer): Promise<void> {
    const { random } = this.#requests
    const id = await this.#ask(grant)
    if (id === null) return
    if (random.below(4) === 0) await this.#use(id, 'early')
    await this.#sign(id, signer)
    this.#keep({ id, attempt: 'first' })
    if (random.below(4) > 0) await this.#useWithRetries(id, 'first')
  }

  /** Uses one approval with several attempts at once, each more than once. */
  async useTogether(grant: HeldGrant, signer: Signer, count: number): Promise<void> {
    const id = await this.#askAndSign(grant, signer)
    if (id === null) return
    await this.#useAtOnce(id, count, () => Promise.resolve())
  }

  /** Uses one approval shortly before, during and after the end of its grant, and another one afterwards. */
  async useWhileEnding(grant: HeldGrant, signer: Signer, end: () => Promise<Entry>): Promise<void> {
    const { random, sendWithRetries } = this.#requests
    const [id, late] = [await this.#askAndSign(grant, signer), await this.#askAndSign(grant, signer)]
    if (id === null || late === null) return
    await Promise.all([sendWithRetries(end), this.#useAtOnce(id, 4, () => pause(random.below(8)))])
    await this.#useWithRetries(late, 'late')
    await this.#use(id, 'another')
    await this.repeat()
    await this.#ask(grant)
  }

  /** The user declines, sometimes while a signature in another browser is about to be stored. */
  async decline(grant: HeldGrant, signer: Signer): Promise<void> {
    const { recorded, random, node, sendWithRetries } = this.#requests
    const id = await this.#ask(grant)
    if (id === null) return
    const { promise: isProved, resolve } = Promise.withResolvers<void>()
    const signing = random.below(2) === 0 ? undefined : this.#sign(id, signer, resolve)
    await Promise.race([isProved, signing])
    await Promise.all([signing, sendWithRetries(() => recorded.decline(node(), id))])
    await this.#useWithRetries(id, 'first')
  }

  async useAsAnotherClient(grant: HeldGrant, signer: Signer, other: AppClient): Promise<void> {
    const id = await this.#askAndSign(grant, signer)
    if (id === null) return
    const { recorded, node } = this.#requests
    await recorded.use(node(), id, 'first', other)
    await this.#useWithRetries(id, 'first')
    await recorded.use(node(), id, 'first', other)
  }

  /** Repeats the use of an earlier approval. Its grant may have ended since. */
  async repeat(): Promise<void> {
    if (this.#held.length === 0) return
    const { id, attempt } = this.#requests.random.pick(this.#held)
    await this.#useWithRetries(id, attempt)
  }

  async audit(): Promise<void> {
    for (const { id, attempt } of this.#held) await this.#useWithRetries(id, attempt)
  }

  /** Null if the service refused the question. */
  async #ask({ access }: HeldGrant): Promise<string | null> {
    const { recorded, node, sendWithRetries } = this.#requests
    const key = recorded.newAction()
    const { response } = await sendWithRetries(() => recorded.ask(node(), access.at(-1) ?? '', key))
    return response.kind === 'asked' ? response.approval : null
  }

  async #sign(id: string, signer: Signer, onProved?: () => void): Promise<void> {
    const { recorded, node, sendWithRetries } = this.#requests
    await sendWithRetries(() => recorded.sign(node(), signer(), id, onProved))
  }

  async #askAndSign(grant: HeldGrant, signer: Signer): Promise<string | null> {
    const id = await this.#ask(grant)
    if (id !== null) await this.#sign(id, signer)
    return id
  }

  #use(id: string, attempt: string): Promise<Entry> {
    return this.#requests.recorded.use(this.#requests.node(), id, attempt)
  }

  #useWithRetries(id: string, attempt: string): Promise<Entry> {
    return this.#requests.sendWithRetries(() => this.#use(id, attempt))
  }

  async #useAtOnce(id: string, count: number, start: () => Promise<unknown>): Promise<void> {
    const all = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const attempt = `attempt-${index % Math.ceil(count / 2)}`
        await start()
        return { attempt, entry: await this.#use(id, attempt) }
      }),
    )
    const lost = all.filter(({ entry }) => entry.response.kind === 'lost')
    const [used] = [...all.filter(({ entry }) => entry.response.kind === 'used'), ...lost]
    if (used) this.#keep({ id, attempt: used.attempt })
  }

  #keep(approval: HeldApproval): void {
    this.#held.push(approval)
    if (this.#held.length > MAX_APPROVALS) this.#held.splice(this.#requests.random.below(MAX_APPROVALS), 1)
  }
}
