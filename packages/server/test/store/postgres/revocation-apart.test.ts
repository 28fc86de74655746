/** The revocation of one access token if the row of the grant and the note for the feed of endings are on two machines. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { migratePostgres, storeOn } from '../../../src/store/postgres/index.ts'
import type { Ask, RowLocation, StatementKind } from '../../../src/store/postgres/statements/statement.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { readerOf } from '../contract/ending-order.ts'
import { DAY, livingGrant, NOW } from '../contract/subject.ts'
import { Apart } from './apart.ts'

/** The change of a grant's tokens fails while `isCut`. */
class ApartAndCut extends Apart {
  isCut = false
  override prepare<Row>(kind: StatementKind, sql: string, place?: RowLocation): Ask<Row> {
    const ask = super.prepare<Row>(kind, sql, place)
    if (!/SET revoked_tokens/.test(sql)) return ask
    return (named) => (this.isCut ? Promise.reject(new Error('cut')) : ask(named))
  }
}

test('On several machines, a revoked token is noted before its grant changes, and a repeated revocation writes nothing', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const connection = new ApartAndCut(address, { clock: 'given' })
  const store = storeOn(connection)
  onTestFinished(() => store.close())
  const { id: grantId, clientId, resources } = await livingGrant(store)
  const read = readerOf(store)
  const revoke = (at: number) => store.grants.revokeAccessToken({ grantId, clientId, jti: 'j', expiresAt: NOW + DAY, at })
  const noted = () => sql.unsafe(`SELECT hash, expires_at::integer AS expiry FROM spent`)

  connection.isCut = true
  await expect(revoke(NOW)).rejects.toThrow('cut')
  expect(await read(NOW)).toEqual([{ kind: 'token', jti: 'j', clientId, resources, at: NOW }])
  expect((await store.grants.readGrant(grantId))?.revokedTokens).toEqual({})

  connection.isCut = false
  await read(NOW + 1000)
  expect(await revoke(NOW + 1000)).toBe('revoked')
  expect(await read(NOW + 1001), 'at the time of the change').toEqual([
    { kind: 'token', jti: 'j', clientId, resources, at: NOW + 1000 },
  ])
  const before = await noted()
  expect(await revoke(NOW + 2000)).toBe('revoked_before')
  const foreign = { grantId, clientId: randomUUID(), jti: 'other', expiresAt: NOW + DAY, at: NOW }
  expect(await store.grants.revokeAccessToken(foreign)).toBe('foreign')
  expect(await noted()).toEqual(before)
})
