/** The rules of resources. */
import { expect } from 'vitest'
import type { Members } from '../../../src/operators/members/member.ts'
import { etagOf } from '../../../src/operators/operations/operation.ts'
import { usualLimit } from '../../protocol/wallet/limit-example.ts'
import { ADMIN_URL, expectFault, NOW, test } from './on-store.ts'

const NOTES = 'https://mcp.example.com/mcp'
const GIVEN = { resource: NOTES, name: 'Notes', scopes: [{ name: 'notes.read', description: 'read your notes' }] }
const RECORD = { ...GIVEN, open_to: ['registered'], created_at: NOW }

/** With a scope that has a limit. */
const limiting = (limit: object): Members => ({ scopes: [{ name: 'pay', description: 'pay', limit }] })

/** With one more scope. */
const adding = (name: string, description: string): Members => ({ scopes: [...GIVEN.scopes, { name, description }] })

test('A resource is created, read, listed and deleted, and a program may repeat a registration with the same members, but a typed command is refused', async ({
  operations,
}) => {
  const { call, output, refused, acts } = operations
  expect(await call('createResource', { input: GIVEN })).toMatchObject({ output: RECORD, isNew: true })
  const as = { id: 'program', role: 'operator' } as const
  const again = await call('createResource', { input: GIVEN, as })
  expect([again.output, again.isNew, again.act]).toEqual([RECORD, undefined, undefined])
  for (const given of [{ input: GIVEN }, { input: { ...GIVEN, name: 'Other' }, as }])
    expect(await refused('createResource', given)).toMatchObject({ code: 'conflict' })
  expect(await output('getResource', { id: NOTES })).toEqual(RECORD)
  expect(await output('listResources')).toEqual({ items: [RECORD] })
  await call('deleteResource', { id: NOTES })
  expect(await output('listResources')).toEqual({ items: [] })
  expect(acts.map(({ event }) => event)).toEqual(['resource_created', 'resource_deleted'])
})

test('A name that looks like that of another resource, or of the platform, is a warning of the record and in the list', async ({
  operations,
}) => {
  const { output, call } = operations
  await call('createResource', { input: GIVEN })
  const alike = { ...GIVEN, resource: 'https://n0tes.example/', name: 'N0tes', scopes: [{ name: 'n', description: 'read' }] }
  const warnings = [`The name looks like that of the resource Notes (${NOTES}).`]
  expect(await output('createResource', { input: alike })).toMatchObject({ warnings })
  expect(await output('getResource', { id: alike.resource })).toMatchObject({ warnings })
  const { items } = (await output('listResources')) as { items: Members[] }
  expect(items.map(({ name, warnings: of }) => [name, of !== undefined])).toEqual([
    ['Notes', true],
    ['N0tes', true],
  ])
  const renamed = await output('updateResource', { id: alike.resource, input: { name: 'Grantor files' } })
  expect(renamed).toMatchObject({ warnings: ['The name looks like that of the platform, Grantor.'] })
  expect(await output('getResource', { id: NOTES })).toEqual(RECORD)
})

test('A change of a resource replaces the lists that are given, keeps the rest, and removes outer spaces', async ({
  operations,
}) => {
  const { call, output, refused } = operations
  await call('createResource', { input: GIVEN })
  const change = (input: Members) => output('updateResource', { id: NOTES, input })
  const both = ['registered', 'metadata']
  expect(await change({ open_to: both.toReversed() })).toEqual({ ...RECORD, open_to: both })
  const scopes = ['a', 'b'].map((name) => ({ name, description: `do ${name}` }))
  const changed = await change({ name: ' New ', scopes })
  expect(changed).toEqual({ ...RECORD, name: 'New', scopes, open_to: both })
  expect(await change({ open_to: [] })).toMatchObject({ open_to: [] })
  const late = { id: NOTES, input: { name: 'Late' }, match: etagOf(changed) }
  expect(await refused('updateResource', late)).toMatchObject({ code: 'changed_meanwhile' })
})

test('Changes of one resource that race are all applied', async ({ operations }) => {
  await operations.call('createResource', { input: GIVEN })
  const changes = [{ name: 'Renamed' }, { scopes: [{ name: 'a', description: 'do a' }] }, { open_to: ['metadata'] }]
  await Promise.all(changes.map((input) => operations.call('updateResource', { id: NOTES, input })))
  expect(await operations.output('getResource', { id: NOTES })).toEqual(Object.assign({ ...RECORD }, ...changes))
})

