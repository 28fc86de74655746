import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { newDatabase, newFolder, run } from '../run.ts'

const NOTES = 'https://mcp.example.com/mcp'
const CREATE = ['resources', 'create', NOTES, '--name', 'Notes', '--scope', 'notes.read=read your notes']
const RECORD = {
  resource: NOTES,
  name: 'Notes',
  scopes: [{ name: 'notes.read', description: 'read your notes' }],
  open_to: ['registered'],
  created_at: 1_800_000_000,
}

let env: Record<string, string>
beforeEach(async () => {
  ;({ env } = await newDatabase())
})

async function json(...argv: string[]): Promise<unknown> {
  const { exit, out, err } = await run([...argv, '--json'], env)
  expect([exit, err]).toEqual([0, ''])
  return JSON.parse(out)
}

test('resources create --json prints one object with exactly the documented members, and show and list print the same', async () => {
  expect(await json(...CREATE)).toEqual(RECORD)
  expect(await json('resources', 'show', NOTES)).toEqual(RECORD)
  expect(await json('resources', 'list')).toEqual([RECORD])
})

test('Without --json, the resource is printed for people', async () => {
  const { out } = await run(CREATE, env)
  expect(out).toContain('Registered "Notes".')
  expect(out).toMatch(/scope +notes\.read: read your notes\n/)
  expect((await run(['resources', 'list'], env)).out).toMatch(
    /^RESOURCE +NAME +OPEN TO +SCOPES +CREATED\nhttps:\/\/mcp.example.com\/mcp +Notes +registered +notes.read +\S+Z\n$/,
  )
})

test('The URI of the admin API is refused as a resource: resources create and apply name the fault', async () => {
  const withAdmin = { ...env, GRANTOR_ADMIN_URL: 'https://admin.example.com' }
  const words = 'This is the URI of the admin API, which is no registered resource.'
  const resource = { resource: 'https://admin.example.com/', name: 'Admin', scopes: [{ name: 'a', description: 'a' }] }
  const file = join(newFolder(), 'grantor.json')
  writeFileSync(file, JSON.stringify({ resources: [resource] }))
  for (const argv of [
    ['resources', 'create', resource.resource, '--name', 'Admin', '--scope', 'a=a'],
    ['apply', file, '--yes'],
  ])
    expect(await run(argv, withAdmin)).toMatchObject({ exit: 2, err: expect.stringContaining(words) })
  expect(await json('resources', 'list')).toEqual([])
})

test('A description may contain equals signs', async () => {
  const made = await json(...CREATE, '--scope', 'notes.sum=compute 1 + 1 = 2')
  expect(made).toMatchObject({ scopes: [{}, { name: 'notes.sum', description: 'compute 1 + 1 = 2' }] })
})

test('resources update replaces the lists that are named, and keeps the rest', async () => {
  await run(CREATE, env)
  expect(await json('resources', 'update', NOTES, '--open-to', 'metadata', '--open-to', 'registered')).toEqual({
    ...RECORD,
    open_to: ['registered', 'metadata'],
  })
  expect(await json('resources', 'update', NOTES, '--scope', 'a=do a', '--scope', 'b=do b', '--name', ' New ')).toMatchObject({
    name: 'New',
    scopes: [
      { name: 'a', description: 'do a' },
      { name: 'b', description: 'do b' },
    ],
    open_to: ['registered', 'metadata'],
  })
  expect(await json('resources', 'update', NOTES, '--closed')).toMatchObject({ open_to: [] })
})

test('Updates of one resource that race are all applied', async () => {
  await run(CREATE, env)
  const changes = [
    ['--name', 'Renamed'],
    ['--scope', 'a=do a'],
    ['--open-to', 'metadata'],
  ]
  await Promise.all(changes.map((change) => run(['resources', 'update', NOTES, ...change], env)))
  expect(await json('resources', 'show', NOTES)).toEqual({
    ...RECORD,
    name: 'Renamed',
    scopes: [{ name: 'a', description: 'do a' }],
    open_to: ['metadata'],
  })
})

test('resources delete needs --yes, and removes the resource', async () => {
  await run(CREATE, env)
  expect(await run(['resources', 'delete', NOTES], env)).toMatchObject({ exit: 2, err: expect.stringContaining('--yes') })
  expect(await json('resources', 'delete', NOTES, '--yes')).toEqual({ resource: NOTES })
  expect(await run(['resources', 'delete', NOTES, '--yes'], env)).toMatchObject({ exit: 1 })
  expect((await run(['resources', 'list'], env)).out).toContain('No resource is registered yet')
})

test('A URI can be registered once', async () => {
  await run(CREATE, env)
  expect(await run(CREATE, env)).toMatchObject({ exit: 1, err: expect.stringContaining('is registered already') })
})

test.each<[string, string[]]>([
  ['a relative URI', ['resources', 'create', '/mcp', '--name', 'N', '--scope', 'a=do a']],
  ['a URI with a fragment', ['resources', 'create', `${NOTES}#a`, '--name', 'N', '--scope', 'a=do a']],
  [
    'a URI with a percent sign, which a text to sign cannot contain',
    ['resources', 'create', `${NOTES}%20`, '--name', 'N', '--scope', 'a=do a'],
  ],
  ['no scope', ['resources', 'create', NOTES, '--name', 'N']],
  ['no name', ['resources', 'create', NOTES, '--scope', 'a=do a']],
  ['a name with an invisible character', ['resources', 'create', NOTES, '--name', 'No\u202etes', '--scope', 'a=do a']],
  ['a scope without description', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a']],
  ['a scope with an empty description', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a= ']],
  ['a description with an invisible character', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a=read\u200b notes']],
  ['a description that only looks empty', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a=\u3164']],
  ['a description with a line break', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a=read\nnotes']],
  ['a description of 201 characters', ['resources', 'create', NOTES, '--name', 'N', '--scope', `a=${'x'.repeat(201)}`]],
  ['a scope name with a space', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'a b=do a']],
  ['a scope of the service', ['resources', 'create', NOTES, '--name', 'N', '--scope', 'openid=sign in']],
  ['a scope that is named twice', [...CREATE, '--scope', 'notes.read=read']],
  ['101 scopes', [...CREATE, ...Array.from({ length: 100 }, (_, n) => ['--scope', `s${n}=do ${n}`]).flat()]],
  ['an unknown kind of clients', [...CREATE, '--open-to', 'everyone']],
])('resources create refuses %s, and stores nothing', async (_what, argv) => {
  const { exit, err } = await run(argv, env)
  expect(exit).toBe(2)
  expect(err).not.toBe('')
  expect(await json('resources', 'list')).toEqual([])
})

test('A change that would make the resource invalid is refused, and nothing is changed', async () => {
  await run(CREATE, env)
  const { exit } = await run(['resources', 'update', NOTES, '--name', 'New', '--scope', 'a=\u2066do a'], env)
  expect(exit).toBe(2)
  expect(await run(['resources', 'update', NOTES], env)).toMatchObject({ exit: 2 })
  expect(await run(['resources', 'update', NOTES, '--closed', '--open-to', 'metadata'], env)).toMatchObject({ exit: 2 })
  expect(await json('resources', 'show', NOTES)).toEqual(RECORD)
})

test('A resource that is not registered is reported', async () => {
  for (const argv of [
    ['show', NOTES],
    ['update', NOTES, '--closed'],
    ['delete', NOTES, '--yes'],
  ])
    expect(await run(['resources', ...argv], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('there is no resource '),
    })
})
