/** Fault-injection runs on PostgreSQL, with three nodes. docs/evidence/reliability.md says how to run and repeat them. */
import { afterAll, beforeAll, test } from 'vitest'
import { breakChain, cutConnections, jumpClock, killNode } from './faults.ts'
import { type PostgresScene, setUpPostgres } from './postgres-scene.ts'
import { PATIENCE_MS, prove, seconds } from './prove.ts'
import type { Fault } from './run.ts'

/** A statement of a node that was killed may still wait in the server for other statements. */
const SETTLING = 1000

const runs: { name: string; faults(): Fault[] }[] = [
  { name: 'PostgreSQL, three nodes, races', faults: () => [] },
  { name: 'PostgreSQL, three nodes, crashes', faults: () => [scene.killServer, killNode, cutConnections, breakChain] },
  { name: 'PostgreSQL, three nodes, statements cut', faults: () => [scene.cutStatements] },
  { name: 'PostgreSQL, three nodes, clock jumps', faults: () => [jumpClock, jumpClock, cutConnections, breakChain] },
]

let scene: PostgresScene
beforeAll(async () => {
  scene = await setUpPostgres()
})
afterAll(() => scene.close())

test.for(runs)(
  'Load and failures on PostgreSQL: $name',
  { timeout: seconds * 1000 + PATIENCE_MS },
  async ({ name, faults }, { annotate }) => {
    const databaseUrl = await scene.newDatabase(`chaos_${runs.findIndex((run) => run.name === name)}`)
    const { statementsEnded } = scene
    await prove({ name, nodes: 3, databaseUrl, faults: faults(), settling: SETTLING, statementsEnded }, annotate)
  },
)
