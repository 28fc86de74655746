/** The ledger under fire while a standby takes over from its primary. How it is run, and repeated, is told in docs/evidence/reliability.md. */

import { test as base, FILE, started } from '../support/fixtures.ts'
import { cutConnections, killNode } from './faults.ts'
import { setUpPair } from './postgres-pair.ts'
import { prove, seconds } from './prove.ts'

/** A statement that a node sent may wait for others, and for the standby, after the node is gone. */
const SETTLING = 1000
/** A short run has time for one fault, and it is this one. */
const isShort = seconds < 10

const test = base.extend(
  'pair',
  FILE,
  started(setUpPair, (pair) => pair.close()),
)

test('Load and failures on PostgreSQL: three nodes, and a standby that is promoted', { timeout: (seconds + 90) * 1000 }, async ({
  pair,
  annotate,
}) => {
  const name = 'PostgreSQL, three nodes, promotion'
  const others = isShort ? [] : [pair.promoteStandby, pair.killStandby, pair.promoteAfterAbsence, killNode, cutConnections]
  const faults = [pair.promoteStandby, ...others]
  await prove({ name, nodes: 3, databaseUrl: await pair.newDatabase('chaos'), faults, settling: SETTLING }, annotate)
})
