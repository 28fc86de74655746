/** Rotating refresh tokens: one conditional update of one row. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { RotateOutcome, Rotation } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { livingGrant, NOW, race, rotationOf, type Subject } from './subject.ts'

export function refreshContract(subject: Subject): void {
  test("A refresh increments the grant's generation, replaces its key id and idle expiry, and changes nothing else (RFC 9700 §4.14.2)", async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    const outcome = await store.grants.rotateRefreshToken(rotationOf(grant, 0))
    const after = {
      ...before,
      generation: 1,
      refreshKeyId: 'bbbbbbbbbb',
      rotatedAt: NOW + 100,
      refreshExpiresAt: NOW + 15 * 86_400,
    }
    expect(outcome).toEqual({ kind: 'rotated', grant: after })
    expect(await other.grants.readGrant(grant.id)).toEqual(after)
  })

  test('Fifty concurrent refreshes that keep the refresh token all succeed, and change only the idle expiry (FAPI 2.0 §5.3.2.1)', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    const outcomes = await race(subject(), 50, (node) =>
      node.grants.rotateRefreshToken(rotationOf(grant, 0, { keepsToken: true, retryWindow: 0 })),
    )
    const after = { ...before, refreshExpiresAt: NOW + 15 * 86_400 }
    for (const outcome of outcomes) expect(outcome).toEqual({ kind: 'rotated', grant: after })
    expect(await other.grants.readGrant(grant.id)).toEqual(after)
  })

  test('A refresh that keeps its token checks client, scope, resource, expiry and generation as a rotation does', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const refreshKeeping = (more: Parameters<typeof rotationOf>[2] = {}, generation = 0) =>
      store.grants.rotateRefreshToken(rotationOf(grant, generation, { keepsToken: true, ...more }))
    const [scope = '', resource = ''] = [grant.scopes[0], grant.resources[0]]
    expect((await refreshKeeping({ clientId: randomUUID() })).kind).toBe('foreign')
    expect((await refreshKeeping({ scopes: [scope, 'admin'] })).kind).toBe('scope_not_granted')
    expect((await refreshKeeping({ resources: ['https://other.example/'] })).kind).toBe('resource_not_granted')
    expect((await refreshKeeping({ scopes: [scope], resources: resource ? [resource] : [] })).kind).toBe('rotated')
    expect((await refreshKeeping({ at: grant.expiresAt, refreshExpiresAt: grant.expiresAt + 1 })).kind).toBe('expired')
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
    expect((await refreshKeeping({}, 1)).kind).toBe('rotated')
    expect((await refreshKeeping({ retryWindow: 0 })).kind).toBe('replayed')
    expect((await refreshKeeping({}, 1)).kind).toBe('ended')
  })

  test('The idle expiry of a refresh token is never later than the absolute expiry of its grant', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const outcome = await store.grants.rotateRefreshToken(rotationOf(grant, 0, { refreshExpiresAt: grant.expiresAt + 1 }))
    expect(outcome).toMatchObject({ kind: 'rotated', grant: { refreshExpiresAt: grant.expiresAt } })
  })

  test('A refresh token that fifty requests use at once, on two nodes, has one successor, which all of them get', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const outcomes = await race(subject(), 50, (store) => store.grants.rotateRefreshToken(rotationOf(grant, 0)))
    expect(outcomes.filter(({ kind }) => kind === 'rotated')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'repeated')).toHaveLength(49)
    const after = await subject().nodes[0].grants.readGrant(grant.id)
    expect(after).toMatchObject({ generation: 1, endedAt: null })
    for (const outcome of outcomes) expect(outcome).toMatchObject({ grant: after })
  })

  test('If the retry window is off, one of fifty concurrent uses of a refresh token succeeds, and another one ends the grant', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const outcomes = await race(subject(), 50, (store) =>
      store.grants.rotateRefreshToken(rotationOf(grant, 0, { retryWindow: 0 })),
    )
    const kinds = outcomes.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'rotated')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'replayed')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'ended')).toHaveLength(48)
    expect(await subject().nodes[0].grants.readGrant(grant.id)).toMatchObject({
      endReason: 'refresh_replayed',
      endedAt: NOW + 100,
    })
  })

  test('A refresh that the same attempt repeats after a lost response reads as rotated, even if the retry window is off', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const rotation = rotationOf(grant, 0, { retryWindow: 0 })
    const first = await store.grants.rotateRefreshToken(rotation)
    expect(await other.grants.rotateRefreshToken({ ...rotation, at: NOW + 10_000 })).toEqual(first)
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 1, endedAt: null })
  })

  test.each([
    { title: 'in the second of the refresh', after: 0, kind: 'repeated' },
    { title: 'in the last second of the retry window', after: 59, kind: 'repeated' },
    { title: 'when the retry window is over', after: 60, kind: 'replayed' },
    { title: 'by a request whose time is one second before the refresh', after: -1, kind: 'repeated' },
    { title: 'by a clock that is four seconds behind the refresh', after: -4, kind: 'replayed' },
  ])('The previous refresh token, used again $title, is $kind', async ({ after, kind }) => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await store.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW + 100 }))
    const rotated = await store.grants.readGrant(grant.id)
    const again = await store.grants.rotateRefreshToken(
      rotationOf(grant, 0, { at: NOW + 100 + after, refreshKeyId: 'cccccccccc' }),
    )
    expect(again).toMatchObject({ kind, grant: { generation: 1, refreshKeyId: 'bbbbbbbbbb' } })
    const ended = { ...rotated, endedAt: NOW + 100 + after, endReason: 'refresh_replayed' }
    expect(await store.grants.readGrant(grant.id)).toEqual(kind === 'repeated' ? rotated : ended)
  })

  test('The previous refresh token ends the grant, inside the retry window too, once its successor was used (RFC 9700 §4.14.2)', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    const replay = await store.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW + 101 }))
    expect(replay.kind).toBe('replayed')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed', endedAt: NOW + 101 })
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 2)), 'the youngest token is dead too').toEqual({
      kind: 'ended',
    })
  })

  test.each([{}, { keepsToken: true }])(
    'A refresh or its retry changes nothing if the client is no longer registered for any of the granted scopes (%j)',
    async (more) => {
      const [store, other] = subject().nodes
      const grant = await livingGrant(store)
      const before = await store.grants.readGrant(grant.id)
      const without = { ...more, clientScopes: ['admin', 'enhance'] }
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, without))).toEqual({ kind: 'no_scope_left' })
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { ...more, clientScopes: [] }))).toEqual({
        kind: 'no_scope_left',
      })
      expect(await other.grants.readGrant(grant.id)).toEqual(before)

      const withOne = { ...more, clientScopes: ['admin', 'profile'] }
      expect((await other.grants.rotateRefreshToken(rotationOf(grant, 0, withOne))).kind).toBe('rotated')
      const after = await store.grants.readGrant(grant.id)
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, without))).toEqual({ kind: 'no_scope_left' })
      expect(await store.grants.readGrant(grant.id)).toEqual(after)
    },
  )

  test('A refresh token that is newer than its row is refused and ends the grant, because the row has lost a write', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 1))).kind).toBe('newer_than_row')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({
      generation: 0,
      endReason: 'refresh_newer_than_row',
      endedAt: NOW + 100,
    })
  })

  test.each([
    ['expired because it was idle for too long', { at: NOW + 14 * 86_400 }, 'expired'],
    ['presented by another client', { clientId: randomUUID() }, 'foreign'],
    ['of an unknown grant', { grantId: randomUUID() }, 'unknown'],
    ['presented with a scope that was not granted', { scopes: ['enhancement', 'admin'] }, 'scope_not_granted'],
    ['presented with a prefix of a granted scope', { scopes: ['enhance'] }, 'scope_not_granted'],
    ['presented with a granted scope in another case', { scopes: ['Enhancement'] }, 'scope_not_granted'],
    ['presented with a resource that was not granted', { resources: ['https://bank.example.com/'] }, 'resource_not_granted'],
    [
      'presented with a resource that a granted one is a prefix of',
      { resources: ['https://api.example.com/x'] },
      'resource_not_granted',
    ],
    ['presented with an empty resource', { resources: [''] }, 'resource_not_granted'],
  ])('A refresh token that is %s is refused, and its grant and the token stay valid', async (_, change, kind) => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, change))).toEqual({ kind })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind, 'and the token still works').toBe('rotated')
  })

  test('A refresh for fewer scopes and one resource leaves the grant with all scopes and resources (RFC 6749 §6, RFC 8707 §2.2)', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const narrowed = { scopes: ['profile'], resources: ['https://files.example.com/a?b=c'] }
    const outcome = await store.grants.rotateRefreshToken(rotationOf(grant, 0, narrowed))
    expect(outcome).toMatchObject({
      kind: 'rotated',
      grant: { generation: 1, scopes: grant.scopes, resources: grant.resources },
    })
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 1, { scopes: grant.scopes }))).kind).toBe('rotated')
  })

  test('A retry inside the retry window that requests a scope that was not granted is refused and changes nothing', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await store.grants.rotateRefreshToken(rotationOf(grant, 0))
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { scopes: ['admin'] }))).toEqual({
      kind: 'scope_not_granted',
    })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
  })

  test('A replayed refresh token ends the grant, even if the request names a scope that was not granted', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { scopes: ['admin'] }))).kind).toBe('replayed')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test("A contract wallet's grant is refreshed only after its receipt was checked; otherwise its row does not change", async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store, { walletKind: 'contract', receiptId: randomUUID() })
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0))).toEqual({ kind: 'wallet_unchecked', grant: before })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    const narrowed = { scopes: ['profile'], walletChecked: false }
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, narrowed))).kind, 'narrowed or not').toBe(
      'wallet_unchecked',
    )
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked: true }))).kind).toBe('rotated')
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind, 'a retry needs it as well').toBe(
      'wallet_unchecked',
    )
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked: true }))).kind).toBe('repeated')
  })

  test('A rotation that only checks changes no row, and a replayed token still ends the grant', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const check = (generation: number, rotation: Partial<Rotation> = {}) =>
      store.grants.rotateRefreshToken(rotationOf(grant, generation, { onlyChecks: true, ...rotation }))
    const before = await store.grants.readGrant(grant.id)
    expect(await check(0)).toEqual({ kind: 'may_rotate', grant: before })
    expect(await check(0, { keepsToken: true })).toEqual({ kind: 'may_rotate', grant: before })
    expect(await check(0, { scopes: ['admin'] })).toEqual({ kind: 'scope_not_granted' })
    expect(await check(0, { clientId: 'another' })).toEqual({ kind: 'foreign' })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    await store.grants.rotateRefreshToken(rotationOf(grant, 0))
    const rotated = await store.grants.readGrant(grant.id)
    expect(await check(0), 'a retry within the window').toEqual({ kind: 'may_rotate', grant: rotated })
    expect(await check(1)).toEqual({ kind: 'may_rotate', grant: rotated })
    expect(await store.grants.readGrant(grant.id)).toEqual(rotated)
    expect((await check(0, { retryWindow: 0 })).kind).toBe('replayed')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test("A replayed refresh token ends a contract wallet's grant, even if its receipt was not checked", async () => {
    const [store] = subject().nodes
    for (const walletChecked of [true, false]) {
      const grant = await livingGrant(store, { walletKind: 'contract', receiptId: randomUUID() })
      await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked: true }))
      await store.grants.rotateRefreshToken(rotationOf(grant, 1, { walletChecked: true }))
      expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked }))).kind).toBe('replayed')
      expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed' })
    }
  })

  test('A grant that is bound to a key is refreshed, and ended by a replay, with proofs of that key only (RFC 9449 §5)', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store, { dpopJkt: 'key-1' })
    const withKey = { dpopJkt: 'key-1' }
    const before = await store.grants.readGrant(grant.id)
    for (const dpopJkt of [null, 'key-2']) {
      for (const narrowed of [{}, { scopes: ['profile'] }]) {
        const rotation = rotationOf(grant, 0, { ...narrowed, dpopJkt })
        expect(await store.grants.rotateRefreshToken(rotation)).toEqual({ kind: 'wrong_key' })
      }
    }
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, withKey))).kind).toBe('rotated')
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, withKey))).kind).toBe('repeated')
    await store.grants.rotateRefreshToken(rotationOf(grant, 1, withKey))
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0)), 'a stolen old token ends nothing').toEqual({
      kind: 'wrong_key',
    })
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, withKey))).kind).toBe('replayed')
  })

  const [A, B] = ['https://a.example.com/', 'https://b.example.com/"%']
  const paired = { scopes: ['both', 'a', 'b'], resources: [A, B], scopesByResource: { [A]: ['both', 'a'], [B]: ['both', 'b'] } }
  const mine = { clientScopes: ['both', 'a', 'b'] }

  test.each<[string, Partial<Rotation>, RotateOutcome['kind']]>([
    ['a resource, and the scopes that it has', { resources: [B], scopes: ['both', 'b'] }, 'rotated'],
    ['scopes without a resource', { scopes: ['a', 'b'] }, 'rotated'],
    ['a resource, and a scope that only the other has', { resources: [A], scopes: ['b'] }, 'scope_not_granted'],
    ['a resource for which the client may have no scope any more', { resources: [A], clientScopes: ['b'] }, 'no_scope_left'],
    ['a resource for which the client may have one scope', { resources: [B], clientScopes: ['b'] }, 'rotated'],
    ['an unknown resource', { resources: ['https://c.example.com/'] }, 'resource_not_granted'],
  ])('If the scopes of a grant differ for its resources, a refresh that names %s ends as %s', async (_what, asked, kind) => {
    for (const keepsToken of [false, true]) {
      const [store, other] = subject().nodes
      const grant = await livingGrant(store, paired)
      const before = await store.grants.readGrant(grant.id)
      expect(before).toMatchObject(paired)
      const outcome = await other.grants.rotateRefreshToken(rotationOf(grant, 0, { ...mine, ...asked, keepsToken }))
      expect(outcome.kind).toBe(kind)
      if ('grant' in outcome) expect(outcome.grant).toMatchObject(paired)
      else expect(await store.grants.readGrant(grant.id)).toEqual(before)
    }
  })

  test('An old refresh token that another client replays does not end the grant', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { clientId: randomUUID() }))).toEqual({ kind: 'foreign' })
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
  })

  test('An ended grant stays ended: no refresh token of any generation revives it or changes why it ended', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    await store.grants.endGrant(grant.id, 'revoked', NOW + 200)
    const ended = await store.grants.readGrant(grant.id)
    for (const generation of [0, 1, 2, 3]) {
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, generation, { at: NOW + 201 }))).toEqual({ kind: 'ended' })
    }
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 2, { at: NOW - 1 })), 'by a clock that jumped back').toEqual({
      kind: 'ended',
    })
    expect(await store.grants.readGrant(grant.id)).toEqual(ended)
  })
}

async function rotatedTwice(store: Store) {
  const grant = await livingGrant(store)
  await store.grants.rotateRefreshToken(rotationOf(grant, 0))
  await store.grants.rotateRefreshToken(rotationOf(grant, 1))
  return grant
}
