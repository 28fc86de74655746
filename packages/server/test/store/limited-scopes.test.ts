/** What a node of an earlier version reads of a resource whose scope has a limit. */
import { expect, test } from 'vitest'
import { RESOURCES } from '../../src/store/record-tables.ts'

const resource = {
  uri: 'urn:a',
  name: 'A',
  scopes: [
    { name: 'read', description: 'read' },
    { name: 'pay', description: 'pay', limit: { uses: 3 } },
  ],
  openTo: ['registered' as const],
  createdAt: 0,
}

test('For a node of an earlier version a resource with a limit is open to nobody, and has only the scopes without a limit', () => {
  const { record } = RESOURCES.rowOf(resource)
  expect(JSON.parse(String(record))).toMatchObject({ scopes: [{ name: 'read' }], openTo: [] })
  expect(RESOURCES.itemOf({ uri: 'urn:a', record })).toEqual(resource)
})

test('A resource without a limit is stored with the bytes of the earlier version', () => {
  const without = { ...resource, scopes: resource.scopes.slice(0, 1) }
  expect(RESOURCES.rowOf(without)).toEqual({ uri: 'urn:a', record: JSON.stringify(without) })
})

test('A change by a node of the earlier version keeps the limits, because the node keeps members that it does not know', () => {
  const stored = JSON.parse(String(RESOURCES.rowOf(resource).record)) as Record<string, unknown>
  const record = JSON.stringify({ ...stored, name: 'B', openTo: ['metadata'] })
  expect(RESOURCES.itemOf({ uri: 'urn:a', record })).toEqual({ ...resource, name: 'B' })
})

test('If a node of the earlier version adds a scope that has a limit, the limit stays', () => {
  const stored = JSON.parse(String(RESOURCES.rowOf(resource).record)) as typeof resource
  const record = JSON.stringify({ ...stored, scopes: [...stored.scopes, { name: 'pay', description: 'pay' }] })
  expect(RESOURCES.itemOf({ uri: 'urn:a', record })).toEqual(resource)
})
