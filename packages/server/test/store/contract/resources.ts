/** The registered resources, their bound, and the revision by which nodes notice their changes. */
import { expect, test } from 'vitest'
import { RESOURCES_CHANGED } from '../../../src/domain/model/changes.ts'
import { RESOURCES_AT_MOST } from '../../../src/domain/model/operator-store.ts'
import type { Resource } from '../../../src/domain/model/records.ts'
import { NOW, race, type Subject } from './subject.ts'

function someResource(resource: Partial<Resource> = {}): Resource {
  return {
    uri: 'https://notes.example.com/mcp',
    name: 'Zoë’s “notes” 🎈',
    scopes: [{ name: 'notes.read', description: 'read your notes' }],
    openTo: ['registered', 'metadata'],
    createdAt: NOW,
    ...resource,
  }
}

const numbered = (n: number): Resource => someResource({ uri: `https://api.example.com/${String(n).padStart(4, '0')}` })

export function resourcesContract(subject: Subject): void {
  test('A resource is stored unchanged, and a URI can be registered once', async () => {
    const [store, other] = subject().nodes
    expect(await store.resources.insertResource(someResource())).toBe('inserted')
    expect(await other.resources.insertResource(someResource({ name: 'Another' }))).toBe('taken')
    expect(await other.resources.readResource(someResource().uri)).toEqual(someResource())
    expect(await other.resources.readResource('https://notes.example.com/')).toBeNull()
  })

  test('Scopes with limits keep their places in the list, and a change of such a resource is stored', async () => {
    const [store, other] = subject().nodes
    const limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 } as const
    const [pay, send] = ['pay', 'send'].map((name) => ({ name, description: name, limit }))
    const read = { name: 'read', description: 'read' }
    for (const [index, scopes] of [[pay, read, send], [read, pay, send], [pay], [pay, send, read]].entries()) {
      const resource = someResource({ uri: `urn:${index}`, scopes: scopes.filter((scope) => scope !== undefined) })
      await store.resources.insertResource(resource)
      expect(await other.resources.readResource(resource.uri)).toEqual(resource)
      const changed = { ...resource, scopes: [...resource.scopes.toReversed(), { ...read, name: 'write' }] }
      expect(await other.resources.changeResource(resource.uri, () => changed)).toEqual(changed)
      expect(await store.resources.readResource(resource.uri)).toEqual(changed)
    }
  })

  test('If fifty inserts of one URI race, exactly one resource is stored', async () => {
    const outcomes = await race(subject(), 50, (store, n) => store.resources.insertResource(someResource({ name: `API ${n}` })))
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
    const stored = await subject().nodes[0].resources.readResource(someResource().uri)
    expect(stored?.name).toBe(`API ${outcomes.indexOf('inserted')}`)
  })

  test('All resources are listed, sorted by URI', async () => {
    const [store, other] = subject().nodes
    for (const n of [2, 3, 1]) await store.resources.insertResource(numbered(n))
    expect(await other.resources.listResources()).toEqual([1, 2, 3].map(numbered))
  })

  test('If several changes of one resource race, none is lost', async () => {
    const [store] = subject().nodes
    await store.resources.insertResource(someResource({ scopes: [] }))
    await race(subject(), 20, (node, n) =>
      node.resources.changeResource(someResource().uri, (present) => ({
        ...present,
        scopes: [...present.scopes, { name: `scope-${n}`, description: 'do something' }],
      })),
    )
    expect((await store.resources.readResource(someResource().uri))?.scopes).toHaveLength(20)
  })

  test('A change that throws changes nothing, and a change of an unknown resource returns null', async () => {
    const [store] = subject().nodes
    await store.resources.insertResource(someResource())
    const revision = await store.readRevision()
    const refused = store.resources.changeResource(someResource().uri, () => {
      throw new Error('refused')
    })
    await expect(refused).rejects.toThrow('refused')
    expect(await store.resources.changeResource('https://unknown.example.com/', (present) => present)).toBeNull()
    expect(await store.resources.listResources()).toEqual([someResource()])
    expect(await store.readRevision()).toBe(revision)
  })

  test('A deleted resource is gone, and its URI can be registered again', async () => {
    const [store, other] = subject().nodes
    await store.resources.insertResource(someResource())
    expect(await other.resources.deleteResource(someResource().uri)).toBe('deleted')
    expect(await store.resources.deleteResource(someResource().uri)).toBe('unknown')
    expect(await store.resources.listResources()).toEqual([])
    expect(await store.resources.insertResource(someResource())).toBe('inserted')
  })

  test('If a change and a deletion of one resource race, the resource does not come back', async () => {
    const [store, other] = subject().nodes
    for (let n = 0; n < 10; n++) {
      await store.resources.insertResource(someResource())
      const changing = store.resources.changeResource(someResource().uri, (present) => ({ ...present, name: 'Changed' }))
      const [, deleted] = await Promise.all([changing, other.resources.deleteResource(someResource().uri)])
      expect(deleted).toBe('deleted')
      expect(await store.resources.readResource(someResource().uri)).toBeNull()
    }
  })

  test('A store accepts 1,000 resources, also if the last inserts race, and one more after a deletion', async () => {
    const [store, other] = subject().nodes
    for (let n = 2; n < RESOURCES_AT_MOST; n++) await store.resources.insertResource(numbered(n))
    const outcomes = await race(subject(), 10, (node, n) => node.resources.insertResource(numbered(RESOURCES_AT_MOST + n)))
    expect(outcomes.toSorted()).toEqual([...Array<string>(8).fill('full'), 'inserted', 'inserted'])
    expect(await store.resources.listResources()).toHaveLength(RESOURCES_AT_MOST)
    expect(await store.resources.insertResource(numbered(2)), 'is registered already').toBe('taken')
    expect(await store.resources.insertResource(numbered(1))).toBe('full')
    await store.resources.deleteResource(numbered(500).uri)
    expect(await other.resources.insertResource(numbered(1))).toBe('inserted')
  }, 60_000)

  test('Each change of a resource raises the revision and is listed as a change of the resources', async () => {
    const [store, other] = subject().nodes
    const seen = await other.readRevision()
    await store.resources.insertResource(someResource())
    await store.resources.insertResource(someResource())
    await store.resources.changeResource(someResource().uri, (present) => ({ ...present, openTo: [] }))
    await store.resources.deleteResource(someResource().uri)
    await store.resources.deleteResource(someResource().uri)
    const changed = Array<string>(3).fill(RESOURCES_CHANGED)
    expect(await other.readChanges(seen)).toEqual({ revision: seen + 3, changed })
  })
}
