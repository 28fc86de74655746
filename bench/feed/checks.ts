/**
 * A check of a token with the feed against introspection and against the token alone, in alternation, and the memory of a reader of 500,000
 * endings.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { chooseCores } from '../machine.ts'
import { tell } from '../measure.ts'
import type { FeedMemory, FeedSpeed, FeedTask } from '../servers/feed-reader-process.ts'
import { startGrantor } from '../servers/grantor.ts'
import { startNode, untilEnd } from '../servers/process.ts'
import { median } from '../statistics.ts'
import { markdownTable } from '../tables.ts'
import { optionsOfApi, type Place } from './api.ts'

const TOKENS_EACH_ROUND = 200
/** Tokens that each check checks before the first round: the first checks run code that is not compiled yet. */
const WARM_UP = 300
/** Seconds. The endings are at most this old, so that none is forgotten before the memory is measured. */
const OLDEST = 300

export async function measureChecks(
  { home, folder }: Place,
  { entries, rounds, seconds }: { entries: number; rounds: number; seconds: number },
): Promise<void> {
  const cores = chooseCores(false)
  const file = join(folder, 'feed.sqlite')
  const target = await startGrantor({
    name: 'grantor',
    home,
    databaseUrl: `sqlite:${file}`,
    workers: 1,
    cores: cores.server,
    folder,
    starts: 1,
    chains: 50,
    fill: async () => insertEndings(file, entries),
  })
  try {
    const options = await optionsOfApi(target)
    const tokens = (await target.supply?.accessTokens(1 + WARM_UP + rounds * TOKENS_EACH_ROUND)) ?? []
    const task = { home, options, warmUp: WARM_UP, rounds, seconds, cores: cores.load, folder }
    const speed = (await runReader({ ...task, tokens })) as FeedSpeed
    const memory = (await runReader({ ...task, tokens: [] })) as FeedMemory
    print(speed, memory, entries)
  } finally {
    await target.stop()
  }
}

/** Endings of the last minutes, as the service stores revoked tokens of clients. */
function insertEndings(file: string, count: number): void {
  tell(`inserting ${count.toLocaleString('en')} endings`)
  const database = new DatabaseSync(file)
  const at = Math.floor(Date.now() / 1000)
  const insert = database.prepare("INSERT INTO endings (at, kind, key) VALUES (?, 'client_token', ?)")
  database.exec('BEGIN')
  for (let row = 0; row < count; row++) insert.run(at - Math.floor((OLDEST * row) / count), randomBytes(32))
  database.exec('COMMIT')
  database.close()
}

type Reading = FeedTask & { cores: string | null; folder: string }

async function runReader({ cores, folder, ...task }: Reading): Promise<unknown> {
  const name = task.tokens.length > 0 ? 'speed' : 'memory'
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify(task))
  tell(`measuring ${name}`)
  const args = ['--expose-gc', join(import.meta.dirname, '../servers/feed-reader-process.ts'), file]
  return JSON.parse(await untilEnd({ args, env: {}, cores, log: join(folder, `${name}.log`) }, startNode))
}

function print({ ways, requestsWithFeed }: FeedSpeed, { before, after, resident }: FeedMemory, entries: number): void {
  const microseconds = (way: keyof FeedSpeed['ways']) => median(ways[way])
  const row = (what: 'same' | 'new') => [
    what === 'same' ? 'the same token' : 'a token that was not checked before',
    ...(['local', 'introspection', 'feed'] as const).map((way) => `${microseconds(`${way} ${what}`).toFixed(1)} µs`),
    `${(microseconds(`introspection ${what}`) / microseconds(`feed ${what}`)).toFixed(1)} ×`,
  ]
  const head = ['one check after the other', 'local', 'introspection', 'feed', 'feed against introspection']
  console.log(`\n${markdownTable(head, [row('same'), row('new')])}`)
  console.log(`\nRequests to the service during the checks with the feed: ${requestsWithFeed}`)
  const used = (after - before).toFixed(1)
  console.log(`Memory of a reader of ${entries.toLocaleString('en')} endings: ${used} MiB (resident: ${resident.toFixed(0)} MiB)`)
}
