/** Drafts of the console: their number is bounded. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { DRAFTS_AT_MOST, type Draft } from '../../../src/domain/model/draft-store.ts'
import { NOW, race, type Subject } from './subject.ts'

function someDraft(draft: Partial<Draft> = {}): Draft {
  return { id: randomUUID(), operator: '0x1', path: '/console/clients/new', content: 'sealed', createdAt: NOW, ...draft }
}

export function draftsContract(subject: Subject): void {
  test('A draft is read on every node until it is deleted, and the list has the drafts without their content, the oldest first', async () => {
    const [store, other] = subject().nodes
    const late = someDraft({ createdAt: NOW + 1 })
    const early = someDraft({ content: 'x'.repeat(100_000) })
    for (const draft of [late, early]) expect(await store.drafts.insertDraft(draft)).toBe('inserted')
    expect(await other.drafts.readDraft(early.id)).toEqual(early)
    const entries = [early, late].map(({ id, operator, path, createdAt }) => ({ id, operator, path, createdAt }))
    expect(await other.drafts.listDrafts()).toEqual(entries)
    expect(await other.drafts.deleteDraft(late.id)).toBe('deleted')
    expect(await store.drafts.deleteDraft(late.id)).toBe('unknown')
    expect(await store.drafts.readDraft(late.id)).toBeNull()
    expect(await store.drafts.insertDraft(early)).toBe('taken')
  })

  test('If more drafts are inserted at once than the bound allows, exactly so many are stored', async () => {
    const [store] = subject().nodes
    for (let n = 0; n < DRAFTS_AT_MOST - 4; n++) await store.drafts.insertDraft(someDraft())
    const outcomes = await race(subject(), 8, (node) => node.drafts.insertDraft(someDraft()))
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(4)
    expect(await store.drafts.listDrafts()).toHaveLength(DRAFTS_AT_MOST)
  })
}
