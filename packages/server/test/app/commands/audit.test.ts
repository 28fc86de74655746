import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { testWallet } from '../../support/wallet.ts'
import { launch, newDatabase, newFolder, run } from '../run.ts'

const SECRET = 'test-secret-that-wraps-the-keys-0123456789'
const AT = 1_800_000_000
const ME = `cli:${userInfo().username}`
const RESOURCE = 'https://mcp.example.com/mcp'
const OWNER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

let env: Record<string, string>
let path: string
beforeEach(async () => {
  const database = await newDatabase()
  path = database.path
  env = { ...database.env, GRANTOR_SECRET: SECRET }
})

async function lines(...options: string[]): Promise<Record<string, unknown>[]> {
  const { exit, out, err } = await run(['audit', 'list', '--json', ...options], env, AT + 100)
  expect([exit, err]).toEqual([0, ''])
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

async function newClient(at = AT): Promise<string> {
  const argv = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.example.com/cb', '--json']
  return (JSON.parse((await run(argv, env, at)).out) as { client_id: string }).client_id
}

test('Every command that changes something writes a line with the name of the user who ran it, and a command that changes nothing writes none', async () => {
  const id = await newClient()
  const wallet = testWallet(0).address
  for (const argv of [
    ['clients', 'update', id, '--name', 'New', '--consent', 'session'],
    ['clients', 'update', id, '--name', 'New'],
    ['clients', 'rotate-secret', id],
    ['clients', 'disable', id],
    ['clients', 'disable', id],
    ['clients', 'enable', id],
    ['clients', 'list'],
    ['resources', 'create', RESOURCE, '--name', 'Notes', '--scope', 'notes.read=read'],
    ['resources', 'update', RESOURCE, '--closed', '--name', 'Notes'],
    ['resources', 'update', RESOURCE, '--closed'],
    ['resources', 'delete', RESOURCE, '--yes'],
    ['grants', 'revoke', '--wallet', wallet],
    ['operators', 'add', OWNER, '--role', 'owner'],
    ['operators', 'add', OWNER, '--role', 'owner'],
    ['keys', 'rotate'],
    ['clients', 'delete', id, '--yes'],
  ])
    expect({ argv, ...(await run(argv, env, AT)) }).toMatchObject({ exit: 0 })
  await run(['clients', 'delete', id, '--yes'], env, AT)
  const all = (await lines()).toReversed()
  expect(all.map(({ event }) => event)).toEqual([
    'client_created',
    'client_changed',
    'client_secret_rotated',
    'client_disabled',
    'client_enabled',
    'resource_created',
    'resource_changed',
    'resource_deleted',
    'grants_ended',
    'operator_added',
    'key_made',
    'client_deleted',
  ])
  for (const line of all) expect(line).toMatchObject({ operator: ME, at: AT, result: 'done' })
  expect(all[1]).toMatchObject({ client_id: id, details: { changed: 'name' } })
  expect(all[6]).toMatchObject({ resource: RESOURCE, details: { changed: 'open_to' } })
  expect(all[8]).toMatchObject({ wallet: '0xf39F…2266', reason: 'operator', details: { grants: 0 } })
  expect(JSON.stringify(all)).not.toContain(wallet)
  expect(await lines('--wallet', wallet)).toHaveLength(1)
  expect(await lines('--operator', ME, '--client', id, '--limit', '2')).toHaveLength(2)
})

test('audit list finds lines by event and time, and refuses an invalid time with examples of valid ones', async () => {
  const first = await newClient(AT - 90_000)
  const second = await newClient(AT)
  expect((await lines('--since', '24h')).map((line) => line.client_id)).toEqual([second])
  expect(
    (await lines('--until', new Date((AT - 1) * 1000).toISOString().slice(0, 19).concat('Z'))).map((line) => line.client_id),
  ).toEqual([first])
  expect(await lines('--event', 'grant_ended')).toEqual([])
  expect((await run(['audit', 'list', '--grant', 'g'], env)).out).toBe('No line matches.\n')
  expect((await run(['audit', 'list'], env)).out).toMatch(/^LINE +TIME +EVENT .*\n2 +2027-01-15T08:00:00Z +client_created /)
  for (const [option, value] of [
    ['--since', 'yesterday'],
    ['--until', '2027-13-01'],
    ['--limit', '0'],
  ] as const)
    expect(await run(['audit', 'list', option, value], env)).toMatchObject({ exit: 2, err: expect.stringContaining(option) })
})

test('audit verify --file checks an export against the chain, the signed heads and a noted line, and names each change of the export', async () => {
  await newClient()
  await newClient()
  await newClient()
  const { out } = await run(['audit', 'export'], env)
  const file = join(newFolder(), 'audit.ndjson')
  const verify = async (text: string, ...more: string[]) => {
    writeFileSync(file, text)
    return run(['audit', 'verify', '--file', file, ...more])
  }
  const [first = '', second = '', third = ''] = out.trimEnd().split('\n')
  const { hash } = JSON.parse(third) as { hash: string }
  expect(await verify(out, '--head', `3:${hash}`)).toEqual({
    exit: 0,
    err: '',
    out: `Checked 3 lines, from 1 to 3.\nNo signed head was checked.\nThe chain is unbroken. Its last line is 3:${hash}\n`,
  })
  expect((await verify(`${second}\n${third}\n`)).exit, 'a part').toBe(0)
  for (const [text, words] of [
    [`${first}\n${third}\n`, 'line 2 was removed'],
    [`${first}\n${second.replace('done', 'gone')}\n${third}\n`, 'line 2 was changed'],
    [`${second}\n${first}\n${third}\n`, 'line 3 was inserted'],
    [`${first}\n${second}\n`, 'line 3 and the lines after it were removed'],
    [`${first}\n{}\n`, 'line 2 of'],
  ] as const)
    expect(await verify(text, '--head', `3:${hash}`)).toMatchObject({ exit: 1, err: expect.stringContaining(words) })
  expect((await run(['audit', 'export', '--after', '2'], env)).out).toBe(`${third}\n`)
  expect(readFileSync(file, 'utf8')).not.toContain(SECRET)
  for (const argv of [
    ['--head', '3'],
    ['--jwks', 'x'],
    ['--file', join(newFolder(), 'missing')],
  ])
    expect((await run(['audit', 'verify', ...argv], env)).exit).toBeGreaterThan(0)
})

test('audit verify checks the trail in the database with its search columns, and a broken trail gives the exit code 1 and the line', async () => {
  await newClient()
  await newClient()
  const record = async () => JSON.parse((await run(['audit', 'verify', '--json'], env)).out) as Record<string, unknown>
  expect(await record()).toMatchObject({ unbroken: true, fault: null, lines: 2, first: 1, signed_through: null })
  const database = new DatabaseSync(path)
  database.exec(`UPDATE audit_lines SET client_id = X'00' WHERE seq = 2`)
  expect(await record()).toMatchObject({ unbroken: false, fault: { seq: 2, kind: 'changed' } })
  expect(await run(['audit', 'verify'], env)).toMatchObject({ exit: 1, err: expect.stringContaining('line 2 was changed') })
  database.exec('DELETE FROM audit_lines')
  expect(await record()).toMatchObject({ unbroken: false, fault: { seq: 1, kind: 'truncated' } })
  database.close()
})

test('With --follow, an export prints each new line within seconds, and ends when it is interrupted', async () => {
  await newClient()
  const following = launch(['audit', 'export', '--follow'], env)
  await following.printed('"seq":1,')
  const second = await newClient()
  await following.printed(second)
  following.child.kill('SIGINT')
  await following.ended()
  expect(following.out().trimEnd().split('\n')).toHaveLength(2)
})
