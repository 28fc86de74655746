/**
 * The draws of one simulated user: an API draws from limits that the wallet signed, and gives back, on random nodes. Equal and different draws race with each
 * other and with the end of the grant. A draw is repeated later with its key, also after endings.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Requests } from './approval-actor.ts'
import type { HeldGrant } from './held-grant.ts'
import type { Entry } from './history.ts'

/** What the API wrote down before it drew. */
type HeldDraw = { grantId: string; token: string; key: string; amount: number }

/** The number of draws that the API repeats. */
const MAX_DRAWS = 24

export class DrawActor {
  readonly #requests: Requests
  #held: HeldDraw[] = []

  constructor(requests: Requests) {
    this.#requests = requests
  }

  /** Sometimes the API also asks with another amount, or gives a part back. */
  async drawAndGiveBack(grant: HeldGrant): Promise<void> {
    const { random } = this.#requests
    const draw = this.#newDraw(grant)
    const { response } = await this.#drawWithRetries(draw)
    if (random.below(8) === 0) await this.#drawWithRetries({ ...draw, amount: draw.amount + 1 })
    if (response.kind !== 'drawn' || random.below(3) > 0) return
    const amount = this.#partOf(draw.amount)
    await this.#giveBackWithRetries(draw, amount)
    if (random.below(4) === 0) await this.#giveBackWithRetries(draw, amount + 1)
  }

  /** Several draws at once, each more than once. */
  async drawTogether(grant: HeldGrant, count: number): Promise<void> {
    await this.#drawAtOnce(grant, count, () => Promise.resolve())
  }

  /** Gives one draw back, with equal and with different amounts at once, while the API draws more. */
  async giveBackTogether(grant: HeldGrant, count: number): Promise<void> {
    const draw = this.#newDraw(grant)
    await this.#drawWithRetries(draw)
    const { recorded, node } = this.#requests
    const amounts = [this.#partOf(draw.amount), draw.amount]
    const returns = Array.from({ length: count }, (_, index) =>
      recorded.giveBack(node(), draw.grantId, { key: draw.key, amount: amounts[index % 2] ?? 1 }),
    )
    await Promise.all([...returns, this.#drawAtOnce(grant, 2, () => Promise.resolve())])
    await this.#giveBackWithRetries(draw, draw.amount)
  }

  /** Draws shortly before, during and after the end of the grant, and once more afterwards. */
  async drawWhileEnding(grant: HeldGrant, end: () => Promise<Entry>): Promise<void> {
    const { random, sendWithRetries } = this.#requests
    await Promise.all([sendWithRetries(end), this.#drawAtOnce(grant, 6, () => pause(random.below(8)))])
    await this.#drawWithRetries(this.#newDraw(grant))
    await this.repeat()
  }

  async drawAsAnotherApi(grant: HeldGrant): Promise<void> {
    const draw = this.#newDraw(grant)
    const { recorded, node } = this.#requests
    await recorded.draw(node(), draw.token, draw, 'vault')
    await this.#drawWithRetries(draw)
    await recorded.draw(node(), draw.token, draw, 'vault')
  }

  /** Repeats an earlier draw. Its grant may have ended since. */
  async repeat(): Promise<void> {
    if (this.#held.length > 0) await this.#drawWithRetries(this.#requests.random.pick(this.#held))
  }

  async audit(): Promise<void> {
    for (const draw of this.#held) await this.#drawWithRetries(draw)
  }

  /** Sometimes more than one use may cost. */
  #newDraw({ id, access, limit }: HeldGrant): HeldDraw {
    const { recorded, random } = this.#requests
    const amount = 1 + random.below(Math.ceil((limit?.each ?? 0) * 1.1))
    const draw = { grantId: id, token: access.at(-1) ?? '', key: recorded.newAction(), amount }
    this.#held.push(draw)
    if (this.#held.length > MAX_DRAWS) this.#held.splice(random.below(MAX_DRAWS), 1)
    return draw
  }

  #partOf(amount: number): number {
    return 1 + this.#requests.random.below(amount)
  }

  #drawWithRetries(draw: HeldDraw): Promise<Entry> {
    const { recorded, node, sendWithRetries } = this.#requests
    return sendWithRetries(() => recorded.draw(node(), draw.token, draw))
  }

  #giveBackWithRetries({ grantId, key }: HeldDraw, amount: number): Promise<Entry> {
    const { recorded, node, sendWithRetries } = this.#requests
    return sendWithRetries(() => recorded.giveBack(node(), grantId, { key, amount }))
  }

  async #drawAtOnce(grant: HeldGrant, count: number, start: () => Promise<unknown>): Promise<void> {
    const { recorded, node } = this.#requests
    const draws = Array.from({ length: Math.ceil(count / 2) }, () => this.#newDraw(grant))
    await Promise.all(
      [...draws, ...draws].map(async (draw) => {
        await start()
        await recorded.draw(node(), draw.token, draw)
      }),
    )
  }
}
