import { expect, test } from 'vitest'
import { RESOURCES_CHANGED } from '../../../src/domain/model/changes.ts'
import type { Resource } from '../../../src/domain/model/records.ts'
import { RegisteredResources } from '../../../src/domain/resources/registered-resources.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const resource = (uri: string, scopes: string[], openTo: Resource['openTo'] = ['metadata']): Resource => ({
  uri,
  name: uri,
  scopes: scopes.map((name) => ({ name, description: name })),
  openTo,
  createdAt: 1,
})

test('A node reads the resources again if another node changed one, and only then', async () => {
  const [store, other] = await openTwoNodes()
  let reads = 0
  const listResources = () => {
    reads++
    return store.resources.listResources()
  }
  const resources = new RegisteredResources({ resources: { ...store.resources, listResources } })
  await resources.renew('everything')
  await other.resources.insertResource(resource('urn:a', ['one']))
  await resources.renew(['a-client', 'a-key'])
  expect([reads, resources.find('urn:a')]).toEqual([1, undefined])
  await resources.renew(['a-client', RESOURCES_CHANGED])
  expect([reads, resources.find('urn:a')?.uri]).toEqual([2, 'urn:a'])
})

test('If the resources cannot be read, those in memory stay, and the error is thrown so that the node tries again', async () => {
  const [store] = await openTwoNodes()
  await store.resources.insertResource(resource('urn:a', ['one']))
  let fails = false
  const listResources = () => (fails ? Promise.reject(new Error('away')) : store.resources.listResources())
  const resources = new RegisteredResources({ resources: { ...store.resources, listResources } })
  await resources.renew('everything')
  fails = true
  await expect(resources.renew('everything')).rejects.toThrow('away')
  expect(resources.find('urn:a')?.uri).toBe('urn:a')
})

test('The limit of a scope is that of its resource', async () => {
  const [store] = await openTwoNodes()
  const limited = { name: 'one', description: 'one', limit: { uses: 3 } }
  await store.resources.insertResource({ ...resource('urn:a', []), scopes: [limited, { name: 'two', description: 'two' }] })
  await store.resources.insertResource(resource('urn:b', ['one']))
  const resources = new RegisteredResources(store)
  await resources.renew('everything')
  const limits = ['urn:a one', 'urn:a two', 'urn:b one', 'urn:c one'].map((pair) => pair.split(' ') as [string, string])
  expect(limits.map((pair) => resources.limitOf(...pair))).toEqual([{ uses: 3 }, undefined, undefined, undefined])
})

test('The resources that are open to a kind of clients stay the same object until a resource changes', async () => {
  const [store] = await openTwoNodes()
  await store.resources.insertResource(resource('urn:a', ['one', 'two']))
  await store.resources.insertResource(resource('urn:b', ['two', 'three'], ['registered', 'dynamic']))
  const resources = new RegisteredResources(store)
  await resources.renew('everything')
  const open = resources.openTo('metadata')
  expect(open.scopes).toEqual(['one', 'two'])
  expect(resources.openTo('metadata')).toBe(open)
  expect(resources.openTo('dynamic').resources.map(({ uri }) => uri)).toEqual(['urn:b'])
  expect(resources.allScopes()).toEqual(['one', 'three', 'two'])
  expect(resources.listing('two').map(({ uri }) => uri)).toEqual(['urn:a', 'urn:b'])
  expect([resources.lists('urn:a', 'one'), resources.lists('urn:b', 'one'), resources.lists('urn:c', 'one')]).toEqual([
    true,
    false,
    false,
  ])
  await resources.renew('everything')
  expect(resources.openTo('metadata')).not.toBe(open)
})
