/** Servers on one PostgreSQL database use the time of the database, even if their own clocks are wrong or change. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import type { Grantor, TestClient } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { newFolder, run } from '../run.ts'

const SERVE = fileURLToPath(new URL('../../support/serve.ts', import.meta.url))
const TEN_MINUTES = 600
// A busy machine needs less time between a code and its exchange.
const CODE_LIFETIME = 10

let database: PostgresDatabase
let ports: [number, number]
let client: TestClient
const offsets: string[] = []
const running: ChildProcess[] = []

/** A browser that uses the node of this number, with no cookies or with those of `like`. */
function at(node: 0 | 1, like?: Walk): Walk {
  const walk = new Walk({ authUrl: `http://localhost:${ports[node]}` } as Grantor)
  for (const [name, value] of like?.cookies ?? []) walk.cookies.set(name, value)
  return walk
}

beforeAll(async () => {
  database = await createPostgresDatabase()
  ports = (await freePorts(2)) as [number, number]
  const env = {
    GRANTOR_DATABASE_URL: database.url,
    GRANTOR_AUTH_URL: 'http://localhost:4000',
    GRANTOR_LOGIN_URL: 'http://localhost:4001',
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'test-login-secret-between-the-servers-01234',
    GRANTOR_CODE_LIFETIME: String(CODE_LIFETIME),
    GRANTOR_SESSION_IDLE_LIFETIME: '300',
    GRANTOR_ACCESS_TOKEN_LIFETIME: '300',
  }
  await run(['migrate'], env)
  const create = ['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://app.example.net/callback', '--json']
  const made = JSON.parse((await run(create, env)).out) as { client_id: string; client_secret: string }
  const redirectUris = ['https://app.example.net/callback']
  client = { id: made.client_id, secret: made.client_secret, redirectUris } as TestClient
  const folder = newFolder()
  for (const [index, port] of ports.entries()) {
    const file = join(folder, `offset-${index}`)
    offsets.push(file)
    // The clock of the first node is right. The clock of the second node is ten minutes ahead.
    writeFileSync(file, String(index * TEN_MINUTES))
    const child = spawn(process.execPath, ['--conditions=grantor-source', SERVE], {
      env: { ...OWN_ENVIRONMENT, ...env, GRANTOR_LISTEN: `127.0.0.1:${port}`, TEST_CLOCK_OFFSET_FILE: file },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.push(child)
    await new Promise<void>((resolve) => {
      child.stdout?.on('data', (text: Buffer) => text.toString().includes('auth service is ready') && resolve())
    })
  }
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await database.drop()
})

/** Expects a time of the database between `then` and now. The database is on this machine. Its times are whole seconds, so two may be lost. */
function expectBetween(then: number, at: number): void {
  expect(at).toBeGreaterThan(then - 2)
  expect(at).toBeLessThan(Date.now() / 1000 + 2)
}

test('A code, a session and an access token of one server are valid on another server whose clock is ten minutes ahead, and the reverse', async () => {
  const [right, ahead] = [at(0), at(1)]
  const began = Date.now() / 1000
  const first = await right.signIn(requestOf(client))
  const there = tokensOf(await ahead.exchange(client, first.code))
  const second = await ahead.signIn(requestOf(client))
  const here = tokensOf(await right.exchange(client, second.code))
  const [one, other] = [claimsOf(there.access_token), claimsOf(here.access_token)]
  for (const { iat } of [one, other]) expectBetween(began, Number(iat))
  expect(one.exp - Number(one.iat)).toBe(300)
  expect((await right.introspect(client, there.access_token)).json().active).toBe(true)
  expect((await ahead.introspect(client, here.access_token)).json().active).toBe(true)
  expect((await at(1, right).authorize(requestOf(client))).location, 'the session').toContain('?code=')
  expect((await at(0, ahead).authorize(requestOf(client))).location, 'the session').toContain('?code=')
})

test('A code has expired on both of two servers whose clocks differ by ten minutes', async () => {
  const [right, ahead] = [at(0), at(1)]
  const codes = [await right.signIn(requestOf(client)), await ahead.signIn(requestOf(client))]
  await new Promise((resolve) => setTimeout(resolve, (CODE_LIFETIME + 1) * 1000))
  expect((await ahead.exchange(client, codes[0]?.code ?? '')).status).toBe(400)
  expect((await right.exchange(client, codes[1]?.code ?? '')).status).toBe(400)
})

test('A server whose clock is changed while it runs still exchanges codes, and issues access tokens with the right time', async () => {
  const [right, ahead] = [at(0), at(1)]
  const { code } = await right.signIn(requestOf(client))
  writeFileSync(offsets[1] ?? '', String(-6 * TEN_MINUTES))
  const began = Date.now() / 1000
  const tokens = tokensOf(await ahead.exchange(client, code))
  expect((await right.introspect(client, tokens.access_token)).json().active).toBe(true)
  expectBetween(began, Number(claimsOf(tokens.access_token).iat))
  writeFileSync(offsets[1] ?? '', String(TEN_MINUTES))
})