test.for<[what: string, more: Members, member: string]>([
  ['a relative URI', { resource: '/mcp' }, 'resource'],
  ['a URI with a fragment', { resource: `${NOTES}#a` }, 'resource'],
  ['a URI with a percent sign, which a text to sign cannot contain', { resource: `${NOTES}%20` }, 'resource'],
  ['the URI of the admin API', { resource: `${ADMIN_URL}/` }, 'resource'],
  ['no scope', { scopes: [] }, 'scopes'],
  ['an empty name', { name: ' ' }, 'name'],
  ['a name with an invisible character', { name: 'No\u202etes' }, 'name'],
  ['a scope with an empty description', adding('a', ' '), 'scopes'],
  ['a description with an invisible character', adding('a', 'read\u200b notes'), 'scopes'],
  ['a description with an isolate', adding('a', '\u2066do a'), 'scopes'],
  ['a description that only looks empty', adding('a', '\u3164'), 'scopes'],
  ['a description with a line break', adding('a', 'read\nnotes'), 'scopes'],
  ['a description of 201 characters', adding('a', 'x'.repeat(201)), 'scopes'],
  ['a scope name with a space', adding('a b', 'do a'), 'scopes'],
  ['a scope of the service', adding('openid', 'sign in'), 'scopes'],
  ['a scope that is named twice', adding('notes.read', 'read'), 'scopes'],
  ...['| at most 20 times', '| at most 0 times a week', '| at most 2 times a week, 5 EUR each, 4 a week', '|at most twice'].map(
    (words): [string, Members, string] => [`the limit "${words}" in a description`, adding('a', `do a ${words}`), 'scopes'],
  ),
  ['101 scopes', { scopes: Array.from({ length: 101 }, (_, n) => ({ name: `s${n}`, description: `do ${n}` })) }, 'scopes'],
  ['an unknown kind of clients', { open_to: ['everyone'] }, 'open_to'],
])(
  'A resource with %s is refused at its creation and at its change, and nothing is stored',
  async ([, more, member], { operations }) => {
    const { call, refused, store } = operations
    const fault = { code: 'invalid_request', faults: [expect.stringMatching(`^${member}: `)] }
    expect(await refused('createResource', { input: { ...GIVEN, ...more } })).toMatchObject(fault)
    expect(await store.resources.listResources()).toEqual([])
    if ('resource' in more) return
    await call('createResource', { input: GIVEN })
    expect(await refused('updateResource', { id: NOTES, input: { ...more } })).toMatchObject(fault)
    expect(await operations.output('getResource', { id: NOTES })).toEqual(RECORD)
  },
)

test('A scope keeps its limit and its place in the list, and a change of the limit alone is a change', async ({ operations }) => {
  const { call, output, acts } = operations
  const limited = { name: 'pay', description: 'pay', limit: usualLimit }
  const scopes = [limited, ...GIVEN.scopes, { ...limited, name: 'send', limit: { uses: 1 } }]
  await call('createResource', { input: { ...GIVEN, scopes } })
  expect(await output('getResource', { id: NOTES })).toEqual({ ...RECORD, scopes })
  const lower = [{ ...limited, limit: { ...usualLimit, uses: 2 } }, ...GIVEN.scopes]
  expect(await output('updateResource', { id: NOTES, input: { scopes: lower } })).toEqual({ ...RECORD, scopes: lower })
  await call('updateResource', { id: NOTES, input: { scopes: lower } })
  expect(acts.map(({ event }) => event)).toEqual(['resource_created', 'resource_changed'])
})

test.for<[member: string, changes: object]>([
  ['uses', { uses: 0 }],
  ['uses', { uses: 1.5 }],
  ['uses', { uses: '20' }],
  ['uses', { uses: 10_001 }],
  ['per', { per: 'month' }],
  ['unit', { unit: 'neso' }],
  ['unit', { unit: undefined }],
  ['decimals', { decimals: 7 }],
  ['amount', { amount: 1_000_000_000_000_000 }],
  ['amount', { amount: 0 }],
  ['each', { each: 50_001 }],
  ['each', { each: 0.5 }],
  ['total', { total: 1 }],
])(
  'A limit is refused at the creation and at the change of a resource, and the fault names the member %s: %j',
  async ([member, changes], { operations }) => {
    const { call, refused, output } = operations
    const input = limiting(JSON.parse(JSON.stringify({ ...usualLimit, ...changes })) as object)
    const fault = { code: 'invalid_request', faults: [expect.stringContaining(member)] }
    expect(await refused('createResource', { input: { ...GIVEN, ...input } })).toMatchObject(fault)
    await call('createResource', { input: GIVEN })
    expect(await refused('updateResource', { id: NOTES, input })).toMatchObject(fault)
    expect(await output('getResource', { id: NOTES })).toEqual(RECORD)
  },
)

test('A resource without a name or without a scope, and a change of nothing, is refused', async ({ operations }) => {
  const { name: _name, ...unnamed } = GIVEN
  await expectFault(operations, { operation: 'createResource', input: unnamed }, [null, 'name'])
  await expectFault(operations, { operation: 'createResource', input: { resource: NOTES, name: 'N' } }, [null, 'scopes'])
  await operations.call('createResource', { input: GIVEN })
  await expectFault(operations, { operation: 'updateResource', id: NOTES, input: {} }, [null, ''])
})

test('A resource that is not registered is reported', async ({ operations }) => {
  for (const [operation, input] of [
    ['getResource', {}],
    ['updateResource', { open_to: [] }],
    ['deleteResource', {}],
  ] as const)
    expect([operation, await operations.refused(operation, { id: NOTES, input })]).toMatchObject([
      operation,
      { code: 'not_found' },
    ])
})
