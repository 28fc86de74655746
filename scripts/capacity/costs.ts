/**
 * What one operation costs, as measured. docs/operating/scaling.md, docs/operating/citus.md and docs/evidence/performance.md have the machine, the date and the commands.
 */

/** Microseconds of processor time, and bytes of write-ahead log, for one operation. */
export type Cost = {
  /** in a node: HTTP, protocol, and the driver of the database */
  node: number
  /** one PostgreSQL primary */
  primary: number
  /** all workers of a Citus cluster together */
  workers: number
  /** the coordinator of a Citus cluster */
  coordinator: number
  /** additional processor time in the node on Citus */
  nodeOnCitus: number
  /** bytes of log without whole pages */
  log: number
  /** pages of a table or an index that the operation changes */
  pages: number
}

export type Operation = 'refresh' | 'newToken' | 'sameToken' | 'visit' | 'signIn' | 'ending'

/** Microseconds of the signature check of one wallet (`recoverPublicKey` of noble-curves). */
const SIGNATURE = 1500

// `npm run bench` measures the whole request on SQLite. The driver's part on PostgreSQL is added (`node scripts/capacity/measure-postgres.ts`).
const authorize = { node: 75 + 17, primary: 22, workers: 65, coordinator: 0, nodeOnCitus: 50, log: 0, pages: 0 }
const redemption = { node: 135 + 40, primary: 46, workers: 293, coordinator: 2, nodeOnCitus: 142, log: 826, pages: 0.48 }

export const COSTS: Readonly<Record<Operation, Cost>> = {
  refresh: { node: 93 + 25, primary: 43, workers: 69, coordinator: 1, nodeOnCitus: 40, log: 323, pages: 1 },
  newToken: { node: 78 + 19, primary: 16, workers: 29, coordinator: 1, nodeOnCitus: 31, log: 0, pages: 0 },
  sameToken: { node: 36 + 19, primary: 16, workers: 29, coordinator: 1, nodeOnCitus: 31, log: 0, pages: 0 },
  // An authorization request with a session, and the exchange of its code.
  visit: sum(authorize, redemption),
  // Not measured alone: a signature, and the rows of a session, a wallet and a receipt. Counted as the rows of two code exchanges. The line of the
  // audit trail, which is on the coordinator, is not counted.
  signIn: sum({ ...redemption, node: SIGNATURE }, redemption),
  ending: { node: 105 + 21, primary: 59, workers: 298, coordinator: 1, nodeOnCitus: 89, log: 3027, pages: 0.37 },
}

/** Bytes of one row with its indexes (`node scripts/capacity/measure-bytes.ts`). `hot`: bytes of a grant and its primary key, which should be in memory for refreshes. */
export const ROWS = { grant: 535, session: 410, wallet: 131, receipt: 634, hot: 328 + 40 } as const

/** Bytes of a whole page in the log, with and without `wal_compression`. */
export const PAGE_IN_LOG = { off: 6300, on: 3100 } as const
/** Grants on one page of 8 kB, and bytes of a page. */
export const PAGE = { grants: 22, bytes: 8192 } as const

function sum(one: Cost, other: Cost): Cost {
  const names = Object.keys(one) as (keyof Cost)[]
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Cost
}
