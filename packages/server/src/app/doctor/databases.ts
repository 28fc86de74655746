/** The database: reachable, of the right schema, and set up so that no acknowledged change is lost. */

import { CommandError } from '../../operators/terminal/command.ts'
import {
  countWaitingAuditLines,
  databaseName,
  databaseStatus,
  findCoordinatorProblem,
  findDirectProblems,
  findTablesWithoutRights,
  inspectServers,
} from '../compose/database.ts'
import { isSchemaMismatch, openFailure, withStore } from '../compose/with-store.ts'
import { printable } from './call.ts'
import { type CheckResult, ok, type Site, unchecked, warning, wrong } from './check.ts'
import { checkDatabaseClock } from './clocks.ts'
import { checkSqliteFile } from './sqlite-file.ts'

type InspectedServer = Awaited<ReturnType<typeof inspectServers>>[number]
type Facts = Extract<InspectedServer, { facts: unknown }>['facts']
type PostgresUrl = Extract<Site['settings']['databaseUrl'], { kind: 'postgres' }>

/** PostgreSQL 15. */
const OLDEST_VERSION = 150_000

export async function checkDatabase({ settings, now }: Site): Promise<CheckResult[]> {
  const { databaseUrl } = settings
  if (databaseUrl.kind === 'sqlite') return checkSqliteFile(databaseUrl.path)
  const at = now()
  const servers = await inspectServers(databaseUrl)
  const found = servers.flatMap((server) => serverFindings(server, databaseUrl, at))
  const usable = servers.filter((server) => 'facts' in server && !server.ofCluster && !server.facts.inRecovery)
  if (usable.length === 0)
    found.push(wrong('no server of GRANTOR_DATABASE_URL accepts writes', 'Start or promote one of the servers.'))
  else {
    found.push(...(await rightsFindings(databaseUrl)), ...(await coordinatorFindings(databaseUrl)))
    found.push(...(await directFindings(databaseUrl, servers)))
    if (usable.some((server) => 'facts' in server && server.facts.synchronousStandbyNames === ''))
      found.push(...(await limitFindings({ settings, now })))
  }
  return found
}

/** After a loss of the server, a standby that lacks the last draws would allow them again. */
async function limitFindings({ settings, now }: Pick<Site, 'settings' | 'now'>): Promise<CheckResult[]> {
  // The check of the schema reports a database that cannot be opened.
  const resources = await withStore(settings, { now }, (store) => store.resources.listResources()).catch(() => [])
  const limited = resources.flatMap(({ scopes }) => scopes).find(({ limit }) => limit !== undefined)
  return limited === undefined
    ? []
    : [
        warning(
          `the scope ${printable(limited.name)} has a limit, and no synchronous standby is named: after a loss of the server, the last draws can be drawn again`,
          'Name a synchronous standby (synchronous_standby_names). See docs/operating/recover.md.',
        ),
      ]
}

/** Some tables are used only in an emergency, such as `audit_waiting`. */
async function rightsFindings(url: PostgresUrl): Promise<CheckResult[]> {
  const tables = await findTablesWithoutRights(url).catch(() => [])
  return tables.length === 0
    ? []
    : [
        wrong(
          `the role of GRANTOR_DATABASE_URL may not read or change ${tables.join(', ')}`,
          `Run as the owner of the tables: GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables.join(', ')} TO the role.`,
        ),
      ]
}

/** The check of the servers reports a machine that does not respond. */
async function directFindings(url: PostgresUrl, servers: InspectedServer[]): Promise<CheckResult[]> {
  const problems = await findDirectProblems(url).catch(() => new Map<string, string>())
  const away = new Set(servers.flatMap((server) => ('problem' in server ? [`${server.host}:${server.port}`] : [])))
  return [...problems]
    .filter(([machine]) => !away.has(machine))
    .map(([machine, problem]) =>
      warning(
        `the machine ${printable(machine)} of the Citus cluster is not reached directly from here: ${printable(problem)}`,
        'Make its address in pg_dist_node lead the nodes to it. Until then its rows are reached over another machine, which costs more.',
      ),
    )
}

/** A node that is connected to a worker of a Citus cluster also needs the coordinator. */
async function coordinatorFindings(url: PostgresUrl): Promise<CheckResult[]> {
  const problem = await findCoordinatorProblem(url).catch(() => null)
  // The other checks report a database without the table, or with a machine that does not answer.
  const waiting = await countWaitingAuditLines(url).catch(() => 0)
  return [
    waiting > 0 &&
      warning(
        `${waiting} lines of the audit trail wait for the coordinator of the Citus cluster`,
        'A running server adds them to the trail within a minute after the coordinator accepts writes.',
      ),
    problem !== null &&
      warning(
        `the coordinator of the Citus cluster cannot be used from here: ${printable(problem)}`,
        'Make its address in pg_dist_node reachable for the nodes (citus_set_coordinator_host), or name the coordinator in GRANTOR_DATABASE_URL.',
      ),
  ].filter((finding) => finding !== false)
}

