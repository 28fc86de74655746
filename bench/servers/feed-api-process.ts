/**
 * An API in a process of its own that checks tokens with the feed of one node, for `feed/delays.ts`. It reports the time at which each watched
 * token was refused first.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { importResource } from '../built.ts'

type Check = ((request: { headers: { authorization: string } }) => Promise<unknown>) & { ready(): Promise<void> }
type Resource = { createTokenCheck(options: object): Check }

/** `options` are those of `createTokenCheck`. Every request of the API goes to the node at `port`. */
export type ApiTask = { home: string; options: object; port: number; tokens: string[] }
/** `refusedAt` is in milliseconds of the machine's monotonic clock. `requests`: those that checks have sent since the feed was ready. */
export type ApiReport = { kind: 'ready' } | { kind: 'refused'; index: number; refusedAt: number; requests: number }

/** Milliseconds between two checks of a watched token. */
const EVERY = 5

let requests = 0

async function main({ home, options, port, tokens }: ApiTask): Promise<void> {
  const { createTokenCheck } = (await importResource(home)) as Resource
  const toNode: typeof fetch = (input, init) => {
    const url = new URL(String(input instanceof Request ? input.url : input))
    url.port = String(port)
    requests++
    return fetch(url, init)
  }
  const check = createTokenCheck({ ...options, check: 'feed', fetch: toNode })
  await check.ready()
  // So that the signature of none is checked while the time runs.
  for (const token of tokens) await check(bearer(token))
  requests = 0
  const watched = new Set<number>()
  process.on('message', (index: number) => watched.add(index))
  report({ kind: 'ready' })
  for (;;) {
    for (const index of watched) {
      if (!(await isRefused(check, tokens[index] ?? ''))) continue
      watched.delete(index)
      report({ kind: 'refused', index, refusedAt: Number(process.hrtime.bigint()) / 1e6, requests })
    }
    await pause(EVERY)
  }
}

async function isRefused(check: Check, token: string): Promise<boolean> {
  try {
    await check(bearer(token))
    return false
  } catch (error) {
    if ((error as { status?: number }).status === 401) return true
    throw error
  }
}

function bearer(token: string) {
  return { headers: { authorization: `Bearer ${token}` } }
}

function report(message: ApiReport): void {
  process.send?.(message)
}

process.once('disconnect', () => process.exit(0))
process.once('message', (task: ApiTask) => void main(task))
