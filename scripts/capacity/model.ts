/** The machines that an installation needs, from a load and the costs of `costs.ts`. */
import { COSTS, type Cost, type Operation, PAGE, PAGE_IN_LOG, ROWS } from './costs.ts'

/** The load of an installation. Counts are of one user on one day, on average over all users. */
export type Load = {
  users: number
  /** grants of a user: one for each app */
  apps: number
  sessions: number
  /** receipts of a user: one for each sign-in with a signature for an app */
  receipts: number
  /** hours in which a user uses apps */
  hours: number
  visits: number
  signIns: number
  endings: number
  /** requests of apps to APIs */
  calls: number
  check: 'offline' | 'feed' | 'introspection'
  /** seconds */
  tokenLifetime: number
  /** the rate of the busiest hour, as a multiple of the average */
  peak: number
  /** where receipts are: with the other rows, or sealed in an object storage of the operator */
  receiptsIn: 'database' | 'objects'
  /** seconds between two checkpoints */
  checkpointEvery: number
  walCompression: 'on' | 'off'
}

export const USUAL: Omit<Load, 'users'> = {
  apps: 2,
  sessions: 1,
  receipts: 2,
  hours: 1,
  visits: 1,
  signIns: 0.05,
  endings: 0.1,
  calls: 30,
  check: 'feed',
  tokenLifetime: 600,
  peak: 3,
  receiptsIn: 'database',
  checkpointEvery: 1800,
  walCompression: 'on',
}

/** A machine of the database: cores, and bytes of memory. At most these are assumed to exist. */
export const LARGEST = { cores: 64, memory: 1e12 } as const
/** A worker of a cluster. */
export const WORKER = { cores: 16, memory: 128e9 } as const
/** Cores of a machine with nodes. */
export const NODE_CORES = 8
/** The part of a node's cores that may be busy. */
const BUSY = 0.6
/** Cleaning, writing of pages and the standby's log, and at most half of the cores in use. */
const DATABASE_FACTOR = 3
/** Free space that PostgreSQL does not return to the file system. */
const ROOM_FACTOR = 4 / 3
/** `autovacuum_freeze_max_age`, as scaling.md recommends: transactions until every table is frozen again. */
const FREEZE_AFTER = 1e9
/** The greatest rate of the log, in bytes a second, that one disk and one standby are assumed to keep up with. */
const LOG_AT_MOST = 500e6

export type Rates = Record<Operation, number>
export type Plan = {
  /** operations a second in the busiest hour */
  rates: Rates
  rows: { grants: number; sessions: number; wallets: number; receipts: number }
  /** bytes on disk, with free space */
  room: number
  /** bytes outside the database, if receipts are in an object storage */
  objects: number
  /** bytes that should be in memory */
  hot: number
  /** bytes a second of write-ahead log in the busiest hour */
  log: number
  /** bytes of log a day, for an archive or another region */
  logPerDay: number
  primary: DatabasePlan
  cluster: DatabasePlan & { workers: number; coordinatorCores: number }
  /** Whether one primary of the largest machine carries the load. */
  fitsOnePrimary: boolean
}
/** `cores`: of the primary, or of all workers together. `freezeHours`: between two times at which one machine freezes its rows. */
export type DatabasePlan = { cores: number; nodeMachines: number; freezeHours: number }

const DAY = 86_400

export function planFor(load: Load): Plan {
  const perDay = operationsPerDay(load)
  const rates = mapRates(perDay, (count) => (count / DAY) * load.peak)
  const rows = {
    grants: load.users * load.apps,
    sessions: load.users * load.sessions,
    wallets: load.users,
    receipts: load.users * load.receipts,
  }
  const receipts = rows.receipts * ROWS.receipt
  const inDatabase = load.receiptsIn === 'database'
  const bytes = rows.grants * ROWS.grant + rows.sessions * ROWS.session + rows.wallets * ROWS.wallet + (inDatabase ? receipts : 0)
  const hot = rows.grants * ROWS.hot
  const log = logRate(load, rates, rows.grants)
  const changes = rates.refresh + rates.visit + rates.signIn * 2 + rates.ending
  const onPrimary = seconds(rates, ({ primary }) => primary) * DATABASE_FACTOR
  const onWorkers = seconds(rates, ({ workers }) => workers) * DATABASE_FACTOR
  const workers = Math.max(2, Math.ceil(onWorkers / WORKER.cores), Math.ceil(hot / (WORKER.memory / 2)))
  return {
    rates,
    rows,
    room: bytes * ROOM_FACTOR,
    objects: inDatabase ? 0 : receipts,
    hot,
    log,
    logPerDay:
      logRate(
        load,
        mapRates(perDay, (count) => count / DAY),
        rows.grants,
      ) * DAY,
    primary: {
      cores: onPrimary,
      nodeMachines: machines(seconds(rates, ({ node }) => node)),
      freezeHours: FREEZE_AFTER / changes / 3600,
    },
    cluster: {
      cores: onWorkers,
      workers,
      coordinatorCores: seconds(rates, ({ coordinator }) => coordinator) * DATABASE_FACTOR,
      nodeMachines: machines(seconds(rates, ({ node, nodeOnCitus }) => node + nodeOnCitus)),
      freezeHours: (FREEZE_AFTER / changes / 3600) * workers,
    },
    fitsOnePrimary: onPrimary <= LARGEST.cores && hot <= LARGEST.memory && log <= LOG_AT_MOST,
  }
}

function operationsPerDay(load: Load): Rates {
  const refresh = (load.hours * 3600) / load.tokenLifetime
  const introspected = load.check === 'introspection' ? load.calls : 0
  // The first request with each access token costs more.
  const newToken = Math.min(introspected, refresh)
  const perUser: Rates = {
    refresh,
    newToken,
    sameToken: introspected - newToken,
    visit: load.visits,
    signIn: load.signIns,
    ending: load.endings,
  }
  return mapRates(perUser, (count) => count * load.users)
}

/** Whole pages: each page that changes between two checkpoints is written to the log once. A refresh changes a page at random. */
function logRate(load: Load, rates: Rates, grants: number): number {
  const names = Object.keys(rates) as Operation[]
  const changes = names.reduce((sum, name) => sum + rates[name] * COSTS[name].log, 0)
  const pages = grants / PAGE.grants
  const touched = pages * (1 - Math.exp((-rates.refresh * load.checkpointEvery) / Math.max(1, pages)))
  return changes + (touched * PAGE_IN_LOG[load.walCompression]) / load.checkpointEvery
}

/** Seconds of processor time in one second: cores that are busy. */
function seconds(rates: Rates, costOf: (cost: Cost) => number): number {
  const names = Object.keys(rates) as Operation[]
  return names.reduce((sum, name) => sum + rates[name] * costOf(COSTS[name]), 0) / 1e6
}

/** Two at least, and one more than the load needs. */
const machines = (cores: number) => Math.max(2, Math.ceil(cores / BUSY / NODE_CORES) + 1)

function mapRates(rates: Rates, change: (count: number) => number): Rates {
  return Object.fromEntries(Object.entries(rates).map(([name, count]) => [name, change(count)])) as Rates
}
