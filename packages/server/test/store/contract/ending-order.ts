/** Reading what ended, in the order of the commits: each ending is returned, and a quiet read returns nothing twice. */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Ending, type EndingPlace, hashOfClient } from '../../../src/domain/model/ending-store.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { DAY, endAll, livingGrant, NOW, race, rotationOf, type Subject, someClient, someSession, someWallet } from './subject.ts'

const WITHIN = 3600

/** Reads the endings as a node does, page after page, and remembers the place. The first read has no place. */
export function readerOf(store: Pick<Store, 'endings'>, limit = 1000) {
  let place: EndingPlace | null = null
  return async (at = NOW): Promise<Ending[]> => {
    const endings: Ending[] = []
    for (;;) {
      const page = await store.endings.readEndings(place, { within: WITHIN, limit, at })
      endings.push(...page.endings)
      place = page.place
      if (!page.hasMore) return endings
    }
  }
}

/** What identifies an ending: the id of the grant, the `jti`, or the hash. */
export function keyOf(ending: Ending): string {
  if (ending.kind === 'grant') return ending.grantId
  return ending.kind === 'token' ? ending.jti : ending.hash
}

const hash = () => randomBytes(32).toString('base64url')
const revocation = ({ id: grantId, clientId }: NewGrant, jti: string) => ({
  grantId,
  clientId,
  jti,
  expiresAt: NOW + DAY,
  at: NOW,
})
const WITHOUT_USER: Partial<Client> = { grantTypes: ['client_credentials'] }
const EXCHANGING: Partial<Client> = {
  resourceServer: 'https://mcp.example.com/',
  exchangeResources: ['https://api.example.com/'],
}

/** The ways in which tokens become inactive. Each returns the keys of the endings that it caused. */
const ENDINGS: Record<string, (store: Store) => Promise<string[]>> = {
  async 'a revoked refresh token'(store) {
    const { id, clientId } = await livingGrant(store)
    expect(await store.grants.endGrant(id, 'revoked', NOW, clientId)).toBe('ended')
    return [id]
  },
  async 'an app that the user ended'(store) {
    const wallet = someWallet()
    const grants = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
    expect(await endAll(store, { wallet }, 'user', NOW)).toBe(2)
    return grants.map(({ id }) => id)
  },
  async 'a used refresh token that was presented again'(store) {
    const grant = await livingGrant(store)
    for (const generation of [0, 1]) await store.grants.rotateRefreshToken(rotationOf(grant, generation, { at: NOW }))
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW }))).toMatchObject({ kind: 'replayed' })
    return [grant.id]
  },
  async 'a refresh token that is newer than the row'(store) {
    const grant = await livingGrant(store)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 2, { at: NOW }))).toMatchObject({ kind: 'newer_than_row' })
    return [grant.id]
  },
  async 'two access tokens of one grant'(store) {
    const [grant, tokens] = [await livingGrant(store), [randomUUID(), randomUUID()]]
    for (const jti of tokens) expect(await store.grants.revokeAccessToken(revocation(grant, jti))).toBe('revoked')
    return tokens
  },
  async 'one access token more than a grant may have revoked'(store) {
    const grant = await livingGrant(store)
    const tokens = Array.from({ length: 64 }, () => randomUUID())
    for (const jti of tokens) await store.grants.revokeAccessToken(revocation(grant, jti))
    expect(await store.grants.revokeAccessToken(revocation(grant, randomUUID()))).toBe('grant_ended')
    return [grant.id, ...tokens]
  },
  async 'an access token without a grant'(store) {
    const token = { hash: hash(), clientId: randomUUID(), attemptId: randomUUID(), at: NOW }
    expect(await store.spent.revokeClientToken(token)).toBe('spent')
    return [token.hash]
  },
  async 'everything, after a restoration'(store) {
    const grant = await livingGrant(store)
    await store.restorations.endEverything(() => NOW)
    return [grant.id]
  },
  async 'a client that was disabled'(store) {
    return changed(store, {}, (client) => ({ ...client, disabledAt: NOW }))
  },
  async 'a client that may no longer have tokens of its own'(store) {
    return changed(store, WITHOUT_USER, (client) => ({ ...client, grantTypes: ['authorization_code'] }))
  },
  async 'a client that may no longer exchange tokens for a resource'(store) {
    return changed(store, EXCHANGING, (client) => ({ ...client, exchangeResources: [] }))
  },
  async 'a client that exchanges the tokens of another resource'(store) {
    return changed(store, EXCHANGING, (client) => ({ ...client, resourceServer: 'https://other.example.com/' }))
  },
  async 'a client that was disabled with its logo'(store) {
    const client = someClient()
    await store.clients.insertClient(client)
    await store.clients.changeClientLogo(client.id, (present) => ({ client: { ...present, disabledAt: NOW }, bytes: null }))
    return [hashOfClient(client.id)]
  },
  async 'a client that was replaced by a disabled one'(store) {
    const client = someClient()
    await store.clients.insertClient(client)
    expect(await store.clients.replaceClient({ ...client, disabledAt: NOW })).toBe('replaced')
    return [hashOfClient(client.id)]
  },
  async 'a client that was deleted'(store) {
    const client = someClient()
    await store.clients.insertClient(client)
    expect(await store.clients.deleteClient(client.id)).toBe('deleted')
    return [hashOfClient(client.id)]
  },
}

