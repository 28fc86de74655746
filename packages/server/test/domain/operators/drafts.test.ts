/** Drafts of the console: how many are kept, for how long, and for whom. */
import { expect, test } from 'vitest'
import { addDraft, deleteDrafts, latestDraft, readDraft } from '../../../src/domain/operators/drafts.ts'
import { NOW } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const NEW = { operator: '0xA', path: '/console/clients/new', content: 'sealed' }

test('An operator has at most ten drafts: the next one replaces the oldest, and other operators keep theirs', async () => {
  const [store] = await openTwoNodes()
  const other = await addDraft(store, { ...NEW, operator: '0xB' }, NOW)
  const ids: string[] = []
  for (let n = 0; n < 12; n++) ids.push(await addDraft(store, NEW, NOW + n))
  const kept = (await store.drafts.listDrafts()).map(({ id }) => id)
  expect(kept).toEqual([other, ...ids.slice(2)])
})

test('If all operators together have 200 drafts, the next one replaces the oldest of all', async () => {
  const [store] = await openTwoNodes()
  const first = await addDraft(store, { ...NEW, operator: '0x0' }, NOW - 1)
  for (let n = 1; n < 200; n++) await store.drafts.insertDraft({ ...NEW, id: `draft ${n}`, operator: `0x${n}`, createdAt: NOW })
  const last = await addDraft(store, { ...NEW, operator: '0xLast' }, NOW)
  const ids = (await store.drafts.listDrafts()).map(({ id }) => id)
  expect(ids).toHaveLength(200)
  expect([ids.includes(first), ids.includes(last)]).toEqual([false, true])
})

test('A draft is read by its operator at its form for eight hours, and is deleted when the next draft is added after that', async () => {
  const [store] = await openTwoNodes()
  const id = await addDraft(store, NEW, NOW)
  expect(await readDraft(store, id, NEW, NOW + 28_799)).toMatchObject({ id, content: 'sealed' })
  expect(await readDraft(store, id, { ...NEW, operator: '0xB' }, NOW)).toBeNull()
  expect(await readDraft(store, id, { ...NEW, path: '/console/resources/new' }, NOW)).toBeNull()
  expect(await readDraft(store, id, NEW, NOW + 28_800)).toBeNull()
  expect(await latestDraft(store, NEW, NOW + 28_800)).toBeNull()
  const later = await addDraft(store, NEW, NOW + 28_800)
  expect(await store.drafts.listDrafts()).toMatchObject([{ id: later }])
})

test('When a change was made, all drafts of its form by this operator are deleted, and no others', async () => {
  const [store] = await openTwoNodes()
  for (const draft of [NEW, NEW, { ...NEW, operator: '0xB' }, { ...NEW, path: '/console/resources/new' }])
    await addDraft(store, draft, NOW)
  await deleteDrafts(store, NEW)
  const left = (await store.drafts.listDrafts()).map(({ operator, path }) => `${operator} ${path}`)
  expect(left.toSorted()).toEqual([`0xA /console/resources/new`, `0xB ${NEW.path}`])
})

test('Of many drafts of one second, the last one is the latest', async () => {
  const [store] = await openTwoNodes()
  const ids: string[] = []
  for (let count = 0; count < 9; count++) ids.push(await addDraft(store, NEW, NOW))
  expect((await latestDraft(store, NEW, NOW))?.id).toBe(ids.at(-1))
  expect((await store.drafts.listDrafts()).map(({ id }) => id)).toEqual(ids)
})
