/** One process of `appends.ts`: several writers of an audit trail, each with a store of its own, as the processes of a service have. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type BuiltStore, importBuilt, openBuiltStore } from '../built.ts'

/** `rate`: lines a second of one writer; 0 for as many as possible. */
export type Writing = { home: string; url: string; writers: number; rate: number; seconds: number }
/** `took`: milliseconds from a line to its commit. `behind`: how often a writer reported that its lines wait. */
export type Written = { took: number[]; behind: number; lost: number }

type Trail = { record(entry: unknown): Promise<'written' | 'lost'>; stop(): Promise<void> }
type TrailModule = {
  createAuditTrail(options: {
    store: unknown
    now: () => number
    note: (fault: { kind: string }) => void
    pause: (milliseconds: number) => Promise<void>
  }): Trail
}

/** Requests that wait for their lines at the same time, if there is no rate. */
const AT_ONCE = 200

const now = (): number => Math.floor(Date.now() / 1000)

const entry = () => ({
  id: randomUUID(),
  at: now(),
  event: 'session_started',
  result: 'done',
  reason: 'signature',
  clientId: '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
  requestId: randomUUID(),
  network: '203.0.113',
})

async function main({ home, url, writers, rate, seconds }: Writing): Promise<void> {
  const { createAuditTrail } = (await importBuilt('domain/audit/trail.js', home)) as TrailModule
  const written: Written = { took: [], behind: 0, lost: 0 }
  const note = ({ kind }: { kind: string }): void => void (kind === 'behind' && written.behind++)
  const stores: (BuiltStore & { audit?: unknown })[] = []
  for (let count = 0; count < writers; count++) stores.push(await openBuiltStore(url, home))
  const trails = stores.map(({ audit }) => createAuditTrail({ store: audit, now, note, pause: (ms) => pause(ms) }))
  for (const trail of trails) await trail.record(entry())
  process.send?.('ready')
  await new Promise((resolve) => process.once('message', resolve))
  const record = async (trail: Trail): Promise<void> => {
    const began = performance.now()
    if ((await trail.record(entry())) === 'written') written.took.push(performance.now() - began)
    else written.lost++
  }
  const until = performance.now() + seconds * 1000
  await Promise.all(
    trails.map((trail) => (rate > 0 ? atRate(rate, until, () => record(trail)) : atOnce(until, () => record(trail)))),
  )
  for (const trail of trails) await trail.stop()
  for (const store of stores) await store.close()
  process.send?.(written, () => process.disconnect?.())
}

/** At random times, as requests arrive. */
async function atRate(rate: number, until: number, record: () => Promise<void>): Promise<void> {
  const gap = (): number => (-Math.log(1 - Math.random()) * 1000) / rate
  const all: Promise<void>[] = []
  for (let at = performance.now() + gap(); at < until; at += gap()) {
    await pause(Math.max(0, at - performance.now()))
    all.push(record())
  }
  await Promise.all(all)
}

async function atOnce(until: number, record: () => Promise<void>): Promise<void> {
  const one = async (): Promise<void> => {
    while (performance.now() < until) await record()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

await main(JSON.parse(process.argv[2] ?? '') as Writing)
