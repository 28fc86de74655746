import { hostname } from 'node:os'
import type { KeyRecord } from '../../pages/console/key-page.ts'
import { overviewPage as render } from '../../pages/console/overview-page.ts'
import type { Admin } from '../admin.ts'
import { addPage, type Console, type Visit } from './console.ts'
import { readJobViews } from './jobs.ts'

export function overviewPage(console: Console): void {
  const { admin } = console
  addPage(console, '/console', async (visit) => {
    const { deps, live } = admin
    const [storeMs, keys, jobs] = await Promise.all([timeOfRead(admin), readKeys(visit), readJobs(admin, visit)])
    const inUse = keys.filter(({ state }) => state === 'makes').map(({ created_at: at }) => at)
    return render({
      frame: visit.frame,
      now: deps.now(),
      live: live.read(),
      storeMs,
      away: admin.store.machinesAway?.() ?? [],
      node: { host: hostname(), pid: process.pid, runtime: `Node.js ${process.version}` },
      keyAge: inUse.length > 0 ? deps.now() - Math.min(...inUse) : null,
      jobs: jobs.filter(({ doneAt }) => doneAt === null),
    })
  })
}

/** Milliseconds of one small read; null if the store cannot be reached. */
async function timeOfRead({ store }: Admin): Promise<number | null> {
  const begun = performance.now()
  try {
    await store.readRevision()
    return performance.now() - begun
  } catch {
    return null
  }
}

/** Empty if the store fails or the role may not read keys: the other parts of the page are shown anyway. */
async function readKeys({ api }: Visit): Promise<KeyRecord[]> {
  return api<{ items: KeyRecord[] }>('GET', '/v1/keys').then(
    ({ body }) => body.items,
    () => [],
  )
}

async function readJobs(admin: Admin, visit: Visit) {
  return readJobViews(admin, visit).catch(() => [])
}
