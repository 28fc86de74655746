/**
 * An API in a process of its own, which checks the tokens of a run again and again with `@grantor/resource`, and records what it did with each.
 * The parent process sends `ToApi`, and gets `FromApi`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { createTokenCheck, ResourceError } from '@grantor/resource'
import type { Sighting } from './check-feed.ts'
import { FeedTap } from './feed-tap.ts'

export type ApiOptions = {
  name: string
  issuer: string
  introspection: { clientId: string; clientSecret: string }
  /** seconds: the greatest age of the feed */
  maxAge: number
  /** the origins of the nodes. Each request goes to any of them. */
  nodes: string[]
  /** Nothing arrives after the first snapshot, and introspection is all that works: a connection that hangs. */
  hangs: boolean
}

export type ToApi =
  | { op: 'start'; options: ApiOptions }
  | { op: 'watch'; id: string; token: string }
  /** ends the checks of these tokens */
  | { op: 'stop'; ids: string[] }
export type FromApi = { op: 'ready' } | { op: 'seen'; sightings: Sighting[]; unavailable: number }

/** Checks at the same time, at most: introspection of all tokens at once would keep the nodes busy. */
const AT_ONCE = 5
/** Milliseconds between this many checks and the next. */
const PACE = 10

const send = (message: FromApi) => void process.send?.(message)
const watched = new Map<string, { token: string; sighting: Sighting }>()
let unavailable = 0

process.on('message', (message: ToApi) => {
  if (message.op === 'start') void run(message.options)
  else if (message.op === 'watch') watched.set(message.id, { token: message.token, sighting: newSighting(message.id) })
  else report(message.ids)
})
process.on('disconnect', () => process.exit(0))

let name = ''

function newSighting(token: string): Sighting {
  const never = { acceptedByFeed: null, acceptedByIntrospection: null, oldestFeed: 0, refused: null }
  return { api: name, token, checks: 0, ...never }
}

function report(ids: readonly string[]): void {
  const sightings = ids.flatMap((id) => watched.get(id)?.sighting ?? [])
  for (const id of ids) watched.delete(id)
  send({ op: 'seen', sightings, unavailable })
}

async function run(options: ApiOptions): Promise<void> {
  name = options.name
  const { issuer, introspection, maxAge } = options
  const tap = new FeedTap(options.nodes)
  const tasks = new AsyncLocalStorage<{ isIntrospected: boolean }>()
  const check = createTokenCheck({
    issuer,
    audience: issuer,
    check: 'feed',
    introspection,
    feed: { maxAge },
    clientTokens: true,
    fetch: async (input, init) => {
      const task = tasks.getStore()
      const url = new URL(input instanceof Request ? input.url : input)
      if (task && url.pathname.endsWith('/introspect')) task.isIntrospected = true
      return tap.fetch(url, init)
    },
  })
  await check.ready()
  // Not earlier: the reader replaces a connection whose first message was slow.
  tap.isSilent = options.hangs
  send({ op: 'ready' })

  async function look(token: string, sighting: Sighting): Promise<void> {
    const task = { isIntrospected: false }
    const begun = Date.now()
    const begunAt = performance.now()
    sighting.checks++
    try {
      await tasks.run(task, () => check({ headers: { authorization: `Bearer ${token}` } }))
      if (task.isIntrospected) sighting.acceptedByIntrospection = Math.max(sighting.acceptedByIntrospection ?? 0, begun)
      else {
        sighting.acceptedByFeed = Math.max(sighting.acceptedByFeed ?? 0, begun)
        sighting.oldestFeed = Math.max(sighting.oldestFeed, begunAt - tap.completeAt)
      }
    } catch (error) {
      if (!(error instanceof ResourceError)) throw error
      if (error.status === 503) unavailable++
      else sighting.refused ??= { at: Date.now(), reason: error.reason }
    }
  }

  const running = new Set<Promise<void>>()
  for (let begun = 1; ; await pause(PACE)) {
    for (const { token, sighting } of watched.values()) {
      if (running.size === AT_ONCE) await Promise.race(running)
      const looking = look(token, sighting).finally(() => running.delete(looking))
      running.add(looking)
      if (begun++ % AT_ONCE === 0) await pause(PACE)
    }
  }
}
