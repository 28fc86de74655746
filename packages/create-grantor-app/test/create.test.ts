/** `npm create grantor-app`: what the command refuses, and that nothing half done is left behind. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder } from '../../server/test/app/run.ts'
import { OWN_ENVIRONMENT } from '../../server/test/support/own-environment.ts'
import { templateNames } from '../src/templates.ts'

const COMMAND = join(import.meta.dirname, '../src/index.ts')

function create(argv: readonly string[], folder = newFolder(), env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...argv], {
    cwd: folder,
    env: { ...OWN_ENVIRONMENT, ...env },
    encoding: 'utf8',
  })
  return { folder, status, stdout, stderr }
}

test.for([
  ['an unknown template', ['my-app', '--template', 'rails'], 2, /^There is no template "rails": choose one of next, hono/],
  ['no template without a terminal', ['my-app'], 2, /^--template is missing/],
  ['two folders', ['one', 'two', '--template', 'hono'], 2, /^One folder/],
  ['a port that is none', ['my-app', '--template', 'hono', '--port', '99999'], 2, /^--port must be a port/],
  ['an unknown option', ['my-app', '--tempalte', 'hono'], 2, /--tempalte/],
  ['a name that npm refuses', ['My App!', '--template', 'hono'], 1, /^The name of the folder is also the name of the app/],
  ['a port of Grantor for the app', ['my-app', '--template', 'hono', '--port', '4003', '--grantor-port', '4000'], 1, /six ports/],
  ['a folder without packages', ['my-app', '--template', 'hono', '--packages', '.'], 1, /has no file such as grantor-/],
] as const)('%s is refused in a sentence, and nothing is made', ([, argv, exit, words]) => {
  const { folder, status, stderr } = create([...argv, '--no-install'])
  expect([status, stderr]).toEqual([exit, expect.stringMatching(words)])
  expect(readdirSync(folder)).toEqual([])
})

test('A folder that is not empty, and a file in its place, are refused and stay as they are', () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'my-app'))
  writeFileSync(join(folder, 'my-app/notes.txt'), 'mine')
  writeFileSync(join(folder, 'file'), 'mine')
  const full = create(['my-app', '--template', 'hono', '--no-install'], folder)
  expect([full.status, full.stderr]).toEqual([
    1,
    'my-app is not empty: it has notes.txt. Choose another name. Nothing was changed.\n',
  ])
  expect(create(['file', '--template', 'hono', '--no-install'], folder)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('is a file'),
  })
  expect(readdirSync(folder).toSorted()).toEqual(['file', 'my-app'])
  expect(readdirSync(join(folder, 'my-app'))).toEqual(['notes.txt'])
})

test('If the packages cannot be installed, the command says so and leaves nothing behind', () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'here'))
  // A registry that does not answer.
  const env = {
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
    npm_config_cache: join(folder, 'cache'),
  }
  for (const name of ['there', 'here']) {
    const { status, stderr } = create([name, '--template', 'hono'], folder, env)
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/"npm install .*" failed[\s\S]*Nothing was left in[\s\S]*--packages DIR/),
    ])
  }
  expect(existsSync(join(folder, 'there'))).toBe(false)
  expect(readdirSync(join(folder, 'here'))).toEqual([])
})

test.for(templateNames)(
  'The template %s has the name, the ports and the version of the new app everywhere, and its own secret',
  (template) => {
    const { folder, status, stdout } = create([
      'notes',
      '--template',
      template,
      '--port',
      '3456',
      '--grantor-port',
      '4567',
      '--no-install',
    ])
    expect(status).toBe(0)
    expect(stdout).toContain('cd notes\n')
    expect(stdout).toContain('http://localhost:3456')
    const app = join(folder, 'notes')
    // as any folder that the user makes
    expect(statSync(app).mode).toBe(statSync(mkdirSync(join(folder, 'other'), { recursive: true }) ?? '').mode)
    const files = readdirSync(app, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('\n')
    expect(texts).not.toMatch(/my-grantor-app|0\.0\.0-template|\b[34]000\b/)
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))).toMatchObject({
      name: 'notes',
      devDependencies: { grantor: version },
    })
    expect(readFileSync(join(app, '.gitignore'), 'utf8')).toContain('.env\n')
    if (template !== 'hono') {
      expect(readFileSync(join(app, '.env'), 'utf8')).toMatch(/^(SESSION|NEXTAUTH)_SECRET=[\w-]{43}$/m)
      expect(statSync(join(app, '.env')).mode & 0o777).toBe(0o600)
    }
  },
)

test('In an empty folder that exists, nothing outside of the folder is written: it can be a mounted volume', () => {
  const parent = newFolder()
  mkdirSync(join(parent, 'here'))
  const changedAt = () => statSync(parent, { bigint: true }).mtimeNs
  const before = changedAt()
  expect(create(['.', '--template', 'hono', '--no-install'], join(parent, 'here')).status).toBe(0)
  expect(changedAt()).toBe(before)
  expect(readdirSync(join(parent, 'here'))).not.toContainEqual(expect.stringMatching(/^\.create-/))
})

test('The name of the app stays as it is, also if it contains the number of a port', () => {
  const argv = ['web-3000', '--template', 'express', '--port', '3456', '--grantor-port', '4567', '--no-install']
  const { folder } = create(argv)
  expect(JSON.parse(readFileSync(join(folder, 'web-3000/package.json'), 'utf8'))).toMatchObject({ name: 'web-3000' })
})

test('A port that is in use is not chosen', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve()).listen(3000, '127.0.0.1', resolve)
  })
  const { folder } = create(['my-app', '--template', 'express', '--no-install'])
  const { clients } = JSON.parse(readFileSync(join(folder, 'my-app/grantor.json'), 'utf8')) as {
    clients: [{ redirect_uris: [string] }]
  }
  expect(clients[0].redirect_uris[0]).toMatch(/^http:\/\/localhost:30(?!00)\d\d\/callback$/)
  server.close()
})
