/**
 * The processor time of a revocation, of the node and of the database, against a build without the feed (`--baseline DIR`), in alternation. Both
 * builds have a database of their own. The third row is the same with a reader: then the node reads the endings twice a second.
 */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sendAll } from '../load/closed-loop.ts'
import { requireStatus } from '../load/work.ts'
import { chooseCores, processorSeconds, stayOn } from '../machine.ts'
import { tell } from '../measure.ts'
import { layOut } from '../package-home.ts'
import { formPost } from '../request.ts'
import { startGrantor } from '../servers/grantor.ts'
import { type PostgresServer, startPostgres } from '../servers/postgres.ts'
import { registerApi } from '../servers/register.ts'
import { median, spread } from '../statistics.ts'
import { markdownTable } from '../tables.ts'
import type { Target } from '../target.ts'
import type { Place } from './api.ts'

const KINDS = ['refresh_token', 'access_token'] as const
type Kind = (typeof KINDS)[number]
const WARM_UP = 3000
const EACH_ROUND = 3000

type Cost = { stores: string[]; baseline: string | null; rounds: number }
/** `microseconds`: one figure a round */
type Lane = { name: string; target: Target; hasReader: boolean; microseconds: Record<Kind, number[]> }

export async function measureCost({ home, folder }: Place, { stores, baseline, rounds }: Cost): Promise<void> {
  const before = baseline === null ? null : layOut(resolve(baseline), join(folder, 'before'))
  const rows: string[][] = []
  for (const store of stores) {
    const place = join(folder, store)
    mkdirSync(place)
    const cores = chooseCores(store === 'postgres')
    stayOn(cores.load)
    const database = store === 'postgres' ? await startPostgres({ folder: tmpdir(), cores: cores.server }) : null
    const start = async (name: string, build: string, hasReader = false): Promise<Lane> => {
      const databaseUrl = database ? await database.urlOf(name) : `sqlite:${join(place, `${name}.sqlite`)}`
      const common = { home: build, databaseUrl, workers: 1, cores: cores.server, folder: place, starts: 1 }
      const target = await startGrantor({ name: `${store}-${name}`, ...common })
      return { name, target, hasReader, microseconds: { refresh_token: [], access_token: [] } }
    }
    const lanes = [...(before === null ? [] : [await start('before', before)]), await start('now', home)]
    lanes.push(await start('now_with_reader', home, true))
    try {
      await measureLanes(lanes, { database, rounds })
      rows.push(...lanes.map((lane) => rowOf(store, lane, lanes[0])))
    } finally {
      for (const { target } of lanes) await target.stop()
      await database?.stop()
    }
  }
  const head = ['processor time of a revocation', 'refresh token (ends the grant)', 'ratio', 'access token', 'ratio']
  console.log(`\n${markdownTable(head, rows)}`)
}

type Scene = { database: PostgresServer | null; rounds: number }

async function measureLanes(lanes: Lane[], { database, rounds }: Scene): Promise<void> {
  const stops: (() => void)[] = []
  for (const { target, hasReader } of lanes) {
    if (hasReader) stops.push(await openReader(target))
    for (const kind of KINDS) await revoke(target, kind, WARM_UP)
  }
  const used = ({ target }: Lane) => processorSeconds(target.running.pid) + (database ? processorSeconds(database.pid) : 0)
  for (const kind of KINDS) {
    for (let round = 0; round < rounds; round++) {
      for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) {
        const requests = await revocations(lane.target, kind, EACH_ROUND)
        const before = used(lane)
        await sendAll(lane.target.port, requests)
        lane.microseconds[kind].push(((used(lane) - before) * 1e6) / EACH_ROUND)
      }
      tell(
        `${kind}, round ${round + 1}: ${lanes.map((lane) => `${lane.name} ${lane.microseconds[kind].at(-1)?.toFixed(0)} µs`).join(', ')}`,
      )
    }
  }
  for (const stop of stops) stop()
}

async function revoke(target: Target, kind: Kind, count: number): Promise<void> {
  await sendAll(target.port, await revocations(target, kind, count))
}

async function revocations({ supply, paths, authorization }: Target, kind: Kind, count: number) {
  const tokens = (await (kind === 'refresh_token' ? supply?.refreshTokens(count) : supply?.accessTokens(count))) ?? []
  const requests = tokens.map((token) => formPost(paths.revoke, authorization, { token, token_type_hint: kind }))
  return {
    next: () => requests.pop(),
    accept: (answer: Parameters<typeof requireStatus>[0]) => requireStatus(answer, 200, 'revoke'),
  }
}

/** Reads the stream and drops it. */
async function openReader(target: Target): Promise<() => void> {
  const { authorization } = await registerApi(target)
  const stop = new AbortController()
  const headers = { authorization, accept: 'text/event-stream' }
  const response = await fetch(`http://127.0.0.1:${target.port}/oauth/endings`, { headers, signal: stop.signal })
  if (!response.ok) throw new Error(`the feed responded with ${response.status}`)
  response.body?.pipeTo(new WritableStream()).catch(() => {})
  return () => stop.abort()
}

function rowOf(store: string, { name, microseconds }: Lane, first: Lane | undefined): string[] {
  const cells = KINDS.flatMap((kind) => {
    const own = median(microseconds[kind])
    const ratio = own / median(first?.microseconds[kind] ?? [])
    return [`${own.toFixed(0)} µs (${Math.round(spread(microseconds[kind]) * 100)} %)`, `${ratio.toFixed(2)} ×`]
  })
  return [`${store}, ${name.replaceAll('_', ' ')}`, ...cells]
}
