/** An API in a process of its own that checks tokens. Its input is a file with JSON, whose path is the argument; its output is JSON. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { importResource } from '../built.ts'
import { median } from '../statistics.ts'

type Way = 'local' | 'introspection' | 'feed'
type Check = ((request: { headers: { authorization: string } }) => Promise<unknown>) & { ready(): Promise<void>; close(): void }
type Resource = { createTokenCheck(options: object): Check }

export type FeedTask = {
  home: string
  /** of `createTokenCheck` */
  options: object
  /** measures the time of checks of these tokens; without tokens, the memory of the feed */
  tokens: string[]
  /** tokens that are checked before the first round */
  warmUp: number
  rounds: number
  seconds: number
}
/** Microseconds for a check, one figure for each round; and the requests that the checks with the feed sent. */
export type FeedSpeed = { ways: Record<`${Way} ${'same' | 'new'}`, number[]>; requestsWithFeed: number }
/** MiB before the feed is read and afterwards, after a collection of garbage. */
export type FeedMemory = { before: number; after: number; resident: number }

const task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FeedTask
const { createTokenCheck } = (await importResource(task.home)) as Resource
console.log(JSON.stringify(task.tokens.length > 0 ? await measureSpeed() : await measureMemory()))
process.exit(0)

async function measureSpeed(): Promise<FeedSpeed> {
  let requests = 0
  const counting: typeof fetch = (input, init) => {
    requests++
    return fetch(input, init)
  }
  const make = (check: Way) => createTokenCheck({ ...task.options, check, fetch: counting })
  const checks = { local: make('local'), introspection: make('introspection'), feed: make('feed') }
  await checks.feed.ready()
  const [same = '', ...others] = task.tokens
  const warming = others.splice(0, task.warmUp)
  for (const check of Object.values(checks)) for (const token of [same, ...warming]) await check(bearer(token))
  const ways: FeedSpeed['ways'] = {
    'local same': [],
    'introspection same': [],
    'feed same': [],
    'local new': [],
    'introspection new': [],
    'feed new': [],
  }
  let requestsWithFeed = 0
  const each = Math.floor(others.length / task.rounds)
  for (let round = 0; round < task.rounds; round++) {
    const fresh = others.slice(round * each, (round + 1) * each)
    const order = ['feed', 'local', 'introspection'] as const
    for (const way of round % 2 === 0 ? order : order.toReversed()) {
      const before = requests
      ways[`${way} same`].push(await timeFor(checks[way], same))
      ways[`${way} new`].push(await timeOf(checks[way], fresh))
      if (way === 'feed') requestsWithFeed += requests - before
    }
  }
  return { ways, requestsWithFeed }
}

/** Microseconds for one check of the same token. */
async function timeFor(check: Check, token: string): Promise<number> {
  const request = bearer(token)
  const begun = performance.now()
  let calls = 0
  while (performance.now() - begun < task.seconds * 1000) {
    for (let call = 0; call < 20; call++) await check(request)
    calls += 20
    // The messages of the feed are read in between.
    if (calls % 10_000 === 0) await pause(0)
  }
  return ((performance.now() - begun) * 1000) / calls
}

async function timeOf(check: Check, tokens: string[]): Promise<number> {
  const begun = performance.now()
  for (const token of tokens) await check(bearer(token))
  return ((performance.now() - begun) * 1000) / tokens.length
}

async function measureMemory(): Promise<FeedMemory> {
  const check = createTokenCheck({ ...task.options, check: 'feed' })
  const before = await memory()
  await check.ready()
  const after = await memory()
  return { before, after, resident: process.memoryUsage.rss() / 2 ** 20 }
}

/** MiB in use, the median of a few moments. */
async function memory(): Promise<number> {
  const found: number[] = []
  for (let time = 0; time < 5; time++) {
    globalThis.gc?.()
    await pause(200)
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    found.push((heapUsed + arrayBuffers) / 2 ** 20)
  }
  return median(found)
}

function bearer(token: string) {
  return { headers: { authorization: `Bearer ${token}` } }
}
