/** The client registry, the keys at rest, and the revision by which nodes notice changes of both. */
import { expect, test } from 'vitest'
import { CLIENT_DEFAULTS } from '../../../src/domain/model/client-record.ts'
import type { ClientStore } from '../../../src/domain/model/operator-store.ts'
import type { KeyKind } from '../../../src/protocol/keys/key-ring.ts'
import { NOW, race, type Subject, someClient, someKey } from './subject.ts'

export function clientsContract(subject: Subject): void {
  test('A record that lacks members, as a node without these members writes it during an update, reads with their defaults', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    const record = Object.fromEntries(Object.entries(client).filter(([member]) => !Object.hasOwn(CLIENT_DEFAULTS, member)))
    await store.clients.insertClient(record as typeof client)
    expect(await other.clients.readClient(client.id)).toEqual({ ...CLIENT_DEFAULTS, ...record })
  })

  test('A client reads exactly as it was registered', async () => {
    const [store, other] = subject().nodes
    const client = someClient({
      redirectUris: ['https://app.example.net/\u00e9?a=%C3%A9', 'com.example.app:/cb'],
      disabledAt: NOW,
    })
    expect(await store.clients.insertClient(client)).toBe('inserted')
    expect(await other.clients.readClient(client.id)).toEqual(client)
    expect(await other.clients.readClient(someClient().id)).toBeNull()
  })

  test('Of fifty concurrent registrations under one client id, exactly one succeeds', async () => {
    const client = someClient()
    const outcomes = await race(subject(), 50, (store, index) => store.clients.insertClient({ ...client, name: `app ${index}` }))
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
    const { name } = (await subject().nodes[0].clients.readClient(client.id)) ?? client
    expect(name).toBe(`app ${outcomes.indexOf('inserted')}`)
  })

  test('Of clients that are registered at once, each is registered once, and one whose id is taken is not stored', async () => {
    const clients = Array.from({ length: 60 }, () => someClient())
    const [taken = someClient()] = clients
    await subject().nodes[0].clients.insertClient(taken)
    const others = clients.map((client) => ({ ...client, name: 'Another' }))
    const outcomes = await Promise.all([...others, ...others].map((client) => subject().nodes[0].clients.insertClient(client)))
    expect(outcomes.slice(0, 60)).toEqual(['taken', ...Array.from({ length: 59 }, () => 'inserted')])
    expect(outcomes.slice(60)).toEqual(Array.from({ length: 60 }, () => 'taken'))
    expect(await subject().nodes[0].clients.readClient(taken.id)).toEqual(taken)
    for (const other of others.slice(1)) expect(await subject().nodes[0].clients.readClient(other.id)).toEqual(other)
  })

  test('Clients that are changed at once all change, also if another node changes some of them, and an unknown one is null', async () => {
    const clients = Array.from({ length: 30 }, () => someClient())
    for (const client of clients) await subject().nodes[0].clients.insertClient(client)
    const addScope = (node: ClientStore, id: string, scope: string) =>
      node.changeClient(id, (client) => ({ ...client, scopes: [...client.scopes, scope] }))
    const outcomes = await race(subject(), 2, (store, index) =>
      Promise.all([...clients, someClient()].map(({ id }) => addScope(store.clients, id, `scope.${index}`))),
    )
    for (const outcome of outcomes) expect(outcome.at(-1)).toBeNull()
    for (const { id, scopes } of clients)
      expect(new Set((await subject().nodes[0].clients.readClient(id))?.scopes)).toEqual(
        new Set([...scopes, 'scope.0', 'scope.1']),
      )
  })

  test('A client is replaced as a whole, and only if it is registered', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    expect(await store.clients.replaceClient(client)).toBe('unknown')
    expect(await store.clients.readClient(client.id)).toBeNull()
    await store.clients.insertClient(client)
    const changed = { ...client, name: 'renamed', secrets: [], disabledAt: NOW }
    expect(await store.clients.replaceClient(changed)).toBe('replaced')
    expect(await other.clients.readClient(client.id)).toEqual(changed)
  })

  test('Twenty concurrent changes of one client all take effect: none overwrites another', async () => {
    const [store] = subject().nodes
    const client = someClient({ scopes: [] })
    await store.clients.insertClient(client)
    const changed = await race(subject(), 20, (node, index) =>
      node.clients.changeClient(client.id, (present) =>
        index === 0 ? { ...present, disabledAt: NOW } : { ...present, scopes: [...present.scopes, `scope-${index}`] },
      ),
    )
    expect(changed.every((each) => each?.id === client.id)).toBe(true)
    const after = await store.clients.readClient(client.id)
    expect(after?.disabledAt).toBe(NOW)
    expect(after?.scopes.toSorted()).toEqual(Array.from({ length: 19 }, (_, index) => `scope-${index + 1}`).toSorted())
  })

  test('A change that throws changes nothing, and a change of an unknown client returns null', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    const revision = await store.readRevision()
    const refused = store.clients.changeClient(client.id, () => {
      throw new Error('not like this')
    })
    await expect(refused).rejects.toThrow('not like this')
    expect(await store.clients.changeClient('unknown', (present) => present)).toBeNull()
    expect(await other.clients.readClient(client.id)).toEqual(client)
    expect(await other.readRevision()).toBe(revision)
    await store.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed' }))
    expect(await other.readRevision(), 'noticed by every node').toBeGreaterThan(revision)
  })

  test('A deleted client can no longer be read, listed or deleted', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    expect(await store.clients.deleteClient(client.id)).toBe('deleted')
    expect(await store.clients.deleteClient(client.id)).toBe('unknown')
    expect(await other.clients.readClient(client.id)).toBeNull()
    expect(await other.clients.listClients()).toEqual([])
  })

  test('The logo of a client is read byte for byte on every node, and no other read of the client has the bytes', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    expect(await other.clients.readClientLogo(client.id)).toEqual({ client, bytes: null })
    const bytes = new Uint8Array(Array.from({ length: 1000 }, (_, i) => i % 256))
    const withLogo = { ...client, logo: { hash: 'a'.repeat(64) } }
    const seen = await store.readRevision()
    await store.clients.changeClientLogo(client.id, () => ({ client: withLogo, bytes }))
    expect((await other.readChanges(seen)).changed).toEqual([client.id])
    expect(await other.clients.readClientLogo(client.id)).toEqual({ client: withLogo, bytes })
    expect(await other.clients.readClient(client.id)).toEqual(withLogo)
    await other.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed' }))
    expect(await store.clients.readClientLogo(client.id)).toEqual({ client: { ...withLogo, name: 'renamed' }, bytes })
  })

  test('The logo of a client is removed with the client, and an unknown client has none', async () => {
    const [store] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    await store.clients.changeClientLogo(client.id, (present) => ({ client: present, bytes: new Uint8Array([1]) }))
    await store.clients.deleteClient(client.id)
    expect(await store.clients.readClientLogo(client.id)).toBeNull()
    expect(await store.clients.changeClientLogo(client.id, (present) => ({ client: present, bytes: null }))).toBeNull()
    await store.clients.insertClient(client)
    expect(await store.clients.readClientLogo(client.id)).toEqual({ client, bytes: null })
  })

  test('If a logo and other members of a client are changed at once on two nodes, no change is lost', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    const logo = { hash: 'b'.repeat(64) }
    await Promise.all([
      store.clients.changeClientLogo(client.id, (present) => ({ client: { ...present, logo }, bytes: new Uint8Array([7]) })),
      other.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed' })),
    ])
    expect(await store.clients.readClientLogo(client.id)).toEqual({
      client: { ...client, logo, name: 'renamed' },
      bytes: new Uint8Array([7]),
    })
  })

  test('All clients are listed, the oldest first', async () => {
    const [store] = subject().nodes
    const [second, first] = [someClient({ createdAt: NOW + 1 }), someClient()]
    await store.clients.insertClient(second)
    await store.clients.insertClient(first)
    expect(await store.clients.listClients()).toEqual([first, second])
  })

  test('All clients are read page by page, in the order of their ids', async () => {
    const [store, other] = subject().nodes
    const clients = Array.from({ length: 5 }, () => someClient()).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (const client of clients.toReversed()) await store.clients.insertClient(client)
    const first = await other.clients.readClients({ after: '', limit: 2 })
    expect(first).toEqual(clients.slice(0, 2))
    expect(await other.clients.readClients({ after: first[1]?.id ?? '', limit: 2 })).toEqual(clients.slice(2, 4))
    expect(await other.clients.readClients({ after: clients[3]?.id ?? '', limit: 2 })).toEqual(clients.slice(4))
    expect(await other.clients.readClients({ after: clients[4]?.id ?? '', limit: 2 })).toEqual([])
  })

  test('A node that has read an earlier revision reads which clients and keys have changed since', async () => {
    const [store, other] = subject().nodes
    const [client, next] = [someClient(), someClient()]
    const key = someKey({ kind: 'mac', number: 1 })
    const seen = await other.readRevision()
    expect(await other.readChanges(seen)).toEqual({ revision: seen, changed: 'everything' })
    await store.clients.insertClient(client)
    await store.clients.replaceClient({ ...client, name: 'renamed' })
    await store.clients.insertClient(next)
    const between = await other.readRevision()
    await store.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed again' }))
    await store.keys.insertKey(key)
    await store.keys.retireKey(key.id, key.kind, NOW)
    await store.clients.deleteClient(next.id)
    const revision = await other.readRevision()
    expect(await other.readChanges(between)).toEqual({ revision, changed: [client.id, key.id, key.id, next.id] })
    expect(await other.readChanges(seen)).toMatchObject({ revision, changed: { length: 7 } })
    expect(await other.readChanges(revision + 1), 'of a database that was put back').toEqual({ revision, changed: 'everything' })
    expect(await other.readChanges(-1), 'of a node that has seen nothing').toEqual({ revision, changed: 'everything' })
  })

  test('If two nodes change twenty clients at once, the list of changes contains each of them', async () => {
    const clients = Array.from({ length: 20 }, () => someClient())
    const [store, other] = subject().nodes
    const seen = await store.readRevision()
    await race(subject(), 20, (node, index) => node.clients.insertClient(clients[index] ?? someClient()))
    const { changed } = await other.readChanges(seen)
    expect(new Set(changed)).toEqual(new Set(clients.map(({ id }) => id)))
  })

  test('Only the latest changes are kept: a node that has missed more reads everything again', async () => {
    const [store] = subject().nodes
    const client = someClient()
    await store.clients.insertClient(client)
    const seen = await store.readRevision()
    for (let change = 0; change < 100; change++) await store.clients.replaceClient({ ...client, name: `change ${change}` })
    expect(await store.readChanges(seen)).toEqual({ revision: seen + 100, changed: 'everything' })
    expect(await store.readChanges(seen + 70)).toEqual({
      revision: seen + 100,
      changed: Array.from({ length: 30 }, () => client.id),
    })
  })

  test('The revision grows with every change of a client, and with nothing else', async () => {
    const [store, other] = subject().nodes
    const client = someClient()
    const revisions = [await store.readRevision()]
    const note = async () => revisions.push(await other.readRevision())
    await store.clients.insertClient(client)
    await note()
    await store.clients.replaceClient({ ...client, name: 'renamed' })
    await note()
    await store.clients.deleteClient(client.id)
    await note()
    expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b))

    await store.clients.deleteClient(client.id)
    await store.clients.replaceClient(client)
    await store.clients.readClient(client.id)
    await store.checkWritable()
    expect(await store.readRevision()).toBe(revisions.at(-1))
  })
}