function serverFindings(server: InspectedServer, url: PostgresUrl, at: number): CheckResult[] {
  const name = `PostgreSQL at ${printable(server.host)}:${server.port}`
  if ('facts' in server) {
    const { facts, ofCluster } = server
    const clock = checkDatabaseClock({ name, now: facts.now, at })
    if (ofCluster && facts.inRecovery)
      return [
        wrong(
          `${name} is a standby, and the Citus cluster uses it as a primary`,
          'Promote it, or correct the address with citus_update_node.',
        ),
        clock,
      ]
    return [...serverFaults(name, facts, url), clock]
  }
  const problem = `${name} cannot be used: ${printable(server.problem)}`
  if (server.ofCluster)
    return [
      wrong(
        problem,
        'Check that this machine of the Citus cluster runs, and that every machine may log in to it (pg_hba.conf, .pgpass).',
      ),
    ]
  const remedy = 'Check that the server runs, and the user, password and TLS of GRANTOR_DATABASE_URL.'
  // One of several servers may be away, if another one accepts writes.
  return [url.servers.length > 1 ? warning(problem, remedy) : wrong(problem, remedy)]
}

/** The faults of one server, or one finding that the server is set up correctly. */
function serverFaults(name: string, facts: Facts, url: PostgresUrl): CheckResult[] {
  const faults: (CheckResult | false)[] = [
    facts.version < OLDEST_VERSION &&
      wrong(`${name} is of version ${Math.floor(facts.version / 10_000)}`, 'Update it to PostgreSQL 15 or newer.'),
    !facts.fsync && wrong(`${name} has fsync off, so a crash loses acknowledged changes`, 'Set fsync = on.'),
    !facts.fullPageWrites &&
      wrong(
        `${name} has full_page_writes off, so a crash can damage pages`,
        'Set full_page_writes = on, unless the file system writes pages atomically.',
      ),
    ['off', 'local'].includes(facts.synchronousCommit) &&
      (facts.synchronousCommit === 'off' || facts.synchronousStandbyNames !== '') &&
      wrong(`${name} has synchronous_commit ${facts.synchronousCommit}`, 'Set synchronous_commit = on.'),
    facts.isolation !== 'read committed' &&
      wrong(
        `${name} has default_transaction_isolation ${facts.isolation}`,
        "Set default_transaction_isolation = 'read committed' for the role of Grantor.",
      ),
    !facts.inRecovery &&
      facts.synchronousStandbyNames !== '' &&
      facts.standbys === 0 &&
      wrong(
        `${name} waits for a synchronous standby, and no standby is connected`,
        'Start a standby that synchronous_standby_names names.',
      ),
    facts.isShared &&
      wrong(
        `${name} is behind a pooler that shares its connections`,
        'Let the pooler use session pooling (pool_mode = session), or connect to PostgreSQL directly.',
      ),
    ...poolFaults(name, facts, url),
  ]
  const found = faults.filter((fault) => fault !== false)
  const role = facts.inRecovery ? 'is a standby' : 'accepts writes'
  return found.length > 0
    ? found
    : [ok(`${name} ${role}, keeps acknowledged changes, and has ${facts.connections} connections for pools of ${url.poolSize}`)]
}

function poolFaults(name: string, { connections, connectionsInUse }: Facts, { poolSize }: PostgresUrl): (CheckResult | false)[] {
  if (poolSize > connections)
    return [
      wrong(
        `${name} allows ${connections} connections, fewer than pool_size ${poolSize}`,
        'Raise max_connections, or lower pool_size.',
      ),
    ]
  return [
    // Each worker of each node has its own pool. During an update, old and new nodes run side by side.
    poolSize * 2 > connections &&
      warning(
        `${name} allows ${connections} connections, too few for two pools of ${poolSize}`,
        'Raise max_connections, or lower pool_size.',
      ),
    connectionsInUse > connections * 0.9 &&
      warning(
        `${name} has ${connectionsInUse} of ${connections} connections open`,
        'Raise max_connections, or lower pool_size of the nodes.',
      ),
  ]
}

export async function checkSchema({ settings: { databaseUrl } }: Site): Promise<CheckResult[]> {
  try {
    const status = await databaseStatus(databaseUrl)
    if (status === null) return [wrong(`there is no database at ${databaseName(databaseUrl)}`, 'Run: grantor migrate')]
    if (status.pending.length > 0)
      return [wrong(`${status.pending.length} steps of the schema are missing`, 'Run: grantor migrate')]
    return [ok(`the schema has all ${status.applied.length} steps`)]
  } catch (error) {
    if (isSchemaMismatch(error)) return [wrong('this version cannot use the schema', error.message)]
    const failure = openFailure(error)
    return [
      unchecked(
        `the schema cannot be read: ${failure instanceof CommandError ? failure.message : 'unexpected error'}`,
        'See the check of the database.',
      ),
    ]
  }
}
