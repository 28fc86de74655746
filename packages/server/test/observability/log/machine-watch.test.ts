import { expect, test } from 'vitest'
import { createMachineWatch } from '../../../src/observability/log/machine-watch.ts'
import { ONE_MACHINE } from '../../../src/store/cluster-health.ts'

test('The log reports once that the coordinator of a cluster is not used directly, and once that it is used again', async () => {
  const lines: unknown[][] = []
  const note = (...line: unknown[]) => void lines.push(line)
  const problem = 'db0.example.com:5432: no connection in time'
  const problems = [null, problem, problem, null, null]
  const machines = () => ({ ...ONE_MACHINE, coordinatorProblem: problems.shift() ?? null })
  const watch = createMachineWatch({ machines, logger: { warn: note, info: note } as never, metrics: undefined })
  for (let count = 0; count < 5; count++) await watch()
  expect(lines).toEqual([
    [{ problem }, 'the coordinator of the database is not used directly, so a lost connection can hold up sign-ins'],
    ['the coordinator of the database is used directly again'],
  ])
})

test('The log reports a machine that is not reached directly at two checks in a row, unless it is away, and once that it is reached again', async () => {
  const lines: unknown[][] = []
  const note = (...line: unknown[]) => void lines.push(line)
  const state = { away: [] as string[], problems: new Map<string, string>() }
  const machines = () => ({ ...ONE_MACHINE, machinesAway: state.away, directProblems: state.problems })
  const watch = createMachineWatch({ machines, logger: { warn: note, info: note } as never, metrics: undefined })
  const check = async (problems: Record<string, string>, away: string[] = []) => {
    lines.length = 0
    Object.assign(state, { away, problems: new Map(Object.entries(problems)) })
    await watch()
    return [...lines]
  }
  const problem = 'no connection in time'
  expect(await check({ 'db1:5432': problem })).toEqual([])
  expect(await check({})).toEqual([])
  expect(await check({ 'db1:5432': problem })).toEqual([])
  expect(await check({ 'db1:5432': problem })).toEqual([
    [
      { machine: 'db1:5432', problem },
      'a machine of the database is not reached directly, so its rows are reached over another machine',
    ],
  ])
  expect(await check({ 'db1:5432': problem })).toEqual([])
  expect(await check({})).toEqual([[{ machine: 'db1:5432' }, 'a machine of the database is reached directly again']])
  await check({ 'db2:5432': problem }, ['db2:5432'])
  expect(await check({ 'db2:5432': problem }, ['db2:5432']), 'the log has this machine as away').toEqual([])
  expect(await check({ 'db2:5432': problem }), 'it answers again, and the first search can fail').toEqual([
    [{ machine: 'db2:5432' }, 'a machine of the database answers again'],
  ])
  expect(await check({})).toEqual([])
})
