/** The parts of the bench: the servers that are measured together, and the operations. */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AloneMeasured, measureAlone } from './alone.ts'
import { type ClientsMeasured, measureClients, TRUSTED_PROXY } from './clients.ts'
import { type HostileMeasured, measureHostile } from './hostile.ts'
import { closedLoop } from './load/closed-loop.ts'
import { loadWithWrk } from './load/wrk.ts'
import { chooseCores, isInstalled, peakMemory, stayOn } from './machine.ts'
import { type Load, measure, type Result, tell } from './measure.ts'
import { type MemoryMeasured, measureMemory } from './memory.ts'
import { OPERATIONS, type Operation, type OperationName } from './operations.ts'
import type { Options, PartName } from './options.ts'
import { startDevelopment } from './servers/development.ts'
import { DEVICE_GRANT } from './servers/devices.ts'
import { fillPostgres, fillSqlite, fillSqliteBetween } from './servers/fill.ts'
import { startFloor } from './servers/floor.ts'
import { startGrantor } from './servers/grantor.ts'
import { startHydra } from './servers/hydra.ts'
import { startKeycloak } from './servers/keycloak.ts'
import { startPeer } from './servers/peer.ts'
import { type PostgresServer, startPostgres } from './servers/postgres.ts'
import { freePort } from './servers/process.ts'
import { measureStalls, REFRESHED, type Stalls } from './stalls.ts'
import { median } from './statistics.ts'
import type { Target } from './target.ts'

export type ServerFacts = {
  name: string
  /** milliseconds from start to ready, one figure for each start */
  readyAfter: number[]
  /** MiB, of all processes of the server, at the end of the run */
  peakMemory: number
}

/** Requests a second of the empty post under our load and under wrk, one figure for each round. */
export type LoadCheck = { ours: number[]; wrk: number[] }

export type PartResult = {
  part: PartName
  servers: ServerFacts[]
  results: Result[]
  loadCheck: LoadCheck | null
  /** of the part `stalls` */
  stalls?: Stalls[]
  /** of the part `clients` */
  clients?: ClientsMeasured
  /** of the part `alone`, if `pgbench` is installed */
  alone?: AloneMeasured
  /** of the part `hostile` */
  hostile?: HostileMeasured[]
  /** of the part `memory` */
  memory?: MemoryMeasured[]
}

type Grantor = {
  name?: string
  home?: string
  store?: 'sqlite' | 'postgres'
  workers?: number
  grants?: number
  starts?: number
  /** refresh tokens whose grants are spread evenly among the others; on SQLite */
  spread?: number
  registration?: string[]
  observed?: boolean
  settings?: Record<string, string>
}

/** Starts the servers of a part. They end with the part. */
type Bench = {
  options: Options
  grantor(wanted?: Grantor): Promise<Target>
  peer(): Promise<Target>
  floor(): Promise<Target>
  floorOfOperations(): Promise<Target>
  development(wanted?: { observed: boolean }): Promise<Target>
  /** none if the bench has no Hydra; the same for Keycloak */
  hydra(): Promise<Target[]>
  keycloak(): Promise<Target[]>
  baseline(wanted?: Grantor): Promise<Target[]>
}

type Part = {
  shared: (options: Options) => boolean
  operations: OperationName[]
  latency: boolean
  /** the load, where the part has its own */
  load?: Partial<Load>
  /** whether PostgreSQL runs on the core of the load; otherwise it runs on the core of the servers */
  databaseBesideLoad?: boolean
  servers(bench: Bench): Promise<Target[]>
  /** the floors, which are measured for the operations that have one */
  floors?(bench: Bench): Promise<Target[]>
}

/** the name of the other build of `--baseline` */
export const BASELINE = 'grantor, before'

const FEW = 10_000

