/** From the response to a revocation until each of four APIs refuses the token, behind three nodes on PostgreSQL, without load and under load. */
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendAll } from '../load/closed-loop.ts'
import { pacedLoop } from '../load/paced-loop.ts'
import { requireStatus } from '../load/work.ts'
import { chooseCores } from '../machine.ts'
import { tell } from '../measure.ts'
import { refreshing, type Tokens } from '../operations.ts'
import { formPost } from '../request.ts'
import type { ApiReport, ApiTask } from '../servers/feed-api-process.ts'
import { startGrantor } from '../servers/grantor.ts'
import { startPostgres } from '../servers/postgres.ts'
import { type Running, startNode } from '../servers/process.ts'
import { percentile } from '../statistics.ts'
import { markdownTable } from '../tables.ts'
import type { Target } from '../target.ts'
import { type ApiOptions, optionsOfApi, type Place } from './api.ts'

const NODES = 3
const APIS = 4
/** Endings a second without load, and under load the endings a second whose tokens the APIs watch. */
const WATCHED_EACH_SECOND = 20
const SECONDS = 15
const CONNECTIONS = 32

export async function measureDelays({ home, folder }: Place, { rate }: { rate: number }): Promise<void> {
  const cores = chooseCores(true)
  const database = await startPostgres({ folder: tmpdir(), cores: cores.server })
  const databaseUrl = await database.urlOf('feed')
  const start = { name: 'grantor', home, databaseUrl, workers: 1, cores: cores.server, folder, starts: 1 }
  const first = await startGrantor(start)
  const nodes = [first]
  while (nodes.length < NODES) nodes.push((await first.startSecond?.(cores.server)) ?? first)
  try {
    const options = await optionsOfApi(first)
    const rows: string[][] = []
    for (const each of [WATCHED_EACH_SECOND, rate]) rows.push(await measureAt(each, { nodes, options, home, folder }))
    const head = ['endings a second', 'answered a second', 'tokens × APIs', 'p50', 'p99', 'longest', 'requests of the APIs']
    console.log(`\n${markdownTable(head, rows)}`)
  } finally {
    for (const node of nodes.toReversed()) await node.stop()
    await database.stop()
  }
}

type Scene = Place & { nodes: Target[]; options: ApiOptions }

async function measureAt(rate: number, scene: Scene): Promise<string[]> {
  const [first] = scene.nodes as [Target]
  const total = rate * SECONDS
  tell(`${total.toLocaleString('en')} grants`)
  const others = (await first.supply?.refreshTokens(total)) ?? []
  const watched = await refreshEach(first, others.splice(0, WATCHED_EACH_SECOND * SECONDS))
  const every = Math.floor(rate / WATCHED_EACH_SECOND)
  const requests = Array.from({ length: total }, (_, index) =>
    revocation(first, (index % every === 0 ? watched[index / every]?.refreshToken : others.pop()) ?? ''),
  )
  const tokens = watched.map(({ accessToken }) => accessToken)
  const apis = await Promise.all(Array.from({ length: APIS }, (_, index) => startApi(index, tokens, scene)))
  tell(`${rate} endings a second`)
  const answeredAt = new Map<number, number>()
  const perSecond = await pacedLoop(
    scene.nodes.map(({ port }) => port),
    {
      requests,
      rate,
      connections: CONNECTIONS,
      onSend: (index) => {
        if (index % every === 0) for (const { watch } of apis) watch(index / every)
      },
      onAnswer: (index, answer) => {
        requireStatus(answer, 200, 'revoke')
        if (index % every === 0) answeredAt.set(index / every, monotonic())
      },
    },
  )
  const refused = await Promise.all(apis.map(({ allRefused }) => allRefused))
  for (const { running } of apis) await running.stop()
  const delays = refused.flat().map(({ index, refusedAt }) => refusedAt - (answeredAt.get(index) ?? Number.NaN))
  const sorted = delays.sort((one, other) => one - other)
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => `${percentile(sorted, share).toFixed(0)} ms`)
  const sent = refused.reduce((sum, each) => sum + (each.at(-1)?.requests ?? 0), 0)
  return [String(rate), perSecond.toFixed(0), String(sorted.length), p50 ?? '', p99 ?? '', longest ?? '', String(sent)]
}

async function refreshEach(target: Target, refreshTokens: string[]): Promise<Tokens[]> {
  const tokens: Tokens[] = []
  const { next, accept } = refreshing(target, refreshTokens, (each) => void tokens.push(each))
  let left = refreshTokens.length
  await sendAll(target.port, { next: () => (left-- > 0 ? next() : undefined), accept })
  return tokens
}

function revocation({ paths, authorization }: Target, token: string): string {
  return formPost(paths.revoke, authorization, { token, token_type_hint: 'refresh_token' })
}

type Refused = Extract<ApiReport, { kind: 'refused' }>
type Api = { running: Running; watch: (index: number) => void; allRefused: Promise<Refused[]> }

/** Resolves when the API has read the feed and accepts every token. */
async function startApi(number: number, tokens: string[], { nodes, options, home, folder }: Scene): Promise<Api> {
  const port = nodes[number % nodes.length]?.port ?? 0
  const args = [join(import.meta.dirname, '../servers/feed-api-process.ts')]
  const running = startNode({ args, env: {}, cores: chooseCores(true).server, log: join(folder, `api-${number}.log`) })
  const { child } = running
  const task: ApiTask = { home, options, port, tokens }
  const ready = once(child, 'message')
  child.send(task)
  await ready
  const refused: Refused[] = []
  const allRefused = new Promise<Refused[]>((resolve, reject) => {
    child.on('message', (report: ApiReport) => {
      if (report.kind === 'refused' && refused.push(report) === tokens.length) resolve(refused)
    })
    child.once('exit', () => reject(new Error(`API ${number} ended: see ${folder}`)))
  })
  allRefused.catch(() => {})
  return { running, watch: (index) => void child.send(index), allRefused }
}

/** Milliseconds of the clock that all processes of the machine share. */
function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
