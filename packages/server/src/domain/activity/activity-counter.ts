/**
 * Counts sign-ins and active wallets in the memory of one process. `store` adds the counts to the rows of the hour and of the day, in at most
 * two changes for each hour that it has counted, whatever the number of requests. A process that is killed loses what it counted since the
 * last call.
 */

import { writeTime } from '../../protocol/wallet/message-lines.ts'
import type { ActivityEntry, ActivityPeriod, ActivityStore } from '../model/activity-store.ts'
import { addValue, emptySketch, mergedSketch, type Sketch } from './distinct-sketch.ts'

const HOUR = 3600
const DAY = 86_400
/** Rows that are kept, with the present one. */
export const KEPT = { hours: 48, days: 400 } as const
/** A row is deleted when the next one begins. So there are never more than these, and the rows of a moment. */
const READ_AT_MOST = 1000

export const dayOf = (at: number): ActivityPeriod => `d${writeTime('period', at).slice(0, 10)}`
export const hourOf = (at: number): ActivityPeriod => `h${writeTime('period', at).slice(0, 13)}`

type ActivityCount = { signIns: number; sketch: Sketch }
/** The counts of the present hour and day. */
type CurrentHour = { hour: number; counts: ActivityCount[]; sketches: Sketch[] }

export class ActivityCounter {
  readonly #store: ActivityStore
  readonly #now: () => number
  readonly #periods = new Map<ActivityPeriod, ActivityCount>()
  /** null if one of its periods is being stored */
  #present: CurrentHour | null = null

  constructor(store: ActivityStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** A session began. */
  noteSignIn(wallet: string): void {
    const { counts, sketches } = this.#open()
    for (const counted of counts) counted.signIns++
    addValue(sketches, wallet)
  }

  /** An app got tokens for the wallet. */
  noteTokens(wallet: string): void {
    addValue(this.#open().sketches, wallet)
  }

  /** If the store fails, the counts that were not stored are kept for the next call. */
  async store(): Promise<void> {
    // What is counted meanwhile belongs to the next call.
    const counts = Array.from(this.#periods)
    for (const [period, counted] of counts) {
      this.#periods.delete(period)
      this.#present = null
      try {
        await this.#add(period, counted)
      } catch (error) {
        this.#putBack(period, counted)
        throw error
      }
    }
  }

  /** Two periods. Their names are made once an hour, because every response with tokens is counted. */
  #open(): CurrentHour {
    const at = this.#now()
    const hour = Math.floor(at / HOUR)
    if (this.#present?.hour === hour) return this.#present
    const counts = [hourOf(at), dayOf(at)].map((period) => {
      const present = this.#periods.get(period) ?? { signIns: 0, sketch: emptySketch() }
      this.#periods.set(period, present)
      return present
    })
    this.#present = { hour, counts, sketches: counts.map(({ sketch }) => sketch) }
    return this.#present
  }

  async #add(period: ActivityPeriod, { signIns, sketch }: ActivityCount): Promise<void> {
    const add = () =>
      this.#store.changeActivity(period, (present) => ({
        period,
        signIns: present.signIns + signIns,
        sketch: mergedSketch(present.sketch, sketch),
      }))
    if (await add()) return
    // An insert can be repeated without an effect. So the row begins empty, and the counts are added by a change.
    await this.#store.insertActivity({ period, signIns: 0, sketch: emptySketch() })
    await add()
    await this.#deleteOld()
  }

  #putBack(period: ActivityPeriod, { signIns, sketch }: ActivityCount): void {
    const later = this.#periods.get(period)
    this.#periods.set(period, {
      signIns: signIns + (later?.signIns ?? 0),
      sketch: later ? mergedSketch(sketch, later.sketch) : sketch,
    })
    this.#present = null
    // If the store fails for days, only the latest hours are kept.
    const oldest = hourOf(this.#now() - KEPT.hours * HOUR)
    for (const each of this.#periods.keys()) if (each.startsWith('h') && each <= oldest) this.#periods.delete(each)
  }

  async #deleteOld(): Promise<void> {
    const entries = await this.#store.readActivityEntries({ after: '', limit: READ_AT_MOST })
    for (const { period } of entries.filter((entry) => this.#isOld(entry))) await this.#store.deleteActivity(period)
  }

  #isOld({ period }: ActivityEntry): boolean {
    const at = this.#now()
    return period.startsWith('h') ? period <= hourOf(at - KEPT.hours * HOUR) : period <= dayOf(at - KEPT.days * DAY)
  }
}
