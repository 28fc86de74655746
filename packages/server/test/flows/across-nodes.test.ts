/** Changes on one node take effect on the other: two services as `grantor serve` composes them, on one database, in real time. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { composeAuthService } from '../../src/app/compose/compose.ts'
import { readSettings } from '../../src/config/settings.ts'
import { createLogger } from '../../src/observability/log/logger.ts'
import { newFolder, run } from '../app/run.ts'
import { tokensOf } from '../support/app.ts'
import { soon } from '../support/attempts.ts'
import { freePorts } from '../support/free-ports.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { send } from '../support/send.ts'
import { type Grantor, TEST_LOGIN_SECRET, TEST_SECRET, type TestClient } from '../support/start.ts'
import { parameterOf, requestOf, Walk } from '../support/walk.ts'

const now = () => Math.floor(Date.now() / 1000)
const REDIRECT_URI = 'https://app.example.net/callback'

const engines = [
  { engine: 'PostgreSQL', open: () => createPostgresDatabase() },
  {
    engine: 'SQLite',
    open: async () => ({ url: `sqlite:${join(newFolder(), 'grantor.sqlite')}`, drop: async () => undefined }),
  },
]

describe.each(engines)('Two nodes on one $engine database', ({ open }) => {
  let env: Record<string, string>
  let client: TestClient
  let first: Walk
  let second: Walk
  const closing: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    const { url, drop } = await open()
    closing.push(drop)
    env = {
      GRANTOR_AUTH_URL: 'http://auth.localhost:4000',
      GRANTOR_LOGIN_URL: 'http://login.localhost:4001',
      GRANTOR_DATABASE_URL: url,
      GRANTOR_SECRET: TEST_SECRET,
      GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    }
    await run(['migrate'], env, now())
    client = await newClient()
    ;[first, second] = (await Promise.all([startNode(), startNode()])).map((authUrl) => new Walk({ authUrl } as Grantor)) as [
      Walk,
      Walk,
    ]
    await signIn()
  })
  afterAll(async () => {
    for (const close of closing.toReversed()) await close()
  })

  async function newClient(): Promise<TestClient> {
    const create = ['clients', 'create', '--name', 'App', '--redirect-uri', REDIRECT_URI, '--json']
    const { out } = await run(create, env, now())
    const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
    return { id, secret, redirectUris: [REDIRECT_URI] } as TestClient
  }

  /** Starts a node, and returns its address. */
  async function startNode(): Promise<string> {
    const reading = readSettings('serve', env)
    if (reading.kind === 'faults') throw new Error(reading.faults.join(' '))
    const [port = 0] = await freePorts(1)
    const service = await composeAuthService(reading.settings, { logger: createLogger({ level: 'silent' }), now })
    await service.server.listen({ host: '127.0.0.1', port })
    closing.push(async () => {
      await service.server.close()
      await service.close()
    })
    return `http://localhost:${port}`
  }

  /** Signs in at the first node, and copies the cookies for the second: one browser that uses both nodes. */
  async function signIn(): Promise<void> {
    await first.signIn({ ...requestOf(client), prompt: 'login' })
    for (const [name, value] of first.cookies) second.cookies.set(name, value)
  }

  async function freshTokens() {
    const { location } = await first.authorize(requestOf(client))
    return tokensOf(await first.exchange(client, parameterOf(location, 'code')))
  }

  test('A client that is disabled or registered on one node is so on the other within a second', async () => {
    const other = await newClient()
    const statuses = async () => Promise.all([first, second].map(async (node) => (await node.introspect(other, 'x')).status))
    await soon(statuses, [200, 200], 40)
    await run(['clients', 'disable', other.id], env, now())
    await soon(statuses, [401, 401], 40)
  })

  test('A key that is rotated on one node is published by the other within a second', async () => {
    const keys = async () =>
      Promise.all(
        [first, second].map(async ({ grantor }) => {
          const answer = await send(grantor.authUrl, { path: '/oauth/jwks' })
          return (answer.json().keys as { kid: string }[]).map(({ kid }) => kid).sort()
        }),
      )
    const [[before] = []] = await keys()
    expect((await run(['keys', 'rotate'], env, now())).exit).toBe(0)
    await soon(async () => (await keys()).map(({ length }) => length), [5, 5], 40)
    const [one, other] = await keys()
    expect(one).toEqual(other)
    expect(one).toContain(before)
  })

  test('A grant that ended on one node is ended on the other from the response on', async () => {
    const tokens = await freshTokens()
    expect((await second.introspect(client, tokens.access_token)).json().active).toBe(true)
    expect((await first.revoke(client, tokens.refresh_token)).status).toBe(200)
    expect((await second.introspect(client, tokens.access_token)).json()).toEqual({ active: false })
    expect((await second.refresh(client, tokens.refresh_token)).status).toBe(400)
  })

  test('A session that ended on one node is ended on the other from the response on', async () => {
    expect(parameterOf((await second.authorize(requestOf(client))).location, 'code')).not.toBe('')
    const origin = env.GRANTOR_AUTH_URL ?? ''
    expect((await first.postForm('/account/sign-out', {}, { origin })).status).toBe(200)
    expect((await second.authorize(requestOf(client))).location).toContain('/login?login_challenge=')
    await signIn()
  })
})
