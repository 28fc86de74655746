/** `grantor start --file … --run …`: the app of a developer beside Grantor. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sixInARow } from '../../support/free-ports.ts'
import { launchForTest, newFolder, run } from '../run.ts'

const YAML = `
clients:
  - name: My app
    redirect_uris: [http://localhost:3000/callback]
    scopes: [openid, wallet]
`

/** An app that writes what it got, and runs until it is stopped, or for as long as \`code\` says. */
const app = (then: string) =>
  `import { writeFileSync } from 'node:fs'
const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
writeFileSync('got.json', JSON.stringify({ ISSUER, CLIENT_ID, CLIENT_SECRET, pid: process.pid }))
${then}
`

function prepare(yaml: string, then: string) {
  const folder = newFolder()
  writeFileSync(join(folder, 'grantor.yaml'), yaml)
  writeFileSync(join(folder, 'app.mjs'), app(then))
  const got = join(folder, 'got.json')
  const start = async () => {
    const port = await sixInARow()
    const data = join(folder, 'data')
    const command = `cd "${folder}" && "${process.execPath}" app.mjs`
    const argv = ['start', '--ports', String(port), '--data', data, '--file', join(folder, 'grantor.yaml'), '--run', command]
    return launchForTest(argv)
  }
  const read = () => JSON.parse(readFileSync(got, 'utf8')) as Record<string, string> & { pid: number }
  const written = () => expect.poll(() => existsSync(got) && readFileSync(got, 'utf8').endsWith('}')).toBe(true)
  return { folder, start, read, written }
}

/** Also true for a moment after the end: until the system has taken note of it. */
const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('The app gets the credentials of the first client, which the service accepts, and ends with Grantor', async () => {
  const { start, read, written } = prepare(YAML, 'setInterval(() => {}, 1000)')
  const running = await start()
  await running.printed('Ctrl-C stops everything')
  expect(running.out()).toContain('Open http://localhost:3000, and sign in')
  await written()
  const { ISSUER, CLIENT_ID, CLIENT_SECRET, pid } = read()
  const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`
  const answer = await fetch(`${ISSUER}/oauth/introspect`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ token: 'x' }),
  })
  expect([answer.status, await answer.json()]).toEqual([200, { active: false }])
  running.child.kill('SIGTERM')
  expect((await running.ended()).code).toBe(0)
  await expect.poll(() => isRunning(pid)).toBe(false)
})

test('The credentials are the same at the second start, and a changed file changes the client', async () => {
  const { folder, start, read, written } = prepare(YAML, '')
  const first = await start()
  expect((await first.ended()).code).toBe(0)
  await written()
  const before = read()
  writeFileSync(join(folder, 'grantor.yaml'), YAML.replace('3000/callback', '3000/other'))
  const second = await start()
  expect((await second.ended()).code).toBe(0)
  expect(read()).toMatchObject({ CLIENT_ID: before.CLIENT_ID, CLIENT_SECRET: before.CLIENT_SECRET })
  const { out } = await run(['clients', 'show', before.CLIENT_ID ?? '', '--data', join(folder, 'data'), '--json'])
  expect(JSON.parse(out)).toMatchObject({ redirect_uris: ['http://localhost:3000/other'] })
})

test('If the app fails, Grantor stops, names the command and exits with 1', async () => {
  const { start } = prepare(YAML, 'process.exit(3)')
  const running = await start()
  expect((await running.ended()).code).toBe(1)
  expect(running.err()).toMatch(/^The command of --run ended with code 3: /m)
})

test('An app that ignores SIGTERM is killed, so that Grantor ends in time', async () => {
  const { start, read, written } = prepare(YAML, `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`)
  const running = await start()
  await written()
  await pause(100)
  running.child.kill('SIGINT')
  expect((await running.ended()).code).toBe(0)
  await expect.poll(() => isRunning(read().pid)).toBe(false)
})

test.for([
  ['--run without --file', ['--run', 'true'], /--run needs --file/],
  ['a missing file', ['--file', 'absent.yaml'], /absent\.yaml/],
] as const)('%s is refused in a sentence, and nothing is started', async ([, options, words]) => {
  const data = join(newFolder(), 'data')
  const { exit, err } = await run(['start', '--data', data, ...options])
  expect(exit).toBeGreaterThan(0)
  expect(err).toMatch(words)
  expect(existsSync(data)).toBe(false)
})

test.for([
  ['an unknown member', YAML.replace('scopes', 'scope_names'), /scope_names/],
  ['no clients', 'resources: []\n', /has no clients/],
] as const)('A file with %s is refused in a sentence before anything is started', async ([, yaml, words]) => {
  const { folder } = prepare(yaml, '')
  const { exit, err } = await run(['start', '--data', join(folder, 'data'), '--file', join(folder, 'grantor.yaml')])
  expect(exit).toBeGreaterThan(0)
  expect(err).toMatch(words)
})
