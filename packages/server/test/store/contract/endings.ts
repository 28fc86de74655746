/** Ending grants, one or many, and listing them. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type GrantPage, type GrantPlace, readGrantPage } from '../../../src/domain/consent/list-grants.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import { PAGE } from '../../../src/domain/model/pages.ts'
import type { EndReason, Grant } from '../../../src/domain/model/records.ts'
import { DAY, endAll, livingGrant, NOW, newGrant, race, rotationOf, type Subject, someWallet } from './subject.ts'

const ending = (attemptId: string) => ({ reason: 'user' as const, attemptId, at: NOW + 5 })

export function endingsContract(subject: Subject): void {
  test('A grant ends once: a later ending does not change its time and reason', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    expect(await store.grants.endGrant(grant.id, 'revoked', NOW + 1)).toBe('ended')
    expect(await other.grants.endGrant(grant.id, 'operator', NOW + 2)).toBe('ended_before')
    expect(await other.grants.readGrant(grant.id)).toEqual({ ...before, endedAt: NOW + 1, endReason: 'revoked' })
  })

  test('Of fifty concurrent endings of one grant, exactly one returns that it ended the grant', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const reasons: EndReason[] = ['revoked', 'operator']
    const outcomes = await race(subject(), 50, (store, index) =>
      store.grants.endGrant(grant.id, reasons[index % 2] ?? 'revoked', NOW + index),
    )
    expect(outcomes.filter((outcome) => outcome === 'ended')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'ended_before')).toHaveLength(49)
    const first = outcomes.indexOf('ended')
    expect(await subject().nodes[0].grants.readGrant(grant.id)).toMatchObject({
      endedAt: NOW + first,
      endReason: reasons[first % 2],
    })
  })

  test('An ending that names a client ends only a grant of that client (RFC 7009 §2.1)', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    expect(await store.grants.endGrant(grant.id, 'revoked', NOW, randomUUID())).toBe('foreign')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
    expect(await store.grants.endGrant(grant.id, 'revoked', NOW, grant.clientId)).toBe('ended')
    expect(await store.grants.endGrant(grant.id, 'revoked', NOW, grant.clientId)).toBe('ended_before')
    expect(await store.grants.endGrant(grant.id, 'revoked', NOW, randomUUID()), 'ended or not').toBe('foreign')
    expect(await store.grants.endGrant(randomUUID(), 'revoked', NOW, grant.clientId)).toBe('unknown')
    expect(await store.grants.endGrant(randomUUID(), 'revoked', NOW)).toBe('unknown')
  })

  test('A grant that is ended during fifty concurrent refreshes is ended afterwards, and its newest token is refused', async () => {
    const grant = await livingGrant(subject().nodes[0])
    const outcomes = await race(subject(), 51, async (store, index) => {
      if (index === 25) return store.grants.endGrant(grant.id, 'revoked', NOW)
      return (await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind
    })
    expect(outcomes[25]).toBe('ended')
    expect(await subject().nodes[1].grants.readGrant(grant.id)).toMatchObject({ endedAt: NOW, endReason: 'revoked' })
    expect(await subject().nodes[1].grants.rotateRefreshToken(rotationOf(grant, 1))).toEqual({ kind: 'ended' })
  })

  test('Ending the grants of a wallet, of a client, or of both together ends exactly these grants', async () => {
    const [store] = subject().nodes
    const wallets = [someWallet(), someWallet()] as const
    const clients = [randomUUID(), randomUUID()] as const
    const makeGrants = async () => {
      const grants = wallets.flatMap((wallet) => clients.map((clientId) => newGrant({ wallet, clientId })))
      for (const grant of grants) await store.grants.redeemCode(grant, randomUUID(), NOW)
      return () => Promise.all(grants.map(async ({ id }) => (await store.grants.readGrant(id))?.endReason ?? 'living'))
    }
    const stateOfFirst = await makeGrants()
    expect(await endAll(store, { wallet: wallets[0], clientId: clients[1] }, 'operator', NOW)).toBe(1)
    expect(await stateOfFirst()).toEqual(['living', 'operator', 'living', 'living'])
    expect(await endAll(store, { wallet: wallets[0] }, 'revoked', NOW), 'counts only those that lived').toBe(1)
    expect(await stateOfFirst()).toEqual(['revoked', 'operator', 'living', 'living'])
    const stateOfSecond = await makeGrants()
    expect(await endAll(store, { clientId: clients[0] }, 'client_deleted', NOW)).toBe(3)
    expect(await endAll(store, { clientId: clients[0] }, 'operator', NOW), 'again: nothing is left').toBe(0)
    expect(await stateOfFirst(), 'the first reason stays').toEqual(['revoked', 'operator', 'client_deleted', 'living'])
    expect(await stateOfSecond()).toEqual(['client_deleted', 'living', 'client_deleted', 'living'])
  })

  test('An empty client id or wallet matches no grant, and ending an empty list of ids ends none', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    expect(await store.grants.listUnendedGrants({ wallet: grant.wallet, clientId: '', limit: 10 })).toEqual([])
    expect(await store.grants.listUnendedGrants({ wallet: '' as `0x${string}`, limit: 10 })).toEqual([])
    expect(await store.grants.endGrants([], ending('attempt'))).toEqual([])
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
  })

  test('If the same attempt repeats an ending of several grants after a lost response, it returns the same grants, on any node', async () => {
    const [store, other] = subject().nodes
    const [ended, first, second, expired] = [
      await livingGrant(store),
      await livingGrant(store),
      await livingGrant(store),
      await livingGrant(store, { refreshExpiresAt: NOW - 1 }),
    ]
    await store.grants.endGrant(ended.id, 'revoked', NOW)
    const ids = [ended, first, second, expired].map(({ id }) => id)
    const endedNow = [first.id, second.id, expired.id].sort()
    expect((await store.grants.endGrants([...ids, randomUUID()], ending('attempt-1'))).sort()).toEqual(endedNow)
    expect((await other.grants.endGrants(ids, { ...ending('attempt-1'), at: NOW + 9 })).sort()).toEqual(endedNow)
    expect(await other.grants.endGrants(ids, ending('attempt-2')), 'another attempt ends nothing more').toEqual([])
    expect(await store.grants.readGrant(ended.id), 'the first reason stays').toMatchObject({ endReason: 'revoked', endedAt: NOW })
    expect(await store.grants.readGrant(first.id)).toMatchObject({ endReason: 'user', endedAt: NOW + 5 })
  })

  test('Of twenty concurrent endings of the same grants, exactly one returns each grant', async () => {
    const [store] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 30 }, () => livingGrant(store)))
    const ids = grants.map(({ id }) => id)
    const outcomes = await race(subject(), 20, (node, index) => node.grants.endGrants(ids, ending(`attempt-${index}`)))
    expect(outcomes.flat().sort()).toEqual(ids.toSorted())
  })

  test.each<['client' | 'wallet', EndReason]>([
    ['client', 'client_deleted'],
    ['wallet', 'user'],
  ])('All of the thousands of grants of one %s are ended and counted while other grants are created', async (whose, reason) => {
    const [store, other] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const of = whose === 'client' ? { clientId } : { wallet }
    const grants = Array.from({ length: 20 * PAGE + 1 }, () => newGrant(of))
    // Not all at once: on Citus each one is a statement, which is refused if it waits for a connection for long.
    for (let first = 0; first < grants.length; first += PAGE)
      await Promise.all(grants.slice(first, first + PAGE).map((grant) => store.grants.redeemCode(grant, randomUUID(), NOW)))
    const progress = { over: false }
    const ended = endAll(store, of, reason, NOW).finally(() => (progress.over = true))
    let between = 0
    for (; !progress.over; between++) await livingGrant(other)
    expect(await ended).toBe(grants.length)
    expect(between).toBeGreaterThan(2)
    expect(await store.grants.countUnendedGrants('clientId' in of ? { clientId } : { wallet }, 1)).toBe(0)
  })

  test('The unended grants of a wallet or of a client are counted, up to a bound', async () => {
    const [store, other] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const [first] = [await livingGrant(store, { wallet, clientId }), await livingGrant(store, { wallet })]
    for (let n = 0; n < 3; n++) await livingGrant(store, { clientId })
    await store.grants.endGrant(first.id, 'revoked', NOW)
    expect(await other.grants.countUnendedGrants({ wallet }, 10)).toBe(1)
    expect(await other.grants.countUnendedGrants({ clientId }, 10)).toBe(3)
    expect(await other.grants.countUnendedGrants({ clientId }, 2)).toBe(2)
    expect(await other.grants.countUnendedGrants({ clientId: randomUUID() }, 2)).toBe(0)
  })

  test('All grants are counted, up to a bound, and beyond the bound the number is marked as no exact one', async () => {
    const [store, other] = subject().nodes
    const ended = await livingGrant(store)
    await store.grants.endGrant(ended.id, 'revoked', NOW)
    for (let n = 0; n < 3; n++) await livingGrant(store)
    expect(await other.grants.countGrants(4)).toEqual({ number: 4, kind: 'exact' })
    const beyond = await other.grants.countGrants(2)
    expect(['estimate', 'at_least']).toContain(beyond.kind)
    expect(beyond.number).toBeGreaterThanOrEqual(2)
  })

  test('The unended grants of a wallet are listed page by page, by client and then newest first, expired ones too', async () => {
    const [store, other] = subject().nodes
    const [wallet, bystander] = [someWallet(), someWallet()]
    const clients = [randomUUID(), randomUUID(), randomUUID()]
    const makeGrants = (index: number, of: object) =>
      store.grants.redeemCode(newGrant({ clientId: clients[index % 3] ?? '', ...of }), randomUUID(), NOW + Math.floor(index / 9))
    await Promise.all(Array.from({ length: 40 }, (_, index) => makeGrants(index, { wallet })))
    await Promise.all(Array.from({ length: 5 }, (_, index) => makeGrants(index, { wallet: bystander })))
    await makeGrants(7, { wallet, refreshExpiresAt: NOW - 1 })
    const over = newGrant({ wallet })
    await store.grants.spendCode(over, randomUUID(), NOW)
    const all = await store.grants.listUnendedGrants({ wallet, limit: 100 })
    expect(all).toHaveLength(41)
    const placeOf = ({ clientId, createdAt, id }: Grant) => `${clientId} ${createdAt} ${id}`
    expect(all.map(placeOf)).toEqual(all.map(placeOf).toSorted().toReversed())
    for (const clientId of [undefined, ...clients]) {
      const expected = all.filter((grant) => clientId === undefined || grant.clientId === clientId)
      const paged: Grant[] = []
      for (let page = all.slice(0, 4); page.length > 0; paged.push(...page))
        page = await other.grants.listUnendedGrants({ wallet, clientId, limit: 4, after: paged.at(-1) })
      expect(paged).toEqual(expected)
    }
    const [, , third] = all
    const after = { clientId: third?.clientId ?? '', createdAt: 0, id: '' }
    const rest = await store.grants.listUnendedGrants({ wallet, limit: 100, after })
    expect(rest, 'a page may begin after all grants of a client').toEqual(all.filter(({ clientId }) => clientId < after.clientId))
  })

  test('A list of grants contains the newest first, no more than its limit, and only those that match the filter', async () => {
    const [store] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const makeGrants = async (at: number, grant: Parameters<typeof newGrant>[0]) => {
      const born = newGrant({ id: newGrantId(at), ...grant })
      await store.grants.redeemCode(born, randomUUID(), at)
      return born.id
    }
    const both = await makeGrants(NOW + 3, { wallet, clientId })
    const walletOnly = await makeGrants(NOW + 1, { wallet })
    const clientOnly = await makeGrants(NOW + 2, { clientId })
    const idle = await makeGrants(NOW, { wallet, clientId, refreshExpiresAt: NOW + DAY })
    const ended = await makeGrants(NOW + 4, { wallet, clientId })
    await store.grants.endGrant(ended, 'revoked', NOW + 5)

    const ids = (grants: Grant[]) => grants.map(({ id }) => id)
    const list = async (filter: object) => ids(await store.grants.listGrants({ limit: 100, ...filter }))
    expect(await list({})).toEqual([ended, both, clientOnly, walletOnly, idle])
    expect(await list({ limit: 2 })).toEqual([ended, both])
    expect(await list({ wallet })).toEqual([ended, both, walletOnly, idle])
    expect(await list({ clientId })).toEqual([ended, both, clientOnly, idle])
    expect(await list({ clientId, limit: 2 })).toEqual([ended, both])
    expect(await list({ clientId, unended: true })).toEqual([both, clientOnly, idle])
    expect(await list({ clientId, unended: true, order: 'oldest' })).toEqual([idle, clientOnly, both])
    expect(await list({ clientId, unended: true, order: 'oldest', limit: 1, after: { id: idle, createdAt: NOW } })).toEqual([
      clientOnly,
    ])
    expect(await list({ wallet: someWallet() })).toEqual([])
    expect((await store.grants.listGrants({ wallet, limit: 1 }))[0]).toEqual(await store.grants.readGrant(ended))

    const page = async (query: object, at = NOW + 6) =>
      ids((await readGrantPage(store.grants, { living: false, at, ...query }, { limit: 100 })).items)
    expect(await page({ wallet, clientId })).toEqual([ended, both, idle])
    expect(await page({ wallet, clientId, living: true })).toEqual([both, idle])
    expect(await page({ clientId, living: true }, NOW + DAY), 'an expired grant is not active').toEqual([both, clientOnly])
    expect((await page({ wallet, living: true }, NOW + DAY)).toSorted()).toEqual([both, walletOnly].toSorted())
    expect(await page({ living: true }, NOW + DAY)).toEqual([both, clientOnly, walletOnly])
  })

  test('A list of grants read page by page has no duplicates and no gaps if grants are created and ended meanwhile', async () => {
    const [store, other] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const whose = [{ wallet, clientId }, { wallet }, { clientId }, {}]
    // More grants in one second than a page holds, so that the time alone does not identify the end of a page.
    const makeGrants = (at: number, of: object) =>
      store.grants.redeemCode(newGrant({ id: newGrantId(at), ...of }), randomUUID(), at)
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => makeGrants(NOW + Math.floor(index / 15), whose[index % 4] as object)),
    )
    for (const query of whose.flatMap((of) => [
      { ...of, living: false, at: NOW + 9 },
      { ...of, living: true, at: NOW + 9 },
    ])) {
      const all = (await readGrantPage(store.grants, query, { limit: 100 })).items
      const ages = all.filter(({ clientId }, _, [first]) => clientId === first?.clientId).map(({ createdAt }) => createdAt)
      expect(ages, 'the newest first').toEqual(ages.toSorted((a, b) => b - a))
      const paged: Grant[] = []
      for (let after: GrantPlace | null | undefined; after !== null; ) {
        const page: GrantPage = await readGrantPage(store.grants, query, { limit: 4, after })
        paged.push(...page.items)
        after = page.next
        await Promise.all([
          makeGrants(NOW + 5, { wallet, clientId }),
          page.items[0] && other.grants.endGrant(page.items[0].id, 'operator', NOW + 6),
        ])
      }
      const listed = paged.map(({ id }) => id)
      expect(new Set(listed).size, 'no duplicates').toBe(listed.length)
      expect(listed.filter((id) => all.some((grant) => grant.id === id))).toEqual(all.map(({ id }) => id))
    }
  })
}
