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
    /^RESOURCE +NAME +OPEN TO +SCOPES +CREATED +WARNINGS\nhttps:\/\/mcp.example.com\/mcp +Notes +registered +notes.read +\S+Z +-\n$/,
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

test('resources delete --json prints the URI', async () => {
  await run(CREATE, env)
  expect(await json('resources', 'delete', NOTES, '--yes')).toEqual({ resource: NOTES })
})

test('A description may contain equals signs', async () => {
  const made = await json(...CREATE, '--scope', 'notes.sum=compute 1 + 1 = 2')
  expect(made).toMatchObject({ scopes: [{}, { name: 'notes.sum', description: 'compute 1 + 1 = 2' }] })
})

test('A limit is given after the description, in the words that the wallet signs, and is printed in the same words', async () => {
  const words = 'enhance an item | at most 20 times a week, 50.00 NESO each, 500.00 a week'
  const limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 }
  const scopes = [...RECORD.scopes, { name: 'enhancement', description: 'enhance an item', limit }]
  expect(await json(...CREATE, '--scope', `enhancement=${words}`)).toEqual({ ...RECORD, scopes })
  expect((await run(['resources', 'show', NOTES], env)).out).toContain(`enhancement: ${words}`)
  const { exit, err } = await run(['resources', 'update', NOTES, '--scope', 'a=do a | at most 20 times a month'], env)
  expect([exit, err]).toEqual([2, expect.stringContaining('A limit is written as: | at most 20 times a week')])
  expect((await run(['resources', 'create', '--help'], env)).out.replace(/\s+/g, ' ')).toContain('the wallet signs the limit')
})

test('The options of resources update replace the lists, and --closed empties the kinds of clients', async () => {
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

test.each<[string, string]>([
  ['without description', 'a'],
  ['of the service', 'openid=sign in'],
])('resources create refuses a scope %s, and stores nothing', async (_what, scope) => {
  expect(await run([...CREATE, '--scope', scope], env)).toMatchObject({ exit: 2, err: expect.stringMatching(/scope/i) })
  expect(await json('resources', 'list')).toEqual([])
})
