/** The small lists: operators and jobs. A list is one record, so a rule about the whole list holds if changes race. */
import { expect, test } from 'vitest'
import type { Operator } from '../../../src/domain/model/records.ts'
import { NOW, race, type Subject } from './subject.ts'

const operator = (n: number): Operator => ({ id: `operator ${n} “Zoë” 🎈`, role: 'owner', createdAt: NOW })

export function listsContract(subject: Subject): void {
  test('A new store has no operators and no jobs', async () => {
    const [{ lists }] = subject().nodes
    expect([await lists.readList('operators'), await lists.readList('jobs')]).toEqual([[], []])
  })

  test('A changed list is stored unchanged, for every node', async () => {
    const [store, other] = subject().nodes
    expect(await store.lists.changeList('operators', () => [operator(1), operator(2)])).toEqual([operator(1), operator(2)])
    expect(await other.lists.readList('operators')).toEqual([operator(1), operator(2)])
    expect(await other.lists.readList('jobs')).toEqual([])
  })

  test('If fifty changes of one list race, none is lost', async () => {
    await race(subject(), 50, (store, n) => store.lists.changeList('operators', (items) => [...items, operator(n)]))
    const stored = await subject().nodes[0].lists.readList('operators')
    expect(stored.map(({ id }) => id).sort()).toEqual(Array.from({ length: 50 }, (_, n) => operator(n).id).sort())
  })

  test('If two changes race and each removes one of the last two items only if another is left, one item is left', async () => {
    await subject().nodes[0].lists.changeList('operators', () => [operator(0), operator(1)])
    await race(subject(), 2, (store, n) =>
      store.lists.changeList('operators', (items) =>
        items.length > 1 ? items.filter(({ id }) => id !== operator(n).id) : items,
      ),
    )
    expect(await subject().nodes[0].lists.readList('operators')).toHaveLength(1)
  })

  test('A change that throws changes nothing', async () => {
    const [store] = subject().nodes
    await store.lists.changeList('operators', () => [operator(1)])
    const refused = store.lists.changeList('operators', () => {
      throw new Error('refused')
    })
    await expect(refused).rejects.toThrow('refused')
    expect(await store.lists.readList('operators')).toEqual([operator(1)])
  })
}
