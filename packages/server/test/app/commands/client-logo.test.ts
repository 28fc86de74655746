/** The logos of clients on the command line and in files. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CLIENT_LOGO, readLogo } from '../../../src/config/look/logo.ts'
import { pngLogo } from '../../support/pictures.ts'
import { newDatabase, newFolder, run } from '../run.ts'

let env: Record<string, string>
let folder: string
beforeEach(async () => {
  ;({ env } = await newDatabase())
  folder = newFolder()
  writeFileSync(join(folder, 'logo.png'), pngLogo())
  writeFileSync(join(folder, 'text.png'), 'not a picture')
})

const read = readLogo(pngLogo(), CLIENT_LOGO)
if ('fault' in read) throw new Error(read.fault)
const { hash } = read.logo

const CREATE = ['clients', 'create', '--name', 'Aurora', '--redirect-uri', 'https://app.example.com/callback', '--json']

async function logoOf(id: string): Promise<unknown> {
  return (JSON.parse((await run(['clients', 'show', id, '--json'], env)).out) as { logo: unknown }).logo
}

async function create(): Promise<string> {
  return (JSON.parse((await run(CREATE, env)).out) as { client_id: string }).client_id
}

const applied = (clients: unknown, ...options: string[]) => {
  writeFileSync(join(folder, 'grantor.yaml'), JSON.stringify({ clients }))
  return run(['apply', join(folder, 'grantor.yaml'), '--yes', ...options], env)
}

test('clients set-logo and remove-logo change the logo, and show prints its hash', async () => {
  const id = await create()
  expect(await logoOf(id)).toBeNull()
  const { exit, out } = await run(['clients', 'set-logo', id, '--logo', join(folder, 'logo.png')], env)
  expect([exit, out]).toEqual([0, expect.stringContaining(hash)])
  expect(await logoOf(id)).toBe(hash)
  expect((await run(['clients', 'remove-logo', id], env)).exit).toBe(0)
  expect(await logoOf(id)).toBeNull()
})

test.each([
  ['text.png', 'is not a PNG'],
  ['away.png', 'cannot be read'],
  ['.', 'must be a file'],
])('A file that is no logo is refused, and nothing changes: %s', async (name, fault) => {
  const id = await create()
  const { exit, err } = await run(['clients', 'set-logo', id, '--logo', join(folder, name)], env)
  expect([exit, err]).toEqual([2, expect.stringContaining(fault)])
  expect(await logoOf(id)).toBeNull()
})

test('apply reads a logo from a file beside its own, changes nothing the second time, and removes a logo that is not named', async () => {
  mkdirSync(join(folder, 'logos'))
  writeFileSync(join(folder, 'logos', 'aurora.png'), pngLogo())
  const client = { name: 'Aurora', redirect_uris: ['https://app.example.com/callback'] }
  expect((await applied([{ ...client, logo: 'logos/aurora.png' }])).exit).toBe(0)
  const [{ client_id: id }] = JSON.parse((await run(['clients', 'list', '--json'], env)).out) as [{ client_id: string }]
  expect(await logoOf(id)).toBe(hash)
  expect((await applied([{ ...client, logo: 'logos/aurora.png' }])).out).toContain('Nothing')
  writeFileSync(join(folder, 'logos', 'aurora.png'), pngLogo({ width: 32, height: 32 }))
  await applied([{ ...client, logo: 'logos/aurora.png' }])
  expect(await logoOf(id)).not.toBe(hash)
  await applied([client])
  expect(await logoOf(id)).toBeNull()
})

test('The export has the logo, and the applied export makes the same logo in another store', async () => {
  const id = await create()
  await run(['clients', 'set-logo', id, '--logo', join(folder, 'logo.png')], env)
  const { out } = await run(['export'], env)
  const { clients } = parse(out) as { clients: { logo: string }[] }
  expect(clients[0]?.logo).toMatch(/^data:image\/png;base64,/)
  expect((await applied(clients)).out).toContain('Nothing')
  ;({ env } = await newDatabase())
  await applied(clients)
  expect(await logoOf(id)).toBe(hash)
  expect((await run(['export'], env)).out).toBe(out)
})

test.each([
  ['/etc/hostname', 'must be a file in the folder of this file'],
  ['../logo.png', 'must be a file in the folder of this file'],
  ['a/../../logo.png', 'must be a file in the folder of this file'],
  ['https://aurora.example/logo.png', 'cannot be read'],
  ['text.png', 'is not a PNG'],
  ['data:image/png;base64,AAAA', 'is not a PNG'],
])('A logo of a file that cannot be used is a fault with its line, and nothing is applied: %s', async (logo, fault) => {
  const { exit, err } = await applied([{ name: 'Aurora', redirect_uris: ['https://app.example.com/callback'], logo }])
  expect([exit, err]).toEqual([2, expect.stringMatching(/line 1: clients\[0\]\.logo /)])
  expect(err).toContain(fault)
  expect((await run(['clients', 'list', '--json'], env)).out).toBe('[]\n')
})

test('The audit trail of a command has the hash of the logo', async () => {
  const id = await create()
  await run(['clients', 'set-logo', id, '--logo', join(folder, 'logo.png')], env)
  const { out } = await run(['audit', 'list', '--event', 'client_changed', '--json'], env)
  expect(out).toContain(`"logo":"${hash}"`)
  expect(out).not.toContain(readFileSync(join(folder, 'logo.png')).toString('base64').slice(60, 100))
})
