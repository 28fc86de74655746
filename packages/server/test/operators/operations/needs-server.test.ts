/** Operations that only a running server can carry out. */
import { expect, test } from 'vitest'
import { commands } from '../../../src/app/commands.ts'
import { operations } from '../../../src/operators/operations/all.ts'
import { needsNoServer } from '../../../src/operators/operations/operation.ts'

test('An operation that needs a running server is no command', () => {
  const ofServer = operations.filter((operation) => !needsNoServer(operation))
  expect(ofServer.map(({ id }) => id)).toEqual(['endSession', 'getWallet'])
  const names = commands.map(({ name }) => name)
  expect(ofServer.filter(({ subject, verb }) => names.includes(`${subject} ${verb}`))).toEqual([])
})
