/** A running service enforces the number of grants per wallet and client, and reports each grant that it ends. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tokensOf } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { type Grantor, TEST_LOGIN_SECRET, type TestClient } from '../../support/start.ts'
import { parameterOf, requestOf, Walk } from '../../support/walk.ts'
import { launch, newFolder, run } from '../run.ts'

test('The oldest grant beyond GRANTOR_GRANTS_PER_WALLET_AND_CLIENT is ended, and grants list and the audit log call it superseded', async () => {
  const [auth = 0, login = 0] = await freePorts(2)
  const env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_GRANTS_PER_WALLET_AND_CLIENT: '1',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env)
  const redirectUris = ['https://app.example.net/callback']
  const create = ['clients', 'create', '--name', 'My app', '--redirect-uri', redirectUris[0] ?? '', '--json']
  const made = JSON.parse((await run(create, env)).out) as { client_id: string; client_secret: string }
  const client = { id: made.client_id, secret: made.client_secret, redirectUris } as TestClient
  const service = launch(['serve'], env)
  onTestFinished(() => void service.child.kill('SIGKILL'))
  await service.printed('auth service is ready')
  const walk = new Walk({ authUrl: env.GRANTOR_AUTH_URL } as Grantor)
  const first = tokensOf(await walk.exchange(client, (await walk.signIn(requestOf(client))).code))
  const again = parameterOf((await walk.authorize(requestOf(client))).location, 'code')
  const second = tokensOf(await walk.exchange(client, again))
  const isActive = async (token: string) => (await walk.introspect(client, token)).json().active
  await service.printed('"reason":"superseded"')
  expect([await isActive(first.access_token), await isActive(second.access_token)]).toEqual([false, true])
  const now = Math.floor(Date.now() / 1000)
  expect((await run(['grants', 'list'], env, now)).out).toMatch(/ active\n.* superseded\n$/)
  service.child.kill('SIGTERM')
  expect((await service.ended()).code).toBe(0)
})
