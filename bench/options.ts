/** The options of the command line. */
import { parseArgs } from 'node:util'
import { OPERATIONS, type OperationName } from './operations.ts'

export const PARTS = [
  'peer',
  'floor',
  'postgres',
  'workers',
  'grants',
  'stalls',
  'clients',
  'alone',
  'hostile',
  'memory',
  'limits',
  'others',
] as const
export type PartName = (typeof PARTS)[number]

export type Options = {
  parts: PartName[]
  only: OperationName[]
  /** only the scenes of the part hostile whose name contains this text; null for all */
  scenes: string | null
  seconds: number
  rounds: number
  connections: number
  chains: number
  store: 'sqlite' | 'postgres'
  workers: number
  grants: number
  shared: boolean
  latency: boolean
  build: boolean
  /** another built checkout, measured beside this one */
  baseline: string | null
  /** the binary of Hydra and the folder of Keycloak, for the part others; null if it is not measured */
  hydra: string | null
  keycloak: string | null
  /** the folder for databases and logs during the run; null for the system's folder for temporary files */
  folder: string | null
  json: boolean
  /** whether the figures are written to docs/evidence/bench and docs/evidence/performance.md */
  writeDocs: boolean
}

export const HELP = `Measures Grantor beside oidc-provider (in memory) and an empty Fastify post, in one run, in alternation.

npm run bench -- [part …] [options]

Parts (unless named, all but others):
  peer      the six operations against oidc-provider, server on one core, load on another
  floor     processor time of four operations against the least they can cost: an empty Fastify post, the operation's one
            signature or verification, and its one durable write or its read
  postgres  refresh on PostgreSQL against oidc-provider in memory; everything on the same two cores
  workers   introspection of another node's tokens with two workers against one; everything on the same two cores
  grants    refresh with 2,000,000 grants in the store against 10,000, and start to ready
  stalls    the slowest refreshes of random grants among 2,000,000 on SQLite, at half of the highest rate, the longest
            block of the event loop, refreshes by a second process on the same file, and appends with fsync to the same disk
  clients   authorize for a metadata document in memory against a registered client, and polls of pending device codes
  alone     refreshes one at a time on PostgreSQL, against one client of pgbench that sends the same statement to the same
            server; needs pgbench
  hostile   refreshes at half load beside one kind of hostile or heavy work at a time, such as 1,000 unknown client ids a
            second, and beside nothing
  memory    the memory of a process that is started without any option of Node, under the six operations at once, on SQLite
            and on PostgreSQL
  limits    draws from limits that wallets signed, of 1,000 grants in turn, against refreshes, on SQLite and on PostgreSQL
  others    four operations against Hydra and Keycloak, all on one PostgreSQL server; each of them on one core, and the
            load and the database on the other. You provide Hydra and Keycloak: --hydra FILE, --keycloak DIR

  audit     searches of an audit trail of 10,000,000 lines on PostgreSQL and 1,000,000 on SQLite; only if it is named, with
            --postgres N, --sqlite N, --rounds N and --folder DIR
  feed      a check of a token with the feed of endings, against introspection and against the token alone, and the memory of a
            reader; only if it is named, with --entries N, --rounds N, --seconds N and --folder DIR
  soak      half an hour of refreshes at half of the highest rate, with endings, cleaning and key rotation; only if it is
            named, with --minutes N, --chart FILE and --folder DIR

Options:
  --only LIST       of the operations ${Object.keys(OPERATIONS).join(',')} (default: all the part has)
  --scenes TEXT     of the part hostile, only the scenes whose name contains this text
  --seconds N       length of one measurement (2)
  --rounds N        alternations (5)
  --connections N   of the load (64)
  --chains N        refresh tokens in turn, each request with the one of the answer before it (2000)
  --store ENGINE    sqlite or postgres, for the part peer (sqlite)
  --workers N       processes of Grantor, for the part peer (1)
  --grants N        grants in the store beforehand: for the part peer (0), the larger store of the part grants and that of
                    the part stalls (2000000)
  --shared          servers and load on the same cores, for the part peer
  --no-latency      throughput only
  --no-build        measure dist as it is, without npm run build
  --baseline DIR    measure another built checkout beside this one, as "grantor, before"
  --hydra FILE      the binary of Hydra, for the part others
  --keycloak DIR    the unpacked distribution of Keycloak, for the part others; its first start changes the folder
  --folder DIR      for databases and logs during the run (default: the system's folder for temporary files)
  --json            print everything measured as JSON instead of the table
  --write-docs      write docs/evidence/bench/PART.json, the chart and the tables of docs/evidence/performance.md; a run without any
                    option does so by itself
  --help

Progress is on standard error, the table on standard output. The first wrong answer of any server ends the run with exit
code 1; a required ratio that was not reached does not, it is marked in the table.`

export function parseOptions(args: string[]): Options | 'help' {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      scenes: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      connections: { type: 'string' },
      chains: { type: 'string' },
      store: { type: 'string' },
      workers: { type: 'string' },
      grants: { type: 'string' },
      baseline: { type: 'string' },
      folder: { type: 'string' },
      hydra: { type: 'string' },
      keycloak: { type: 'string' },
      shared: { type: 'boolean' },
      'no-latency': { type: 'boolean' },
      'no-build': { type: 'boolean' },
      json: { type: 'boolean' },
      'write-docs': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return 'help'
  const number = (name: 'seconds' | 'rounds' | 'connections' | 'chains' | 'workers' | 'grants', otherwise: number): number => {
    const value = Number(values[name] ?? otherwise)
    if (!Number.isFinite(value) || value < 0 || (value === 0 && name !== 'grants'))
      throw new Error(`--${name} takes a number above 0`)
    return value
  }
  const { store = 'sqlite' } = values
  if (store !== 'sqlite' && store !== 'postgres') throw new Error('--store is sqlite or postgres')
  const { hydra = null, keycloak = null } = values
  const parts = positionals.map((name) => oneOf(name, PARTS, 'part'))
  if (parts.includes('others') && hydra === null && keycloak === null) throw new Error('others takes --hydra or --keycloak')
  const narrowed = positionals.length > 0 || Object.keys(values).some((name) => !['no-build', 'folder', 'json'].includes(name))
  return {
    parts: parts.length === 0 ? PARTS.filter((name) => name !== 'others') : parts,
    only: (values.only?.split(',') ?? []).map((name) => oneOf(name, Object.keys(OPERATIONS) as OperationName[], 'operation')),
    scenes: values.scenes ?? null,
    seconds: number('seconds', 2),
    rounds: number('rounds', 5),
    connections: number('connections', 64),
    chains: number('chains', 2000),
    store,
    workers: number('workers', 1),
    grants: number('grants', 0),
    shared: values.shared ?? false,
    latency: !values['no-latency'],
    build: !values['no-build'],
    baseline: values.baseline ?? null,
    hydra,
    keycloak,
    folder: values.folder ?? null,
    json: values.json ?? false,
    writeDocs: values['write-docs'] ?? !narrowed,
  }
}

function oneOf<Name extends string>(name: string, known: readonly Name[], what: string): Name {
  const found = known.find((each) => each === name)
  if (found === undefined) throw new Error(`there is no ${what} ${name}: ${known.join(', ')}`)
  return found
}
