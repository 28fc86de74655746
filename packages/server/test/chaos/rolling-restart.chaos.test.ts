/** Restarts without a failed request. docs/evidence/reliability.md says how to run and repeat them. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder } from '../app/run.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { PATIENCE_MS, seconds } from './prove.ts'
import { restartInTurn } from './rolling-restart.ts'

// The short form has no time for a balancer that probes once a second, and leaves processor time to other tests. A probe that takes longer
// than the drain, because the machine is busy, would be a failed request: so the drain lasts many times as long as a probe and its pause.
const pace =
  seconds < 10
    ? { people: 3, pauseMs: 10, drainSeconds: 5, probeMs: 100 }
    : { people: 6, pauseMs: 0, drainSeconds: 8, probeMs: 1000 }

async function newPostgres(drop: (drop: () => Promise<void>) => void): Promise<string> {
  const database = await createPostgresDatabase()
  drop(database.drop)
  return database.url
}
const newFile = async () => `sqlite:${join(newFolder(), 'grantor.sqlite')}`

const deployments = [
  { name: 'three nodes on PostgreSQL', nodes: 3, databaseUrl: newPostgres },
  { name: 'two nodes on one SQLite file', nodes: 2, databaseUrl: newFile },
  { name: 'two nodes of two workers on PostgreSQL', nodes: 2, argv: ['--workers', '2'], databaseUrl: newPostgres, long: true },
].filter(({ long }) => !long || seconds >= 10)

// Short runs are concurrent, because they mostly wait.
test.for(deployments)(
  'While the nodes of a service are restarted one after the other under load, no request fails: $name',
  { timeout: seconds * 1000 + PATIENCE_MS, concurrent: seconds < 10 },
  async ({ name, databaseUrl, ...deployment }, { annotate, onTestFinished }) => {
    const outcome = await restartInTurn({ ...deployment, ...pace, seconds, databaseUrl: await databaseUrl(onTestFinished) })
    const { restarts, answered, failed, exits, longestStop } = outcome
    const figures = `${restarts} restarts, ${answered} requests, longest stop ${longestStop.toFixed(1)} s`
    console.info(`${name}, rolling restart\n  ${figures}`)
    await annotate(figures)
    expect({ failed: failed.slice(0, 5), count: failed.length }).toEqual({ failed: [], count: 0 })
    expect(restarts).toBeGreaterThanOrEqual(deployment.nodes)
    expect(new Set(exits)).toEqual(new Set([0]))
    // A stop has the drain and at most seven seconds more. Twice that is a stop that hangs, and no busy machine.
    expect(longestStop).toBeLessThan(2 * (pace.drainSeconds + 7))
  },
)
