/** Rotating refresh tokens: one conditional update of one row. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { RotateOutcome, Rotation } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { livingGrant, NOW, race, rotationOf, type Subject } from './subject.ts'

export function refreshContract(subject: Subject): void {
  test('a refresh moves its grant one generation on, with the new key and idle time, and touches nothing else (RFC 9700 §4.14.2)', async () => {
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

  test('a refresh that keeps its token moves nothing but the idle time, however many do it at once (FAPI 2.0 §5.3.2.1)', async () => {
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

  test('a token is kept under every condition that one is rotated under: whose, which, for what, until when', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const kept = (more: Parameters<typeof rotationOf>[2] = {}, generation = 0) =>
      store.grants.rotateRefreshToken(rotationOf(grant, generation, { keepsToken: true, ...more }))
    const [scope = '', resource = ''] = [grant.scopes[0], grant.resources[0]]
    expect((await kept({ clientId: randomUUID() })).kind).toBe('foreign')
    expect((await kept({ scopes: [scope, 'admin'] })).kind).toBe('scope_not_granted')
    expect((await kept({ resources: ['https://other.example/'] })).kind).toBe('resource_not_granted')
    expect((await kept({ scopes: [scope], resources: resource ? [resource] : [] })).kind).toBe('rotated')
    expect((await kept({ at: grant.expiresAt, refreshExpiresAt: grant.expiresAt + 1 })).kind).toBe('expired')
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
    expect((await kept({}, 1)).kind).toBe('rotated')
    expect((await kept({ retryWindow: 0 })).kind).toBe('replayed')
    expect((await kept({}, 1)).kind).toBe('ended')
  })

  test('the idle time of a refresh token never reaches beyond the absolute end of its grant', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const outcome = await store.grants.rotateRefreshToken(rotationOf(grant, 0, { refreshExpiresAt: grant.expiresAt + 1 }))
    expect(outcome).toMatchObject({ kind: 'rotated', grant: { refreshExpiresAt: grant.expiresAt } })
  })

  test('one refresh token used by fifty requests at once, on two nodes, has one successor, which all of them get', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const outcomes = await race(subject(), 50, (store) => store.grants.rotateRefreshToken(rotationOf(grant, 0)))
    expect(outcomes.filter(({ kind }) => kind === 'rotated')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'repeated')).toHaveLength(49)
    const after = await subject().nodes[0].grants.readGrant(grant.id)
    expect(after).toMatchObject({ generation: 1, endedAt: null })
    for (const outcome of outcomes) expect(outcome).toMatchObject({ grant: after })
  })

  test('with the retry window off, fifty uses of one refresh token at once are one success and a grant that has ended', async () => {
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

  test('a refresh asked for again by its own attempt, after a lost answer, reads as rotated, even with the window off', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const rotation = rotationOf(grant, 0, { retryWindow: 0 })
    const first = await store.grants.rotateRefreshToken(rotation)
    expect(await other.grants.rotateRefreshToken({ ...rotation, at: NOW + 10_000 })).toEqual(first)
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 1, endedAt: null })
  })

  test.each([
    { title: 'in the second of the refresh', after: 0, kind: 'repeated' },
    { title: 'in the last second of the window', after: 59, kind: 'repeated' },
    { title: 'when the window is over', after: 60, kind: 'replayed' },
    { title: 'a second behind, having waited for its turn', after: -1, kind: 'repeated' },
    { title: 'by a clock that jumped back behind the refresh', after: -4, kind: 'replayed' },
  ])('the previous token again, $title, is $kind', async ({ after, kind }) => {
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

  test('the previous token again, once its successor was used, ends the grant, window or not (RFC 9700 §4.14.2)', async () => {
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
    'A refresh by a client that may have none of the granted scopes any more moves nothing, and a repeated one neither (%j)',
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

  test('a token newer than its row tells of a lost write: refused, and the grant ended', async () => {
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
    ['expired, idle for too long', { at: NOW + 14 * 86_400 }, 'expired'],
    ['another client’s', { clientId: randomUUID() }, 'foreign'],
    ['of a grant nobody made', { grantId: randomUUID() }, 'unknown'],
    ['asked to grow by a scope', { scopes: ['enhancement', 'admin'] }, 'scope_not_granted'],
    ['asked for a part of a scope’s name', { scopes: ['enhance'] }, 'scope_not_granted'],
    ['asked for a scope in other letters', { scopes: ['Enhancement'] }, 'scope_not_granted'],
    ['asked to grow by a resource', { resources: ['https://bank.example.com/'] }, 'resource_not_granted'],
    ['asked for a resource that only begins like its own', { resources: ['https://api.example.com/x'] }, 'resource_not_granted'],
    ['asked for no resource at all, by an empty text', { resources: [''] }, 'resource_not_granted'],
  ])('a refresh token that is %s is refused, and its grant stands as before', async (_, change, kind) => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, change))).toEqual({ kind })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind, 'and the token still works').toBe('rotated')
  })

  test('a refresh for fewer scopes and one resource moves the grant, which keeps all it had (RFC 6749 §6, RFC 8707 §2.2)', async () => {
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

  test('a retry inside the window that asks for more than was granted is refused and changes nothing', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    await store.grants.rotateRefreshToken(rotationOf(grant, 0))
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { scopes: ['admin'] }))).toEqual({
      kind: 'scope_not_granted',
    })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
  })

  test('a replay ends the grant, whatever scopes it asks for', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { scopes: ['admin'] }))).kind).toBe('replayed')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test('a contract wallet’s grant moves on only when its receipt was checked; unchecked, the row stays as it is', async () => {
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

  test('a contract wallet’s grant is ended by a replay, its receipt checked or not', async () => {
    const [store] = subject().nodes
    for (const walletChecked of [true, false]) {
      const grant = await livingGrant(store, { walletKind: 'contract', receiptId: randomUUID() })
      await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked: true }))
      await store.grants.rotateRefreshToken(rotationOf(grant, 1, { walletChecked: true }))
      expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked }))).kind).toBe('replayed')
      expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'refresh_replayed' })
    }
  })

  test('a grant bound to a key moves for that key alone; by another, or by none, no token of it does anything (RFC 9449 §5)', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store, { dpopJkt: 'key-1' })
    const withKey = { dpopJkt: 'key-1' }
    const before = await store.grants.readGrant(grant.id)
    for (const dpopJkt of [null, 'key-2']) {
      for (const narrowed of [{}, { scopes: ['profile'] }]) {
        const asked = rotationOf(grant, 0, { ...narrowed, dpopJkt })
        expect(await store.grants.rotateRefreshToken(asked)).toEqual({ kind: 'wrong_key' })
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

  test('another client’s replay of an old token ends nothing', async () => {
    const [store] = subject().nodes
    const grant = await rotatedTwice(store)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { clientId: randomUUID() }))).toEqual({ kind: 'foreign' })
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
  })

  test('an ended grant stays ended: no token of any generation moves it or changes why it ended', async () => {
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
