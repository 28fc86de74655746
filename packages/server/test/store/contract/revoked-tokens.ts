/** Access tokens that are revoked alone. Each is recorded in its grant's row until it expires. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import { livingGrant, NOW, race, type Subject } from './subject.ts'

const AT_MOST = 64

export function revokedTokensContract(subject: Subject): void {
  const tokenOf = (grant: NewGrant, jti: string, expiresAt = NOW + 600, at = NOW) => ({
    grantId: grant.id,
    clientId: grant.clientId,
    jti,
    expiresAt,
    at,
  })

  test('An access token that is revoked alone is recorded in its grant with its expiry, and the grant stays valid (RFC 7009)', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'jti-1', NOW + 600))).toBe('revoked')
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'jti-2', NOW + 601))).toBe('revoked')
    expect(await other.grants.readGrant(grant.id)).toEqual({
      ...before,
      revokedTokens: { 'jti-1': NOW + 600, 'jti-2': NOW + 601 },
    })
  })

  test('The validity of a grant is read as the grant is: alive, with revoked tokens, ended, unknown', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const expectSame = async (): Promise<void> => {
      const read = await other.grants.readGrant(grant.id)
      if (!read) throw new Error('the grant is there')
      const { clientId, expiresAt, endedAt, revokedTokens, signedLimit, drawn } = read
      const validity = { clientId, expiresAt, endedAt, revokedTokens, signedLimit, drawn }
      expect(await other.grants.readGrantValidity(grant.id)).toEqual(validity)
    }
    await expectSame()
    await store.grants.revokeAccessToken(tokenOf(grant, 'jti-1'))
    await expectSame()
    await store.grants.endGrant(grant.id, 'revoked', NOW + 5)
    await expectSame()
    expect(await other.grants.readGrantValidity(grant.id)).toMatchObject({
      endedAt: NOW + 5,
      revokedTokens: { 'jti-1': NOW + 600 },
    })
    expect(await other.grants.readGrantValidity(randomUUID())).toBeNull()
  })

  test('An access token that fifty requests revoke at once is recorded once', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const outcomes = await race(subject(), 50, (store) => store.grants.revokeAccessToken(tokenOf(grant, 'jti-1')))
    expect(outcomes.toSorted()).toEqual(['revoked', ...Array<string>(49).fill('revoked_before')])
    expect(await subject().nodes[1].grants.readGrant(grant.id)).toMatchObject({ revokedTokens: { 'jti-1': NOW + 600 } })
  })

  test('Fifty different access tokens of a grant that are revoked at once are all recorded', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const names = Array.from({ length: 50 }, () => randomUUID())
    await race(subject(), 50, (store, index) => store.grants.revokeAccessToken(tokenOf(grant, names[index] ?? '')))
    const after = await subject().nodes[1].grants.readGrant(grant.id)
    expect(Object.keys(after?.revokedTokens ?? {}).toSorted()).toEqual(names.toSorted())
  })

  test("Revoking another client's token reads as foreign, and one of an unknown grant as unknown; neither changes anything", async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.revokeAccessToken({ ...tokenOf(grant, 'jti-1'), clientId: randomUUID() })).toBe('foreign')
    expect(await store.grants.revokeAccessToken({ ...tokenOf(grant, 'jti-1'), grantId: randomUUID() })).toBe('unknown')
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
  })

  test('A revocation removes the records of expired tokens, so that a row does not grow with every token issued', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await store.grants.revokeAccessToken(tokenOf(grant, 'jti-1', NOW + 600))
    await store.grants.revokeAccessToken(tokenOf(grant, 'jti-2', NOW + 700))
    await store.grants.revokeAccessToken(tokenOf(grant, 'jti-3', NOW + 1200, NOW + 600))
    expect((await store.grants.readGrant(grant.id))?.revokedTokens).toEqual({ 'jti-2': NOW + 700, 'jti-3': NOW + 1200 })
  })

  test('A grant records 64 revoked tokens; the next revocation ends the grant, so that no revoked token becomes valid again', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    for (let number = 1; number <= AT_MOST; number++) {
      expect(await store.grants.revokeAccessToken(tokenOf(grant, `jti-${number}`))).toBe('revoked')
    }
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'jti-64')), 'one that is noted needs no room').toBe(
      'revoked_before',
    )
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'jti-65', NOW + 600, NOW + 1))).toBe('grant_ended')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: NOW + 1, endReason: 'too_many_revoked_tokens' })
  })

  test('A grant whose 64 recorded tokens have all expired records a new one', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await Promise.all(
      Array.from({ length: AT_MOST }, (_, index) => store.grants.revokeAccessToken(tokenOf(grant, `jti-${index}`))),
    )
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'later', NOW + 1200, NOW + 600))).toBe('revoked')
    expect((await store.grants.readGrant(grant.id))?.revokedTokens).toEqual({ later: NOW + 1200 })
  })

  test('Revoking a token of an ended grant returns that the grant ended before, and changes nothing', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await store.grants.endGrant(grant.id, 'code_replayed', NOW)
    expect(await store.grants.revokeAccessToken(tokenOf(grant, 'jti-1', NOW + 600, NOW + 5))).toBe('grant_ended_before')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({
      endedAt: NOW,
      endReason: 'code_replayed',
      revokedTokens: {},
    })
    const more = Array.from({ length: AT_MOST }, (_, index) => tokenOf(grant, `more-${index}`, NOW + 600, NOW + 6))
    for (const token of more) expect(await store.grants.revokeAccessToken(token)).toBe('grant_ended_before')
    expect(await store.grants.readGrant(grant.id), 'even past 64').toMatchObject({ endedAt: NOW, endReason: 'code_replayed' })
  })
}
