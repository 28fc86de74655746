/** The settings, the commands and the refusals of docs/operating/branding.md. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readSettings } from '../../src/config/settings.ts'
import { newDatabase, newFolder, run } from '../app/run.ts'
import { adminCaller } from '../support/admin.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { pngLogo } from '../support/pictures.ts'
import { startGrantor } from '../support/start.ts'

const page = readFileSync(new URL('../../../../docs/operating/branding.md', import.meta.url), 'utf8')
const [lines = '', init = '', start = '', refusals = '', setLogo = '', removeLogo = '', call = '', file = ''] = Array.from(
  page.matchAll(/```(?:sh|yaml)?\n([\s\S]*?)```/g),
  ([, block = '']) => block,
)

/** The words of a line of the shell, without quotes. */
const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(/(?:'[^']*'|[^\s'])+/g), ([word]) => word.replaceAll("'", ''))
const assignments = (text: string): Record<string, string> =>
  Object.fromEntries(
    wordsOf(text).flatMap((word) => (word.startsWith('GRANTOR_') ? [word.split(/=(.*)/s, 2) as [string, string]] : [])),
  )

const REQUIRED = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
}

function faultsOf(more: Record<string, string>): string[] {
  const reading = readSettings('login-server', { ...REQUIRED, ...more })
  return reading.kind === 'faults' ? reading.faults : []
}

test('The settings of the page for operators are accepted', () => {
  const logo = join(newFolder(), 'logo.png')
  writeFileSync(logo, pngLogo())
  const settings = assignments(lines)
  expect(Object.keys(settings)).toHaveLength(5)
  expect(faultsOf({ ...settings, GRANTOR_LOGO_FILE: logo })).toEqual([])
  expect(Object.keys(assignments(start))).toHaveLength(2)
  expect(faultsOf(assignments(start))).toEqual([])
})

test('The command of the page that writes the settings of a new installation works', async () => {
  const [, ...given] = wordsOf(init)
  const folder = join(newFolder(), 'aurora')
  const { exit } = await run(given.map((word) => (word === './aurora' ? folder : word)))
  expect(exit).toBe(0)
  expect(readFileSync(join(folder, 'env'), 'utf8')).toContain(
    "GRANTOR_PLATFORM_NAME='Aurora Pay'\nGRANTOR_ACCENT_COLOR='#0b2a6f'\n",
  )
})

test('The refusals of the page are those of the servers, word for word', () => {
  const text = join(newFolder(), 'logo.txt')
  writeFileSync(text, 'not a picture')
  expect(refusals.trim().split('\n')).toEqual(faultsOf({ GRANTOR_ACCENT_COLOR: '#ffd400', GRANTOR_LOGO_FILE: text }))
})

test('The commands of the page set and remove the logo of an app, and its file for apply makes the same logo', async () => {
  const { env } = await newDatabase()
  const folder = newFolder()
  mkdirSync(join(folder, 'logos'))
  for (const name of ['aurora-notes.png', 'logos/aurora-notes.png']) writeFileSync(join(folder, name), pngLogo())
  writeFileSync(join(folder, 'grantor.yaml'), file)
  expect((await run(['apply', join(folder, 'grantor.yaml'), '--yes'], env)).exit).toBe(0)
  const [{ client_id: id, logo }] = JSON.parse((await run(['clients', 'list', '--json'], env)).out) as [Record<string, string>]
  const pasted = (command: string) =>
    run(
      wordsOf(command)
        .slice(1)
        .map((word) => (/^[0-9a-f]{8}-/.test(word) ? String(id) : word.endsWith('.png') ? join(folder, word) : word)),
      env,
    )
  expect((await pasted(removeLogo)).exit).toBe(0)
  expect((await pasted(setLogo)).out).toContain(logo)
})

test('The request of the page to the admin API sets the logo of an app', async () => {
  const grantor = await startGrantor({ admin: true })
  const { token } = await adminCaller(grantor, 'owner')
  const { id } = await grantor.createClient()
  const folder = newFolder()
  writeFileSync(join(folder, 'aurora-notes.png'), pngLogo())
  const command = call.replace('https://admin.example.com', grantor.adminUrl).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, id)
  await promisify(execFile)('sh', ['-c', command], { cwd: folder, env: { ...OWN_ENVIRONMENT, TOKEN: token } })
  expect((await grantor.store.clients.readClient(id))?.logo).not.toBeNull()
  await grantor.close()
})