const PARTS: Record<PartName, Part> = {
  peer: {
    shared: ({ shared }) => shared,
    operations: ['code', 'refresh', 'same', 'new', 'revoke', 'authorize'],
    latency: true,
    async servers(bench) {
      const { store, workers, grants } = bench.options
      const wanted = { store, workers, grants }
      return [await bench.grantor(wanted), ...(await bench.baseline(wanted)), await bench.peer()]
    },
    floors: async (bench) => [await bench.floor()],
  },
  floor: {
    shared: () => false,
    operations: ['code', 'refresh', 'same', 'other'],
    latency: false,
    servers: async (bench) => [await bench.grantor(), ...(await bench.baseline()), await bench.floorOfOperations()],
  },
  postgres: {
    shared: () => true,
    operations: ['refresh'],
    latency: false,
    servers: async (bench) => [
      await bench.grantor({ store: 'postgres' }),
      ...(await bench.baseline({ store: 'postgres' })),
      await bench.peer(),
    ],
  },
  workers: {
    shared: () => true,
    operations: ['other'],
    latency: false,
    servers: async (bench) => [
      await bench.grantor({ name: 'grantor, two workers', workers: 2, store: bench.options.store }),
      await bench.grantor({ name: 'grantor, one worker', store: bench.options.store }),
    ],
  },
  grants: {
    shared: () => false,
    operations: ['refresh'],
    latency: false,
    load: { chains: FEW },
    async servers(bench) {
      const many = bench.options.grants || 2_000_000
      const { store } = bench.options
      // The grants that are refreshed are made by HTTP; in the small store they are all there are.
      return [
        await bench.grantor({ name: `grantor, ${many.toLocaleString('en')} grants`, grants: many - FEW, starts: 5, store }),
        await bench.grantor({ name: `grantor, ${FEW.toLocaleString('en')} grants`, store }),
      ]
    },
  },
  stalls: {
    shared: () => false,
    operations: [],
    latency: false,
    async servers(bench) {
      const wanted = { grants: bench.options.grants || 2_000_000, spread: REFRESHED }
      return [await bench.grantor(wanted), ...(await bench.baseline(wanted))]
    },
  },
  clients: {
    shared: () => false,
    operations: [],
    latency: false,
    servers: async (bench) => [
      await bench.development(),
      await bench.grantor({
        name: 'grantor, on PostgreSQL',
        store: 'postgres',
        registration: ['--native', '--grant-type', DEVICE_GRANT, '--grant-type', 'refresh_token'],
        settings: TRUSTED_PROXY,
      }),
    ],
  },
  alone: {
    shared: () => false,
    operations: [],
    latency: false,
    databaseBesideLoad: true,
    servers: async (bench) => [await bench.grantor({ store: 'postgres' })],
  },
  hostile: {
    shared: () => false,
    operations: [],
    latency: false,
    databaseBesideLoad: true,
    async servers(bench) {
      const admin = `127.0.0.1:${await freePort()}`
      const settings = {
        ...TRUSTED_PROXY,
        GRANTOR_RATE_LIMIT: 'on',
        // The good clients have one network and few wallets.
        GRANTOR_CODE_LIMIT: '1000000',
        GRANTOR_ADMIN_URL: `http://${admin}`,
        GRANTOR_ADMIN_LISTEN: admin,
      }
      const production = await bench.grantor({ name: 'grantor, PostgreSQL', store: 'postgres', settings, observed: true })
      return [production, await bench.development({ observed: true })]
    },
  },
  memory: {
    shared: () => true,
    operations: [],
    latency: false,
    load: { seconds: 5 },
    servers: async (bench) => [
      await bench.grantor({ name: 'grantor, SQLite' }),
      await bench.grantor({ name: 'grantor, PostgreSQL', store: 'postgres' }),
    ],
  },
  limits: {
    shared: () => false,
    operations: ['refresh', 'draw'],
    latency: false,
    servers: async (bench) => [
      await bench.grantor({ name: 'grantor, SQLite' }),
      await bench.grantor({ name: 'grantor, PostgreSQL', store: 'postgres' }),
    ],
  },
  others: {
    shared: () => false,
    operations: ['refresh', 'same', 'new', 'other', 'code'],
    latency: false,
    // As many connections as Keycloak and Hydra answer at once with their pools. The Java virtual machine compiles for seconds.
    load: { connections: 32, chains: 500, warmUp: { requests: 3000, seconds: 10 } },
    databaseBesideLoad: true,
    servers: async (bench) => [await bench.grantor({ store: 'postgres' }), ...(await bench.hydra()), ...(await bench.keycloak())],
  },
}

/** The load of a part: the options, and what the part has of its own. */
export function loadOf(part: PartName, { seconds, rounds, connections, chains }: Options): Load {
  return { seconds, rounds, connections, chains, ...PARTS[part].load }
}

