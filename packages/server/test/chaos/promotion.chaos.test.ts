/** Fault-injection runs in which a standby is promoted. docs/evidence/reliability.md says how to run and repeat them. */

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

const runs = [
  ['PostgreSQL, three nodes, promotion', {}],
  // Nearly all that the people do is to draw.
  ['PostgreSQL, three nodes, promotion, draws of 64 people', { people: 64, contractPeople: 0, drawing: 5000 }],
] as const

test.for(runs)(
  'Load and failures on PostgreSQL: %s',
  {
    timeout: seconds * 1000 + PATIENCE_MS,
  },
  async ([name, more], { pair, annotate }) => {
    const others = isShort ? [] : [pair.promoteStandby, pair.killStandby, pair.promoteAfterAbsence, killNode, cutConnections]
    const faults = [pair.promoteStandby, ...others]
    const databaseUrl = await pair.newDatabase(name.includes('draws') ? 'draws' : 'chaos')
    const { statementsEnded } = pair
    await prove({ name, ...more, nodes: 3, databaseUrl, faults, settling: SETTLING, statementsEnded }, annotate)
  },
)