export function keysContract(subject: Subject): void {
  test('A key reads exactly as it was stored, its wrapped material byte for byte', async () => {
    const [store, other] = subject().nodes
    const keys = (['mac', 'seal', 'sign'] as const).map((kind) => someKey({ kind, number: 1 }))
    for (const key of keys) expect(await store.keys.insertKey(key)).toBe('inserted')
    expect((await other.keys.listKeys()).map(plain)).toEqual(keys.map(plain))
  })

  test('If fifty nodes insert the next key of a kind at once, exactly one key is stored', async () => {
    const keys = Array.from({ length: 50 }, () => someKey({ kind: 'seal', number: 7 }))
    const outcomes = await race(subject(), 50, (store, index) => store.keys.insertKey(keys[index] ?? someKey()))
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
    const listed = await subject().nodes[1].keys.listKeys()
    expect(listed.map(({ id }) => id)).toEqual([keys[outcomes.indexOf('inserted')]?.id])
  })

  test("A key's number is unique within its kind, and a key's id is unique among all kinds", async () => {
    const [store] = subject().nodes
    const key = someKey({ kind: 'seal', number: 1 })
    await store.keys.insertKey(key)
    expect(await store.keys.insertKey(someKey({ kind: 'mac', number: 1 }))).toBe('inserted')
    expect(await store.keys.insertKey(someKey({ kind: 'sign', number: 1, id: key.id }))).toBe('taken')
    expect(await store.keys.insertKey(someKey({ kind: 'seal', number: 1 }))).toBe('taken')
    expect(await store.keys.listKeys()).toHaveLength(2)
  })

  test('A retired key keeps its id and number, which are never reused, and loses its material', async () => {
    const [store, other] = subject().nodes
    const key = someKey({ kind: 'mac', number: 3 })
    await store.keys.insertKey(key)
    expect(await store.keys.retireKey(key.id, 'mac', NOW + 5)).toBe('retired')
    expect(await other.keys.retireKey(key.id, 'mac', NOW + 9)).toBe('unknown')
    expect(await other.keys.listKeys()).toEqual([{ ...key, wrapped: null, retiredAt: NOW + 5 }])
    expect(await other.keys.insertKey(someKey({ kind: 'mac', number: 3 })), 'its number is never given again').toBe('taken')
  })

  test('A key is rewrapped once per wrapping that was read, and never after its retirement', async () => {
    const [store, other] = subject().nodes
    const [key, neighbour] = [someKey({ kind: 'mac', number: 3 }), someKey({ kind: 'seal', number: 3 })]
    for (const each of [key, neighbour]) await store.keys.insertKey(each)
    const from = key.wrapped ?? new Uint8Array()
    const wrappings = Array.from({ length: 10 }, (_, index) => new Uint8Array([index, ...from]))
    const outcomes = await race(subject(), 10, (node, index) => node.keys.rewrapKey(key, from, wrappings[index] ?? from))
    expect(outcomes.filter((outcome) => outcome === 'rewrapped')).toHaveLength(1)
    const wrapped = wrappings[outcomes.indexOf('rewrapped')] ?? from
    expect((await other.keys.listKeys()).map(plain)).toEqual([{ ...key, wrapped }, neighbour].map(plain))
    expect(await store.keys.rewrapKey({ id: key.id, kind: 'seal' }, wrapped, from)).toBe('changed')
    await store.keys.retireKey(key.id, 'mac', NOW)
    expect(await store.keys.rewrapKey(key, wrapped, from)).toBe('changed')
    expect((await other.keys.listKeys()).find(({ id }) => id === key.id)?.wrapped).toBeNull()
  })

  test.each<[string, (id: string) => string, KeyKind]>([
    ['an unknown id', () => 'ffffffffff', 'sign'],
    ['the id of a key of another kind', (id) => id, 'seal'],
  ])('Retiring a key by %s retires nothing', async (_, idOf, kind) => {
    const [store] = subject().nodes
    const key = someKey({ kind: 'sign' })
    await store.keys.insertKey(key)
    expect(await store.keys.retireKey(idOf(key.id), kind, NOW)).toBe('unknown')
    expect((await store.keys.listKeys()).map(plain)).toEqual([plain(key)])
  })

  test('The revision grows with every change of a key, and with nothing else', async () => {
    const [store, other] = subject().nodes
    const key = someKey()
    const before = await store.readRevision()
    await store.keys.insertKey(key)
    const inserted = await other.readRevision()
    expect(inserted).toBeGreaterThan(before)
    await store.keys.insertKey(key)
    expect(await other.readRevision()).toBe(inserted)
    const from = key.wrapped ?? new Uint8Array()
    await store.keys.rewrapKey(key, from, new Uint8Array([1]))
    const rewrapped = await other.readRevision()
    expect(rewrapped).toBeGreaterThan(inserted)
    await store.keys.rewrapKey(key, from, new Uint8Array([2]))
    expect(await other.readRevision()).toBe(rewrapped)
    await store.keys.retireKey(key.id, key.kind, NOW)
    const retired = await other.readRevision()
    expect(retired).toBeGreaterThan(rewrapped)
    await store.keys.retireKey(key.id, key.kind, NOW)
    expect(await other.readRevision()).toBe(retired)
  })
}

/** The key with its material as hexadecimal text, because engines return different kinds of byte arrays. */
function plain({ wrapped, ...key }: ReturnType<typeof someKey>): object {
  return { ...key, wrapped: wrapped && Buffer.from(wrapped).toString('hex') }
}
