/** A fault-injection run in which a standby is promoted. docs/evidence/reliability.md says how to run and repeat it. */

import { test as base, FILE, started } from '../support/fixtures.ts'
import { cutConnections, killNode } from './faults.ts'
import { setUpPair } from './postgres-pair.ts'
import { PATIENCE_MS, prove, seconds } from './prove.ts'

/** A statement of a node that was killed may still wait in the server for other statements, and for the standby. */
const SETTLING = 1000
/** A short run has time for one fault only: the promotion. */
const isShort = seconds < 10

const test = base.extend(
  'pair',
  FILE,
  started(setUpPair, (pair) => pair.close()),
)

test('Load and failures on PostgreSQL: three nodes, and a standby that is promoted', {
  timeout: seconds * 1000 + PATIENCE_MS,
}, async ({ pair, annotate }) => {
  const name = 'PostgreSQL, three nodes, promotion'
  const others = isShort ? [] : [pair.promoteStandby, pair.killStandby, pair.promoteAfterAbsence, killNode, cutConnections]
  const faults = [pair.promoteStandby, ...others]
  const databaseUrl = await pair.newDatabase('chaos')
  const { statementsEnded } = pair
  await prove({ name, nodes: 3, databaseUrl, faults, settling: SETTLING, statementsEnded }, annotate)
})