async function changed(store: Store, client: Partial<Client>, change: (client: Client) => Client): Promise<string[]> {
  const { id } = someClient(client)
  await store.clients.insertClient({ ...someClient(client), id })
  expect(await store.clients.changeClient(id, change)).not.toBeNull()
  return [hashOfClient(id)]
}

export function endingOrderContract(subject: Subject): void {
  test('An ended grant is read with its resources and its time, on every node, and other grants are not read', async () => {
    const [store, other] = subject().nodes
    const reads = [readerOf(store), readerOf(other)]
    expect(await Promise.all(reads.map((read) => read()))).toEqual([[], []])
    const grant = await livingGrant(store)
    await livingGrant(store, { expiresAt: NOW + 1, refreshExpiresAt: NOW + 1 })
    await store.grants.endGrant(grant.id, 'revoked', NOW + 5)
    const ended = { kind: 'grant', grantId: grant.id, clientId: grant.clientId, resources: grant.resources, at: NOW + 5 }
    expect(await Promise.all(reads.map((read) => read()))).toEqual([[ended], [ended]])
  })

  test('Everything that makes access tokens inactive is read after it was acknowledged', async () => {
    const [store, other] = subject().nodes
    const read = readerOf(other)
    await read()
    const found: Record<string, string[]> = {}
    const caused: Record<string, string[]> = {}
    for (const [what, end] of Object.entries(ENDINGS)) {
      caused[what] = (await end(store)).sort()
      found[what] = [...new Set((await read()).map(keyOf))].filter((key) => caused[what]?.includes(key)).sort()
    }
    expect(found).toEqual(caused)
  })

  test('A first read without a place returns everything that ended within its time, and none that ended long before', async () => {
    const [store, other] = subject().nodes
    const old = await livingGrant(store)
    await store.grants.endGrant(old.id, 'revoked', NOW - WITHIN - 100)
    const keys = []
    for (const end of Object.values(ENDINGS)) keys.push(...(await end(store)))
    const found = (await readerOf(other)()).map(keyOf)
    expect(found).toEqual(expect.arrayContaining(keys))
    expect(found).not.toContain(old.id)
  })

  test('The kinds, times, clients and resources of the endings are those of what ended', async () => {
    const [store] = subject().nodes
    const [read, resources] = [readerOf(store), ['https://api.example.com/v1']]
    await read()
    const grant = await livingGrant(store, { resources })
    await store.grants.revokeAccessToken({ ...revocation(grant, 'a-token'), at: NOW + 1 })
    const [clientId, resource] = [randomUUID(), 'https://files.example.com/']
    await store.spent.revokeClientToken({ hash: 'of-a-token', attemptId: randomUUID(), at: NOW + 2, clientId, resource })
    await store.spent.revokeClientToken({ hash: 'of-another', attemptId: randomUUID(), at: NOW + 3, clientId })
    const client = someClient()
    await store.clients.insertClient(client)
    await store.clients.deleteClient(client.id)
    expect((await read()).sort((one, next) => next.at - one.at)).toEqual([
      { kind: 'client_token', hash: 'of-another', clientId, at: NOW + 3 },
      { kind: 'client_token', hash: 'of-a-token', clientId, resources: [resource], at: NOW + 2 },
      { kind: 'token', jti: 'a-token', clientId: grant.clientId, resources, at: NOW + 1 },
      { kind: 'client', hash: hashOfClient(client.id), at: NOW },
    ])
  })

  test('A change that leaves the tokens of a client active is not read, nor are a new client, a refresh, a session or a used assertion', async () => {
    const [store] = subject().nodes
    const read = readerOf(store)
    await read()
    const client = someClient(WITHOUT_USER)
    await store.clients.insertClient(client)
    await store.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed' }))
    await store.clients.changeClient(client.id, () => ({ ...client, grantTypes: ['client_credentials', 'refresh_token'] }))
    await store.clients.changeClient(client.id, (present) => ({ ...present, ...EXCHANGING }))
    expect(await store.clients.deleteClient(randomUUID())).toBe('unknown')
    const grant = await livingGrant(store)
    await store.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW }))
    await store.spent.spend({ kind: 'assertion', hash: hash(), expiresAt: NOW + DAY, attemptId: randomUUID() })
    await store.sessions.startSession(someSession({ epoch: 0 }), randomUUID())
    expect(await read()).toEqual([])
  })

  test('A client that is enabled and disabled again is read again', async () => {
    const [store] = subject().nodes
    const read = readerOf(store)
    const client = someClient()
    await store.clients.insertClient(client)
    const disable = () => store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: NOW }))
    await disable()
    expect(await read()).toHaveLength(1)
    await disable()
    await store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: null }))
    await disable()
    expect(new Set((await read()).map(keyOf))).toEqual(new Set([hashOfClient(client.id)]))
  })

  test('A client that another change enabled in between ends again, and that is read', async () => {
    const [store, other] = subject().nodes
    const read = readerOf(store)
    for (let round = 0; round < 10; round++) {
      const client = someClient({ disabledAt: NOW })
      await store.clients.insertClient(client)
      await read()
      let wasEnabled = false
      await Promise.all([
        store.clients.changeClient(client.id, (present) => ({ ...present, disabledAt: null })),
        other.clients.changeClient(client.id, (present) => {
          wasEnabled = present.disabledAt === null
          return { ...present, disabledAt: NOW }
        }),
      ])
      expect((await read()).some((ending) => keyOf(ending) === hashOfClient(client.id))).toBe(wasEnabled)
    }
  })

  test('Pages of any size return every ending, while grants end on two nodes', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 120 }, () => livingGrant(store)))
    const tokens = Array.from({ length: 20 }, () => ({ hash: hash(), clientId: randomUUID(), attemptId: randomUUID(), at: NOW }))
    const readers = [1, 2, 7, 50].map((limit) => ({ read: readerOf(other, limit), found: new Set<string>() }))
    const readAll = () =>
      Promise.all(readers.map(async ({ read, found }) => (await read()).forEach((ending) => found.add(keyOf(ending)))))
    const done = new AbortController()
    const reading = (async () => {
      while (!done.signal.aborted) await readAll()
    })()
    await race(subject(), grants.length + tokens.length, async (node, index) => {
      const [grant, token] = [grants[index], tokens[index - grants.length]]
      if (grant) await node.grants.endGrant(grant.id, 'revoked', NOW + (index % 3))
      if (token) await node.spent.revokeClientToken(token)
    })
    done.abort()
    await reading
    await readAll()
    const keys = [...grants.map(({ id }) => id), ...tokens.map((token) => token.hash)].sort()
    for (const { found } of readers) expect([...found].sort()).toEqual(keys)
  })

  test('A read returns what was acknowledged before the read, at every moment of a hundred endings', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 100 }, () => livingGrant(store)))
    const read = readerOf(other, 10)
    const [acknowledged, found] = [new Set<string>(), new Set<string>()]
    const done = new AbortController()
    const reading = (async () => {
      while (!done.signal.aborted) {
        const before = [...acknowledged]
        for (const ending of await read()) found.add(keyOf(ending))
        expect(before.filter((id) => !found.has(id))).toEqual([])
      }
    })()
    await Promise.all(
      grants.map(async ({ id }, index) => {
        await new Promise((resolve) => setTimeout(resolve, index % 40))
        await (index % 2 === 0 ? store : other).grants.endGrant(id, 'revoked', NOW)
        acknowledged.add(id)
      }),
    )
    done.abort()
    await reading
  })

  test('After a restart, a place that was read before is continued or refused by another instance', async () => {
    const [store] = subject().nodes
    const first = await livingGrant(store)
    await store.grants.endGrant(first.id, 'revoked', NOW)
    const { place } = await store.endings.readEndings(null, { within: WITHIN, limit: 10, at: NOW })
    const again = await subject().restart()
    const later = await livingGrant(again)
    await again.grants.endGrant(later.id, 'revoked', NOW)
    const read = await again.endings.readEndings(place, { within: WITHIN, limit: 10, at: NOW })
    expect(read.endings.map(keyOf)).toContain(later.id)
    expect(read.place.instance).toBe(place.instance)
  })

  test('Endings stay readable in their order after the rows of old endings were deleted', async () => {
    const [store, other] = subject().nodes
    const read = readerOf(other)
    for (let round = 0; round < 3; round++) {
      const grants = await Promise.all(Array.from({ length: 5 }, () => livingGrant(store)))
      for (const { id } of grants) await store.grants.endGrant(id, 'revoked', NOW)
      expect((await read()).map(keyOf)).toEqual(expect.arrayContaining(grants.map(({ id }) => id)))
      await store.cleaning.sweep('endings', { overFor: 10, limit: 100, at: NOW + 100 })
    }
  })
}
