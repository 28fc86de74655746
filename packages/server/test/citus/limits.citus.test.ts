/** A limit by HTTP, at two nodes on a cluster: signed, drawn from at both nodes at once, given back, ended. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../support/app.ts'
import { signInWith, startTwoNodes, type TwoNodes, WEEKLY } from '../support/limits.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres.ts'

const CALLS = 12

let database: PostgresDatabase
let app: TwoNodes
beforeAll(async () => {
  database = await createPostgresDatabase()
  app = await startTwoNodes(database)
  await app.register(WEEKLY)
})
afterAll(async () => {
  await app.close()
  await database.drop()
})

test('On a cluster, limits of several grants are signed, drawn from at two nodes at once, given back and ended, each counted by itself', async () => {
  const [tables] = await database.sql<{ count: number }[]>`
    SELECT count(*)::int FROM citus_tables WHERE table_name IN ('grants'::regclass, 'draws'::regclass) AND citus_table_type = 'distributed'`
  expect(tables).toEqual({ count: 2 })

  const at = (index: number) => (index % 2 ? app : app.atFirst)
  const use = async (uses: number) => {
    const { code } = await signInWith(app.walk, app.request({ prompt: 'login' }), {
      uses: String(uses),
      each: '50',
      amount: '500',
    })
    const { access_token: token, refresh_token } = tokensOf(await app.walk.exchange(app.client, code))
    const { grant_id } = claimsOf(token)
    const many = (call: (index: number) => ReturnType<TwoNodes['draw']>) =>
      Promise.all(Array.from({ length: CALLS }, (_, index) => call(index)))

    const equal = await many((index) => at(index).draw(token, { key: 'same', amount: '1000' }))
    expect(new Set(equal.map(({ body }) => body))).toEqual(new Set([equal[0]?.body]))
    const own = await many((index) => at(index).draw(token, { key: `own-${index}`, amount: '1000' }))
    const drawn = own.filter(({ status }) => status === 200).map((answer) => answer.json().draw as number)
    expect(drawn.toSorted((a, b) => a - b)).toEqual(Array.from({ length: uses - 1 }, (_, index) => index + 2))
    expect(own.filter((answer) => answer.json().error === 'uses_exceeded')).toHaveLength(CALLS - uses + 1)

    const back = await many((index) => at(index).giveBack({ grant_id, key: 'same', amount: '1000' }))
    expect(new Set(back.map(({ body }) => body))).toEqual(new Set([JSON.stringify({ draw: 1, returned: 1000 })]))
    expect((await app.left(token)).left).toMatchObject({ uses: 1, amount: 50_000 - (uses - 1) * 1000 })

    await app.walk.revoke(app.client, refresh_token)
    for (const answer of await many((index) => at(index).draw(token))) expect(answer.json().error).toBe('token_inactive')
    for (const answer of await many((index) => at(index).draw(token, { key: 'same', amount: '1000' })))
      expect(answer.body).toBe(equal[0]?.body)
  }
  for (const uses of [2, 3, 4, 5, 6, 7]) await use(uses)
})
