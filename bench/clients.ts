/**
 * Clients that no operator registered, and devices: authorize for a metadata document in memory beside authorize for a registered client, and
 * polls of pending device codes. `hostile.ts` measures refreshes while many unknown client ids arrive.
 *
 * The documents come from this process, which also makes the load: a process of their own would share the load's core with it.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { closedLoop, sendAll } from './load/closed-loop.ts'
import type { Answer } from './load/connection.ts'
import { requireStatus, requireText, type Work, WrongAnswer } from './load/work.ts'
import { processorSeconds } from './machine.ts'
import { tell } from './measure.ts'
import { authorizePath } from './operations.ts'
import type { Options } from './options.ts'
import { visit } from './request.ts'
import { startDevices } from './servers/devices.ts'
import { median } from './statistics.ts'
import type { Target } from './target.ts'

/** One figure a round. */
type Rate = { perSecond: number[]; processorMicroseconds: number[] }

export type ClientsMeasured = {
  registered: Rate
  document: Rate
  /** on PostgreSQL; transactions, and rows inserted, updated or deleted, for each poll */
  poll: Rate & { transactions: number; written: number }
}

/** So that each device of the bench has a network of its own. */
export const TRUSTED_PROXY = { GRANTOR_TRUSTED_PROXIES: '127.0.0.1' }

const WARM_UP = 2000
const DEVICES = 5000
/** each waits three times for the statistics */
const POLL_ROUNDS = 3
/** milliseconds within which PostgreSQL writes the counts of idle connections to its statistics */
const STATISTICS_DELAY = 11_000

/** `development` is `grantor start`; `devices` is on PostgreSQL, and its client uses device codes. */
export async function measureClients([development, devices]: Target[], options: Options): Promise<ClientsMeasured> {
  if (!development || !devices) throw new Error('the part clients has two servers')
  const documents = await serveDocuments()
  try {
    const [registered, document] = await measureAuthorize(development, documents.origin, options)
    const poll = await measurePolls(devices, options)
    return { registered, document, poll }
  } finally {
    documents.close()
  }
}

/** A metadata document at every path. */
async function serveDocuments() {
  const server = createServer(({ url = '' }, response) => {
    const document = { client_id: `${origin}${url}`, client_name: 'Bench', redirect_uris: [REDIRECT_URI] }
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=3600' })
    response.end(JSON.stringify({ ...document, token_endpoint_auth_method: 'none' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  return { origin, close: () => server.close() }
}

const REDIRECT_URI = 'http://127.0.0.1:7777/callback'

function endless(request: string, accept: (answer: Answer) => void): Work {
  return { next: () => request, accept }
}

function requireLogin(answer: Answer): void {
  requireStatus(answer, 302, 'authorize')
  if (!answer.head.includes('/login?login_challenge=')) throw new WrongAnswer('authorize: did not lead to the login')
}

async function measureAuthorize(server: Target, origin: string, { rounds, seconds, connections }: Options) {
  const rate = (): Rate => ({ perSecond: [], processorMicroseconds: [] })
  const lanes = [server.demo?.clientId ?? '', `${origin}/cached.json`].map((id) => ({
    work: endless(visit(authorizePath(server, { clientId: id, redirectUri: REDIRECT_URI }), '192.0.2.1'), requireLogin),
    rate: rate(),
  }))
  // The first request alone fetches the document.
  for (const { work } of lanes) {
    let [first, left] = [1, WARM_UP]
    await sendAll(server.port, { ...work, next: () => (first-- > 0 ? work.next() : undefined) })
    await sendAll(server.port, { ...work, next: () => (left-- > 0 ? work.next() : undefined) })
  }
  for (let round = 0; round < rounds; round++) {
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed())
      await measureRate(lane.rate, server, () => closedLoop(server.port, lane.work, { connections, seconds }))
    const [registered, document] = lanes.map((lane) => Math.round(lane.rate.perSecond.at(-1) ?? 0))
    tell(`authorize, round ${round + 1}: registered ${registered}/s, metadata document ${document}/s`)
  }
  return lanes.map((lane) => lane.rate) as [Rate, Rate]
}

async function measureRate(rate: Rate, { running }: Target, load: () => ReturnType<typeof closedLoop>): Promise<void> {
  const before = processorSeconds(running.pid)
  const { perSecond, all } = await load()
  rate.perSecond.push(perSecond)
  rate.processorMicroseconds.push(((processorSeconds(running.pid) - before) * 1e6) / all)
}

/** Each poll is of another device: a second one within five seconds would get `slow_down`, which costs no query. */
async function measurePolls(server: Target, { connections }: Options): Promise<ClientsMeasured['poll']> {
  const poll: Rate = { perSecond: [], processorMicroseconds: [] }
  const sql = postgres(server.databaseUrl ?? '', { max: 1, fetch_types: false })
  try {
    let [transactions, written] = [0, 0]
    for (let round = 0; round < POLL_ROUNDS; round++) {
      const polls = await pollsOf(server)
      await pause(STATISTICS_DELAY)
      const before = await countWork(sql)
      await measureRate(poll, server, () => sendAll(server.port, polls, connections))
      await pause(STATISTICS_DELAY)
      const after = await countWork(sql)
      // What the service does by itself in the same time.
      await pause(STATISTICS_DELAY)
      const later = await countWork(sql)
      transactions += 2 * after.transactions - before.transactions - later.transactions
      written += 2 * after.written - before.written - later.written
      tell(`polls, round ${round + 1}: ${Math.round(poll.perSecond.at(-1) ?? 0)}/s`)
    }
    const all = POLL_ROUNDS * DEVICES
    return { ...poll, transactions: transactions / all, written: written / all }
  } finally {
    await sql.end()
  }
}

async function countWork(sql: postgres.Sql): Promise<{ transactions: number; written: number }> {
  const [row] = await sql`
    SELECT xact_commit + xact_rollback AS transactions, tup_inserted + tup_updated + tup_deleted AS written
    FROM pg_stat_database WHERE datname = current_database()`
  return { transactions: Number(row?.transactions), written: Number(row?.written) }
}

/** New devices, and a poll of each. */
async function pollsOf(server: Target): Promise<Work> {
  const polls = await startDevices(server, server.client.id, DEVICES)
  return {
    next: () => polls.pop(),
    accept(answer) {
      requireStatus(answer, 400, 'poll')
      requireText(answer, 'authorization_pending', 'poll')
    },
  }
}

/** What the aims compare. */
export function ratiosOf({ registered, document, poll }: ClientsMeasured) {
  return {
    authorize: median(document.perSecond) / median(registered.perSecond),
    transactions: poll.transactions,
    written: poll.written,
  }
}
