/**
 * Logins that are never finished write nothing to the database. `npm run test:full` abandons 100,000 logins on each
 * engine, over HTTP.
 */
import { expect, test } from 'vitest'
import { newPostgresDatabase } from '../../../support/postgres.ts'
import { howMany } from '../../../support/runs.ts'
import { type Grantor, type StartOptions, startGrantor, type TestClient } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'
import { lookAtPostgres, watchSqlite } from './written.ts'

const COUNT = howMany('TEST_ABANDONED_LOGINS', 500)
// A store on a busy machine refuses requests that wait for long.
const AT_ONCE = 20
const timeout = 60_000 + COUNT * 20
const formattedCount = COUNT.toLocaleString('en')

/** The limit on failures is effectively off, so that every login runs until its browser stops. */
const options: StartOptions = { failureLimit: 1e9 }

type Scene = { grantor: Grantor; client: TestClient }

/** A service with one session, so that the database has rows that a login could change. */
async function startScene(more: StartOptions = {}): Promise<Scene> {
  const grantor = await startGrantor({ ...options, ...more })
  const client = await grantor.createClient()
  await new Walk(grantor).signIn(requestOf(client))
  return { grantor, client }
}

async function abandonAll(scene: Scene): Promise<void> {
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, COUNT - from)
    await Promise.all(Array.from({ length: count }, (_, index) => abandon(scene, from + index)))
  }
}

/** Runs a login up to one of four steps: the text to sign, the page, a wrong signature, or a refusal. */
async function abandon({ grantor, client }: Scene, step: number): Promise<void> {
  const walk = new Walk(grantor, testWallet(step % 2 === 0 ? 0 : 1))
  const challenge = await walk.challenge(requestOf(client, { state: `login ${step}` }))
  const stops = step % 4
  if (stops === 0) {
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
    expect((await walk.loginApi('/login/message', claim)).status).toBe(200)
  }
  if (stops === 1) await walk.describe(challenge)
  if (stops === 2) {
    const { signature, ...claim } = await walk.proof(challenge)
    const answer = await walk.loginApi('/login/accept', { ...claim, signature: `${signature.slice(0, -4)}00ff` })
    expect(answer.status).toBeGreaterThanOrEqual(400)
  }
  if (stops === 3) await walk.complete(await walk.reject(challenge))
}

test(`${formattedCount} logins that are never finished change no byte of a SQLite file and commit nothing`, {
  timeout,
}, async () => {
  const scene = await startScene()
  const watch = watchSqlite(scene.grantor.databasePath)
  try {
    const before = watch.look()
    expect(before.rows.sessions).toHaveLength(1)
    await abandonAll(scene)
    expect(watch.look()).toEqual(before)
  } finally {
    watch.close()
    await scene.grantor.close()
  }
})

test(`${formattedCount} logins that are never finished change no row of a PostgreSQL database and write nothing`, {
  timeout,
}, async () => {
  const database = await newPostgresDatabase()
  const first = await startScene({ postgres: database.address })
  await first.grantor.close()
  const before = await lookAtPostgres(database.sql)
  expect(before.rows.sessions).toHaveLength(1)

  const grantor = await startGrantor({ ...options, postgres: database.address })
  await abandonAll({ grantor, client: first.client })
  await grantor.close()
  expect(await lookAtPostgres(database.sql)).toEqual(before)
})
