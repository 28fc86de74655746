import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newGrant } from '../../store/contract/subject.ts'
import { freePorts } from '../../support/free-ports.ts'
import { launch, newFolder, run } from '../run.ts'

test('A running service deletes a grant that ended 25 hours ago, logs and counts the deletion, and keeps newer grants', async () => {
  const [auth = 0, login = 0, metrics = 0] = await freePorts(3)
  const path = join(newFolder(), 'grantor.sqlite')
  const env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${path}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env)
  const at = Math.floor(Date.now() / 1000)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  const times = { expiresAt: at + 3600, refreshExpiresAt: at + 3600 }
  const [living, endedToday, over] = [newGrant(times), newGrant(times), newGrant(times)]
  for (const grant of [living, endedToday, over]) await store.grants.redeemCode(grant, randomUUID(), at - 90_001)
  await store.grants.endGrant(endedToday.id, 'revoked', at - 80_000)
  await store.grants.endGrant(over.id, 'revoked', at - 90_001)

  const service = launch(['serve'], env)
  onTestFinished(() => void service.child.kill('SIGKILL'))
  await service.printed('"msg":"cleaned"')
  expect(service.out()).toMatch(/"kind":"grants","rows":1,.*"cleaned"/)
  const counted = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  expect(counted).toContain('grantor_swept_rows_total{kind="grants"} 1\n')
  const left = await Promise.all([living, endedToday, over].map(({ id }) => store.grants.readGrant(id)))
  expect(left.map((grant) => grant !== null)).toEqual([true, true, false])
  service.child.kill('SIGTERM')
  expect((await service.ended()).code).toBe(0)
})
