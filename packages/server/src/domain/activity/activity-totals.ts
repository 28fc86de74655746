/** The activity over all nodes, from the rows of the store. What a process counted since its last minute is not in them. */
import type { Activity, ActivityStore } from '../model/activity-store.ts'
import { dayOf, hourOf } from './activity-counter.ts'
import { distinctValues, emptySketch, mergedSketch } from './distinct-sketch.ts'

const HOUR = 3600
const DAY = 86_400

export type ActivityTotals = {
  /** distinct wallets, estimated: of the present hour and the 23 before, and of this day and the 29 before */
  activeWallets: { day: number; thirtyDays: number }
  /** of each day in UTC, the oldest first; a day without a sign-in is 0. The last day is today. */
  signIns: { day: string; signIns: number }[]
}

export async function readActivityTotals(
  store: ActivityStore,
  { at, days }: { at: number; days: number },
): Promise<ActivityTotals> {
  const [hours, month, entries] = await Promise.all([
    store.readActivity({ after: hourOf(at - 24 * HOUR), limit: 24 }),
    store.readActivity({ after: dayOf(at - 30 * DAY), limit: 30 }),
    store.readActivityEntries({ after: dayOf(at - days * DAY), limit: days }),
  ])
  const counted = new Map(entries.map(({ period, signIns }) => [period, signIns]))
  return {
    activeWallets: {
      day: walletsOf(hours),
      // The page of the last days goes on with the hours if there are fewer days.
      thirtyDays: walletsOf(month.filter(({ period }) => period.startsWith('d'))),
    },
    signIns: Array.from({ length: days }, (_, index) => {
      const period = dayOf(at - (days - 1 - index) * DAY)
      return { day: period.slice(1), signIns: counted.get(period) ?? 0 }
    }),
  }
}

function walletsOf(rows: readonly Activity[]): number {
  return distinctValues(rows.reduce((all, { sketch }) => mergedSketch(all, sketch), emptySketch()))
}
