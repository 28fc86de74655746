/** The log of `serve` while PostgreSQL cannot be reached. */
import { expect, onTestFinished, test } from 'vitest'
import { startCuttingProxy } from '../../chaos/cutting-proxy.ts'
import { freePorts } from '../../support/free-ports.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { send } from '../../support/send.ts'
import { launchForTest, run } from '../run.ts'

test('While PostgreSQL cannot be reached, the log has one line about it, with the problem and without a stack', async () => {
  const address = new URL((await newPostgresDatabase()).url)
  const way = await startCuttingProxy({ host: address.hostname, port: Number(address.port) })
  onTestFinished(() => way.close())
  address.host = `127.0.0.1:${way.port}`
  const [auth = 0, login = 0] = await freePorts(2)
  const env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: address.href,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  const service = launchForTest(['serve'], env)
  await service.printed('auth service is ready')
  way.refuse(true)
  way.cutAll()
  await service.printed('the store fails')
  const isReady = async () => (await send(env.GRANTOR_AUTH_URL, { path: '/health/ready' })).status
  await expect.poll(isReady, { timeout: 20_000 }).toBe(503)
  service.child.kill('SIGTERM')
  expect((await service.ended()).code).toBe(0)
  const lines = service.out().split('\n')
  expect(lines.filter((line) => line.includes('the store fails'))).toEqual([expect.stringContaining('"problem":"PostgreSQL ')])
  expect(lines.filter((line) => /"stack"|\.ts:\d/.test(line))).toEqual([])
})
