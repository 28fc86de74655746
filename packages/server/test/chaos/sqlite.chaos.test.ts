/** Fault-injection runs on SQLite, with one process and with two. docs/evidence/reliability.md says how to run and repeat them. */
import { test } from 'vitest'
import { breakChain, cutConnections, jumpClock, killNode, lockFile } from './faults.ts'
import { PATIENCE_MS, prove, seconds } from './prove.ts'

const runs = [
  { name: 'SQLite, one process, races', nodes: 1, faults: [] },
  { name: 'SQLite, two processes, races', nodes: 2, faults: [lockFile] },
  { name: 'SQLite, one process, crashes', nodes: 1, faults: [killNode, cutConnections, breakChain] },
  { name: 'SQLite, two processes, crashes', nodes: 2, faults: [killNode, cutConnections, breakChain] },
  { name: 'SQLite, two processes, clock jumps', nodes: 2, faults: [jumpClock, jumpClock, cutConnections, breakChain] },
]

test.for(runs)('Load and failures on SQLite: $name', { timeout: seconds * 1000 + PATIENCE_MS }, (run, { annotate }) =>
  prove(run, annotate),
)
