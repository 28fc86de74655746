/** An update without an outage: servers of two versions on one database, under load, on both engines. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { tokensOf } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { createPostgresDatabase } from '../../support/postgres.ts'
import type { Grantor, TestClient } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { newFolder, run } from '../run.ts'

const PRESENT = fileURLToPath(new URL('../../../bin/grantor.js', import.meta.url))
const NEXT = fileURLToPath(new URL('./next-version.ts', import.meta.url))

const running = new Set<ReturnType<typeof launch>>()
afterEach(() => {
  for (const { child } of running) child.kill('SIGKILL')
  running.clear()
})

function launch(program: string, argv: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [program, ...argv], { env: { ...OWN_ENVIRONMENT, ...env }, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  const over = once(child, 'close') as Promise<[number | null]>
  const one = { child, output: () => output, exit: async () => (await over)[0] }
  running.add(one)
  return one
}

test.each(['SQLite', 'PostgreSQL'])(
  'All requests succeed while the next version migrates the database and its servers replace the old ones one by one (%s)',
  async (engine) => {
    const database = engine === 'SQLite' ? null : await createPostgresDatabase()
    const ports = (await freePorts(3)) as [number, number, number]
    const env = {
      GRANTOR_DATABASE_URL: database?.url ?? `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
      GRANTOR_AUTH_URL: 'http://localhost:4000',
      GRANTOR_LOGIN_URL: 'http://localhost:4001',
      GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
      GRANTOR_LOGIN_SECRET: 'test-login-secret-between-the-servers-01234',
      GRANTOR_DRAIN_SECONDS: '0',
      // One session gets codes as fast as it can.
      GRANTOR_RATE_LIMIT: 'off',
    }
    const serve = async (program: string, port: number) => {
      const one = launch(program, ['serve'], { ...env, GRANTOR_LISTEN: `127.0.0.1:${port}` })
      while (!one.output().includes('auth service is ready')) {
        if (one.child.exitCode !== null) throw new Error(one.output())
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return one
    }
    const at = (port: number, like?: Walk): Walk => {
      const walk = new Walk({ authUrl: `http://localhost:${port}` } as Grantor)
      for (const [name, value] of like?.cookies ?? []) walk.cookies.set(name, value)
      return walk
    }

    await run(['migrate'], env)
    const create = ['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://app.example.net/callback', '--json']
    const client = JSON.parse((await run(create, env)).out) as { client_id: string; client_secret: string }
    const redirectUris = ['https://app.example.net/callback']
    const caller = { id: client.client_id, secret: client.client_secret, redirectUris } as TestClient
    const request = requestOf(caller)
    const [remaining, replaced] = [await serve(PRESENT, ports[0]), await serve(PRESENT, ports[1])]
    const signedIn = at(ports[0])
    let { code } = await signedIn.signIn(request)

    // Constant load on each server in turn: exchange of a code, refresh, introspection, revocation, authorization.
    let open = [at(ports[0], signedIn), at(ports[1], signedIn)]
    const state = { over: false, rounds: 0 }
    const load = (async () => {
      while (!state.over) {
        for (const walk of open) {
          const exchanged = await walk.exchange(caller, code)
          expect([exchanged.status, exchanged.body], 'exchange').toEqual([200, expect.any(String)])
          const next = await walk.refresh(caller, tokensOf(exchanged).refresh_token)
          expect([next.status, next.body], 'refresh').toEqual([200, expect.any(String)])
          expect((await walk.introspect(caller, tokensOf(next).access_token)).json().active, 'introspection').toBe(true)
          expect((await walk.revoke(caller, tokensOf(next).refresh_token)).status, 'revocation').toBe(200)
          code = new URL((await walk.authorize(request)).location).searchParams.get('code') ?? ''
          state.rounds++
        }
      }
    })()
    const someRounds = async () => {
      const until = state.rounds + 4
      while (state.rounds < until) await Promise.race([load, new Promise((resolve) => setTimeout(resolve, 10))])
    }

    await someRounds()
    const migrated = launch(NEXT, ['migrate'], env)
    expect([await migrated.exit(), migrated.output()]).toEqual([0, expect.stringContaining('of tomorrow')])
    await someRounds()
    const newer = await serve(NEXT, ports[2])
    open = [at(ports[0], signedIn), at(ports[2], signedIn)]
    await someRounds()
    replaced.child.kill('SIGTERM')
    expect(await replaced.exit()).toBe(0)
    await at(ports[2]).signIn(request)
    await at(ports[0]).signIn(request)
    // A server of the earlier version can be started again on the migrated database.
    await serve(PRESENT, ports[1])
    open = [at(ports[0], signedIn), at(ports[1], signedIn), at(ports[2], signedIn)]
    await someRounds()
    state.over = true
    await load
    for (const one of [remaining, replaced, newer]) expect(one.output()).not.toMatch(/"level":(50|60)|"status":5/)

    // After a step that removes something, the earlier version refuses to start, with one line.
    const removing = launch(NEXT, ['migrate'], { ...env, TEST_NEXT_STEP: 'takes-away' })
    expect([await removing.exit(), removing.output()]).toEqual([0, expect.stringContaining('takes away')])
    const late = launch(PRESENT, ['serve'], { ...env, GRANTOR_LISTEN: '127.0.0.1:1' })
    expect([await late.exit(), late.output()]).toEqual([1, expect.stringMatching(/^grantor: .*newer version.*\n$/)])
    for (const one of running) one.child.kill('SIGKILL')
    await database?.drop()
  },
)
