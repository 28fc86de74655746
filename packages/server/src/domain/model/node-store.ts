/** What each process of the service reports about itself, and what happened to the service. */

/** The requests of one minute. `latencies`: how many requests each bucket of durations has, for buckets with requests. */
export type NodeMinute = {
  /** minutes since the epoch */
  minute: number
  requests: number
  /** answers 5xx */
  faults: number
  /** answers 429 */
  limited: number
  latencies: [bucket: number, count: number][]
}

/** `network` is the first part of an address, `client` the id of a registered client or a word, and `reason` of a closed set. */
export type RefusedSender = { network: string; client: string; reason: string; count: number }

/** One process: a node, or a worker of a node. */
export type NodeReport = {
  /** random, so a process that starts again has another row */
  id: string
  /** epoch seconds, as all times here */
  at: number
  startedAt: number
  /** null while the process runs, and if it ended without a signal */
  stoppedAt: number | null
  machine: string
  processId: number
  version: string
  /** milliseconds of one small read of the store */
  storeTime: number
  /** milliseconds by which turns of the event loop were late in the minute before, 99th percentile */
  lag: number
  /** when the youngest key of some kind must be replaced; null without a key */
  keyDueAt: number | null
  /** null if a proxy terminates TLS */
  certificateEndsAt: number | null
  machinesAway: readonly string[]
  /** open connections that read the feed of endings, and the seconds by which the slowest one is late */
  feedReaders: number
  feedLag: number
  /** those of the last hour that had requests */
  minutes: NodeMinute[]
  /** the most frequent senders of refused requests of the last hour */
  refused: RefusedSender[]
  /** refusals of other senders */
  otherRefusals: number
}

/** Rows are replaced by their process, and swept an hour after the last report. So their number does not depend on the requests. */
export interface NodeStore {
  insertNode(report: NodeReport): Promise<'inserted' | 'taken'>
  /** Null for an unknown process. */
  changeNode(id: string, change: (report: NodeReport) => NodeReport): Promise<NodeReport | null>
  listNodes(): Promise<NodeReport[]>
}

/** The store was away, or there was an alarm. The name of an alarm is that of the event. */
export type Incident = { kind: string; from: number; until: number; count: number }
