/** Outages of the store and alarms, over all nodes: a list of few items. */
import type { Incident } from '../model/node-store.ts'

/** The incident that the store could not be used. The other incidents are alarms, which are named by their events. */
export const STORE_AWAY = 'store_away'

/** Seconds. */
const KEPT = 7 * 86_400
const INCIDENTS_AT_MOST = 50
/** Incidents of one kind with at most this many seconds in between are one, because processes note one outage at different times. */
const TOGETHER = 60

/** Adds incidents to a list. The latest ones are kept, the latest last. */
export function addIncidents(present: readonly Incident[], added: readonly Incident[], at: number): Incident[] {
  return added
    .reduce(addIncident, [...present])
    .filter(({ until }) => until > at - KEPT)
    .sort((a, b) => a.until - b.until)
    .slice(-INCIDENTS_AT_MOST)
}

function addIncident(list: Incident[], added: Incident): Incident[] {
  const isOne = ({ kind, from, until }: Incident): boolean =>
    kind === added.kind && from <= added.until + TOGETHER && until >= added.from - TOGETHER
  const all = [...list.filter(isOne), added]
  const merged = {
    kind: added.kind,
    from: Math.min(...all.map(({ from }) => from)),
    until: Math.max(...all.map(({ until }) => until)),
    count: all.reduce((sum, { count }) => sum + count, 0),
  }
  return [...list.filter((each) => !isOne(each)), merged]
}

export type NotedIncidents = {
  note(incident: Incident): void
  /** The incidents since the last call. */
  take(): Incident[]
}

/** What a process noted and has not stored yet. Their number is bounded, as that of the list. */
export function createNotedIncidents(now: () => number): NotedIncidents {
  let noted: Incident[] = []
  return {
    note: (incident) => void (noted = addIncidents(noted, [incident], now())),
    take() {
      const taken = noted
      noted = []
      return taken
    },
  }
}
