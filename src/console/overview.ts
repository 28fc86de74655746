/** The first page: what this process and the store do now. */
import { hostname } from 'node:os'
import type { Admin } from '../admin/admin.ts'
import { listKeys } from '../operations/keys.ts'
import { overviewPage as render } from '../pages/console/overview-page.ts'
import { readJobViews } from './jobs.ts'
import { addPage, type Console } from './visit.ts'

export function overviewPage(console: Console): void {
  const { admin } = console
  addPage(console, '/console', async (visit) => {
    const { deps, live } = admin
    // The other parts of the page are shown if the store fails, and if the role may not read the keys.
    const [storeMs, keys, jobs] = await Promise.all([
      timeOfRead(admin),
      visit.run(listKeys).then(
        ({ output }) => output.items,
        () => [],
      ),
      readJobViews(console, visit).catch(() => []),
    ])
    const inUse = keys.filter(({ state }) => state === 'makes').map(({ created_at: at }) => at)
    return render({
      frame: visit.frame,
      now: deps.now(),
      live: live.read(),
      storeMs,
      away: admin.store.machinesAway?.() ?? [],
      node: { host: hostname(), pid: process.pid, runtime: `Node.js ${process.version}` },
      keyAge: inUse.length > 0 ? deps.now() - Math.min(...inUse) : null,
      jobs: jobs.filter(({ done_at: doneAt }) => doneAt === null),
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
