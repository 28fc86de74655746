/** Stores the report of a process once a minute, and the incidents that the process noted. */
import type { NodeReport } from '../model/node-store.ts'
import type { Store } from '../model/store.ts'
import { addIncidents, type NotedIncidents } from './incidents.ts'

type ReporterParts = {
  store: Pick<Store, 'nodes' | 'lists'>
  now: () => number
  incidents: NotedIncidents
  /** what the process is and has counted */
  read(): Omit<NodeReport, 'at' | 'stoppedAt' | keyof Measures>
  /** reads the store once */
  measure(): Promise<Measures>
}

type Measures = Pick<NodeReport, 'storeTime' | 'lag'>

export type Reporter = {
  /** To be called every few seconds. A report that cannot be stored is stored by a later call, with everything since. */
  report(): Promise<void>
  /** The report at this moment. */
  present(): NodeReport
  /** Stores that the process stopped. A process that has not reported yet leaves no row. */
  stop(): Promise<void>
}

export function createReporter({ store, now, incidents, read, measure }: ReporterParts): Reporter {
  let storedMinute = Number.NEGATIVE_INFINITY
  let measures: Measures = { storeTime: 0, lag: 0 }
  const present = (): NodeReport => ({ ...read(), ...measures, at: now(), stoppedAt: null })

  async function put(report: NodeReport): Promise<void> {
    if ((await store.nodes.changeNode(report.id, () => report)) === null) await store.nodes.insertNode(report)
  }

  async function storeIncidents(): Promise<void> {
    const noted = incidents.take()
    if (noted.length === 0) return
    try {
      await store.lists.changeList('incidents', (list) => addIncidents(list, noted, now()))
    } catch (error) {
      for (const incident of noted) incidents.note(incident)
      throw error
    }
  }

  return {
    present,
    async report() {
      await storeIncidents()
      const minute = Math.floor(now() / 60)
      if (minute === storedMinute) return
      measures = await measure()
      await put(present())
      storedMinute = minute
    },
    async stop() {
      if (storedMinute > Number.NEGATIVE_INFINITY) await put({ ...present(), stoppedAt: now() })
    },
  }
}