export async function runPart(
  part: PartName,
  options: Options,
  homes: { own: string; baseline: string | null },
  within: string,
): Promise<PartResult> {
  const { shared, operations, latency, servers, floors, databaseBesideLoad } = PARTS[part]
  const folder = join(within, part)
  mkdirSync(folder)
  const cores = chooseCores(shared(options))
  stayOn(cores.load)
  const started: { stop(): Promise<void> }[] = []
  const database = databaseBesideLoad ? cores.load : cores.server
  const bench = benchIn(folder, { servers: cores.server, database }, options, homes, started)
  try {
    const targets = await servers(bench)
    const resting = (await floors?.(bench)) ?? []
    const wanted = operations.filter((name) => options.only.length === 0 || options.only.includes(name))
    const results: Result[] = []
    for (const name of wanted) {
      const { floor, fits = () => true }: Operation = OPERATIONS[name]
      const all = (floor ? [...targets, ...resting] : targets).filter(fits)
      results.push(...(await measure(name, all, loadOf(part, options), latency && options.latency)))
    }
    const [floor] = resting
    const loadCheck = floor && wanted.includes('same') && isInstalled('wrk') ? await checkLoad(floor, options, folder) : null
    const clients = part === 'clients' ? await measureClients(targets, options) : null
    const stalls = part === 'stalls' ? await measureStalls(targets, options, cores.load) : null
    const [first] = targets
    const alone = part === 'alone' && first ? await measureAlone(first, loadOf(part, options), cores.server) : null
    const hostile = part === 'hostile' ? await measureHostile(targets, options) : null
    const mixed = part === 'memory' ? await measureMemory(targets, loadOf(part, options)) : null
    const facts = [...targets, ...resting].map(({ name, running, readyAfter }) => ({
      name,
      readyAfter,
      peakMemory: peakMemory(running.pid),
    }))
    return {
      part,
      servers: facts,
      results,
      loadCheck,
      ...(stalls ? { stalls } : {}),
      ...(clients ? { clients } : {}),
      ...(alone ? { alone } : {}),
      ...(hostile ? { hostile } : {}),
      ...(mixed ? { memory: mixed } : {}),
    }
  } finally {
    for (const each of started.toReversed()) await each.stop()
  }
}

const LOAD_ROUNDS = 3

async function checkLoad(floor: Target, { seconds, connections }: Options, folder: string): Promise<LoadCheck> {
  const work = await OPERATIONS.same.prepare(floor)()
  const check: LoadCheck = { ours: [], wrk: [] }
  for (let round = 0; round < LOAD_ROUNDS; round++) {
    check.ours.push((await closedLoop(floor.port, work, { connections, seconds })).perSecond)
    check.wrk.push(await loadWithWrk(floor.port, work.next() ?? '', { connections, seconds, folder }))
  }
  tell(`the empty post under our load ${Math.round(median(check.ours))}/s, under wrk ${Math.round(median(check.wrk))}/s`)
  return check
}

function benchIn(
  folder: string,
  { servers: cores, database: databaseCores }: { servers: string | null; database: string | null },
  options: Options,
  homes: { own: string; baseline: string | null },
  started: { stop(): Promise<void> }[],
): Bench {
  let database: PostgresServer | undefined
  let count = 0
  const keep = <Started extends { stop(): Promise<void> }>(one: Started): Started => {
    started.push(one)
    return one
  }
  const serverOfAll = async (): Promise<PostgresServer> => {
    return (database ??= keep(await startPostgres({ folder: options.folder ?? tmpdir(), cores: databaseCores })))
  }
  async function grantor({
    name = 'grantor',
    home = homes.own,
    store = 'sqlite',
    workers = 1,
    grants = 0,
    starts = 1,
    spread,
    ...more
  }: Grantor = {}) {
    const number = ++count
    const file = join(folder, `${number}.sqlite`)
    const databaseUrl = store === 'postgres' ? await (await serverOfAll()).urlOf(`bench_${number}`) : `sqlite:${file}`
    const fill = async () => {
      tell(`filling ${store} with ${grants.toLocaleString('en')} grants`)
      if (store === 'postgres') await fillPostgres(databaseUrl, grants)
      else if (spread) fillSqliteBetween(file, grants - spread)
      else fillSqlite(file, grants)
    }
    const start = { name, home, databaseUrl, workers, cores, folder, starts, ...(grants > 0 ? { fill } : {}), ...more }
    const target = keep(await startGrantor({ ...start, ...(spread ? { chains: spread, metrics: true } : {}) }))
    return { ...target, databasePid: database?.pid }
  }
  return {
    options,
    grantor,
    peer: async () => keep(await startPeer({ cores, folder })),
    floor: async () => keep(await startFloor({ cores, folder })),
    floorOfOperations: async () => keep(await startFloor({ cores, folder, home: homes.own })),
    async hydra() {
      const { hydra: binary } = options
      if (binary === null) return []
      return [keep(await startHydra({ binary, databaseUrl: await (await serverOfAll()).urlOf('hydra'), cores, folder }))]
    },
    async keycloak() {
      const { keycloak: home } = options
      if (home === null) return []
      return [keep(await startKeycloak({ home, databaseUrl: await (await serverOfAll()).urlOf('keycloak'), cores, folder }))]
    },
    development: async (wanted) => keep(await startDevelopment({ home: homes.own, cores, folder, ...wanted })),
    baseline: async (wanted) =>
      homes.baseline === null ? [] : [await grantor({ ...wanted, name: BASELINE, home: homes.baseline })],
  }
}
