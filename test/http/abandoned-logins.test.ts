/** Logins that nobody finishes cost the database nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allRows } from '../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let grantor: Grantor
let client: TestClient
beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
  await new Walk(grantor).signIn(requestOf(client))
})
afterAll(() => grantor.close())

/** Goes as far as a person may who then closes the page: to the page, to the text, to a wrong signature, or to "no". */
async function abandon(step: number): Promise<void> {
  const walk = new Walk(grantor, testWallet(step % 2 === 0 ? 0 : 1))
  const challenge = await walk.challenge(requestOf(client, { state: `login ${step}` }))
  const stops = step % 4
  if (stops === 1) await walk.describe(challenge)
  if (stops === 2) {
    const { signature, ...claim } = await walk.proof(challenge)
    const answer = await walk.loginApi('/login/accept', { ...claim, signature: `${signature.slice(0, -4)}00ff` })
    expect(answer.status).toBeGreaterThanOrEqual(400)
  }
  if (stops === 3) await walk.complete(await walk.reject(challenge))
}

test('2,000 abandoned logins leave the database as it was, row by row', { timeout: 60_000 }, async () => {
  const before = allRows(grantor.databasePath)
  expect(before.sessions).toHaveLength(1)
  for (let from = 0; from < 2000; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => abandon(from + index)))
  }
  expect(allRows(grantor.databasePath)).toEqual(before)
})
