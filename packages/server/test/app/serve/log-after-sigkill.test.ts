/** The log file of a server process that is killed directly after a response. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Tokens, tokensOf } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { type Grantor, TEST_LOGIN_SECRET, TEST_SECRET, type TestClient } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { BIN, newFolder, run } from '../run.ts'

type Line = Record<string, unknown> & { msg: string; pid?: number; workers?: number[] }

let env: Record<string, string>
let walk: Walk
let client: TestClient
let log: string
let processes: number[] = []
let ended: Promise<unknown>

beforeEach(async () => {
  const [auth, login] = (await freePorts(2)) as [number, number]
  const folder = newFolder()
  log = join(folder, 'service.log')
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(folder, 'grantor.sqlite')}`,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
  }
  await run(['migrate'], env)
  const redirectUris = ['https://app.example.net/callback']
  const created = await run(['clients', 'create', '--name', 'My app', '--redirect-uri', ...redirectUris, '--json'], env)
  const { client_id: id, client_secret: secret } = JSON.parse(created.out) as { client_id: string; client_secret: string }
  client = { id, secret, redirectUris } as TestClient
  walk = new Walk({ authUrl: env.GRANTOR_AUTH_URL } as Grantor)
})
afterEach(killAll)

/** Starts the service with its standard output in a file, as a service manager may do. */
async function serve(...options: string[]): Promise<void> {
  const file = openSync(log, 'a')
  const child = spawn(process.execPath, [BIN, 'serve', ...options], {
    env: { ...OWN_ENVIRONMENT, ...env },
    stdio: ['ignore', file, 'inherit'],
  })
  closeSync(file)
  ended = once(child, 'exit')
  processes = [child.pid ?? 0]
  const ready = () => linesOf('msg', 'auth service is ready')
  await expect.poll(ready, { interval: 20 }).toHaveLength(1)
  processes.unshift(...(ready()[0]?.workers ?? []))
}

/** Kills the workers first: the primary must not stop them in an orderly way. */
async function killAll(): Promise<void> {
  for (const pid of processes.splice(0)) process.kill(pid, 'SIGKILL')
  await ended
}

function linesOf(member: string, value: string): Line[] {
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line[member] === value)
}

async function newTokens(): Promise<Tokens & { code: string }> {
  const { code } = await walk.signIn(requestOf(client))
  return { ...tokensOf(await walk.exchange(client, code)), code }
}

test.each([
  {
    what: 'a revoked refresh token',
    event: 'grant_ended',
    reason: 'revoked',
    end: (tokens: Tokens) => walk.revoke(client, tokens.refresh_token),
  },
  {
    what: 'a code that is presented twice',
    event: 'grant_ended',
    reason: 'code_replayed',
    end: ({ code }: { code: string }) => walk.exchange(client, code),
  },
  {
    what: 'a revoked access token',
    event: 'access_token_revoked',
    reason: 'revoked',
    end: (tokens: Tokens) => walk.revoke(client, tokens.access_token),
  },
])(
  'The audit line of $what is in the log file when the response arrives, even if the server is killed at once',
  async ({ event, reason, end }) => {
    await serve()
    const tokens = await newTokens()
    expect((await end(tokens)).status).toBeLessThan(500)
    await killAll()
    expect(linesOf('event', event)).toEqual([expect.objectContaining({ reason, client_id: client.id })])
  },
)

test.each([
  ['/account/apps/end', 'app_ended'],
  ['/account/sessions/end-others', 'other_sessions_ended'],
  ['/account/sign-out', 'session_ended'],
])(
  "The audit line of the account page's %s is in the log file when the response arrives, even if the server is killed at once",
  async (path, event) => {
    await serve()
    await newTokens()
    expect((await walk.postForm(path, { client_id: client.id })).status).toBeLessThan(400)
    await killAll()
    expect(linesOf('event', event)).toHaveLength(1)
  },
)

test('The audit line of a revocation is in the log file when a worker process responds, even if all processes are killed at once', async () => {
  await serve('--workers', '2')
  const tokens = await newTokens()
  await walk.revoke(client, tokens.refresh_token)
  await killAll()
  expect(linesOf('event', 'grant_ended')).toHaveLength(1)
})

test('Each signing, sealing and MAC key that the service makes has an audit line before the service is ready', async () => {
  await serve()
  await killAll()
  const made = linesOf('event', 'key_made')
  expect(new Set(made.map(({ reason }) => reason))).toEqual(
    new Set(['mac', 'seal', 'sign', 'sign_eddsa', 'sign_es256', 'sign_rs256']),
  )
  expect(made).toHaveLength(6)
  for (const line of made) expect(line.key_id).toMatch(/^[0-9a-f]{10}$/)
})
