/** Keys in an algorithm that access tokens are not signed in: made on demand, and kept like all others. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSigningKeys, keepKeys, keyState, loadKeys, replaceKeys } from '../../src/grants/keep-keys.ts'
import { openIdToken, signIdToken } from '../../src/keys/id-token.ts'
import { KeyRing } from '../../src/keys/key-ring.ts'
import { openSqliteStore } from '../../src/store/sqlite/index.ts'
import { keepingOf } from '../support/key-keeping.ts'
import { type Grantor, startGrantor } from '../support/start.ts'

let grantor: Grantor

beforeEach(async () => {
  grantor = await startGrantor()
})
afterEach(() => grantor.close())

const statesOf = async (kind: string): Promise<string[]> => {
  const records = await grantor.store.keys.listKeys()
  return records.filter((each) => each.kind === kind).map((each) => keyState(keepingOf(grantor), records, each))
}

test('none is made before somebody needs it; of many that need it at once, on two nodes, all sign with one that both know', async () => {
  expect(await statesOf('sign_rs256')).toEqual([])
  const other = openSqliteStore(grantor.databasePath)
  const [ring, otherRing] = [grantor.deps.keys, new KeyRing(grantor.clock.now)]
  const otherKeeping = { ...keepingOf(grantor), book: other.keys }
  await loadKeys(otherKeeping, otherRing)
  const signers = [createSigningKeys(keepingOf(grantor), ring), createSigningKeys(otherKeeping, otherRing)]
  const keys = await Promise.all(Array.from({ length: 10 }, async (_, index) => signers[index % 2]?.('RS256')))
  await other.close()
  expect(new Set(keys.map((key) => key?.id)).size).toBe(1)
  expect(await statesOf('sign_rs256')).toEqual(['makes'])
  expect((await signers[0]?.('ES256'))?.id, 'what access tokens are signed with needs no second one').toBe(ring.maker('sign').id)
  expect(await statesOf('sign_es256')).toEqual([])
})

test('a node that has not noticed the other’s key yet takes it, and makes none', async () => {
  const unaware = new KeyRing(grantor.clock.now)
  await loadKeys(keepingOf(grantor), unaware)
  const made = await grantor.deps.signingKey('RS256')
  expect((await createSigningKeys(keepingOf(grantor), unaware)('RS256')).id).toBe(made.id)
  expect(await statesOf('sign_rs256')).toEqual(['makes'])
})

test('it grows old like all others: the next one is announced for a minute, then signs; the old one opens what it signed', async () => {
  const keeping = keepingOf(grantor)
  const first = await grantor.deps.signingKey('RS256')
  const claims = { iss: 'i', sub: 's', aud: 'a', exp: 0, iat: 0, at_hash: '', acr: '' }
  const token = signIdToken(first, claims)
  grantor.clock.advance(keeping.rotateAfter)
  await keepKeys(keeping)
  await grantor.noticeChanges()
  expect(await statesOf('sign_rs256')).toEqual(['makes', 'announced'])
  expect((await grantor.deps.signingKey('RS256')).id).toBe(first.id)
  grantor.clock.advance(60)
  expect((await grantor.deps.signingKey('RS256')).id).not.toBe(first.id)
  expect(openIdToken(grantor.deps.keys, 'i', token)).toEqual(claims)
  grantor.clock.advance(keeping.lifetimes.accessToken + 60)
  await keepKeys(keeping)
  await grantor.noticeChanges()
  expect(await statesOf('sign_rs256')).toEqual(['retired', 'makes'])
  expect(openIdToken(grantor.deps.keys, 'i', token)).toBeUndefined()
})

test('it never signs an access token, whatever its age, and is replaced with all others after a restore', async () => {
  const rs256 = await grantor.deps.signingKey('RS256')
  const usual = grantor.deps.keys.maker('sign')
  expect([usual.algorithm, usual.id === rs256.id]).toEqual(['ES256', false])
  expect(grantor.deps.keys.opener('sign', rs256.id), 'nor opens one').toBeUndefined()
  grantor.clock.advance(1)
  await replaceKeys(keepingOf(grantor))
  await grantor.noticeChanges()
  expect((await grantor.deps.signingKey('RS256')).id).not.toBe(rs256.id)
  expect(await statesOf('sign_rs256')).toEqual(['retired', 'makes'])
})
