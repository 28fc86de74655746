import { expect, test } from 'vitest'
import { createMachineWatch } from '../../../src/ops/log/machine-watch.ts'

test('The log reports once that the coordinator of a cluster is not used directly, and once that it is used again', async () => {
  const lines: unknown[][] = []
  const note = (...line: unknown[]) => void lines.push(line)
  const problem = 'db0.example.com:5432: no connection in time'
  const problems = [null, problem, problem, null, null]
  const store = { coordinatorProblem: () => problems.shift() ?? null }
  const watch = createMachineWatch({ store, logger: { warn: note, info: note } as never, metrics: undefined })
  for (let count = 0; count < 5; count++) await watch()
  expect(lines).toEqual([
    [{ problem }, 'the coordinator of the database is not used directly, so a lost connection can hold up sign-ins'],
    ['the coordinator of the database is used directly again'],
  ])
})
