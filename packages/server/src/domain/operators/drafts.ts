/** Drafts: what an operator entered in a form of the console and did not confirm yet. */
import type { Draft, DraftEntry } from '../model/draft-store.ts'
import { newGrantId } from '../model/grant-id.ts'
import type { Store } from '../model/store.ts'

/** Seconds. As long as a session of the console. */
const DRAFT_LIFETIME = 8 * 3600
const DRAFTS_OF_OPERATOR = 10

type Drafts = Pick<Store, 'drafts'>

/** Stores a draft and returns its id. Expired drafts, and the oldest ones of the operator or of all, make room for the new one. */
export async function addDraft({ drafts }: Drafts, draft: Omit<Draft, 'id' | 'createdAt'>, at: number): Promise<string> {
  // Ids in the order of time, so that of two drafts of one second the later one is the latest.
  const added = { ...draft, id: newGrantId(at), createdAt: at }
  const entries = await drafts.listDrafts()
  const own = entries.filter(({ operator }) => operator === draft.operator)
  const surplus = own.slice(0, Math.max(0, own.length + 1 - DRAFTS_OF_OPERATOR))
  const expired = entries.filter((entry) => isExpired(entry, at))
  for (const { id } of new Set([...expired, ...surplus])) await drafts.deleteDraft(id)
  while ((await drafts.insertDraft(added)) === 'full') {
    const [oldest] = await drafts.listDrafts()
    if (oldest) await drafts.deleteDraft(oldest.id)
  }
  return added.id
}

type DraftKey = Pick<DraftEntry, 'operator' | 'path'>

/** The draft of this operator for this form; null if it expired, or if another operator or another form has it. */
export async function readDraft({ drafts }: Drafts, id: string, place: DraftKey, at: number): Promise<Draft | null> {
  const draft = await drafts.readDraft(id)
  return draft && isOf(draft, place) && !isExpired(draft, at) ? draft : null
}

/** The latest draft of this operator for this form. */
export async function latestDraft({ drafts }: Drafts, place: DraftKey, at: number): Promise<DraftEntry | null> {
  return (await drafts.listDrafts()).findLast((entry) => isOf(entry, place) && !isExpired(entry, at)) ?? null
}

/** Deletes all drafts of this operator for this form: the change was made. */
export async function deleteDrafts({ drafts }: Drafts, place: DraftKey): Promise<void> {
  for (const entry of await drafts.listDrafts()) if (isOf(entry, place)) await drafts.deleteDraft(entry.id)
}

const isOf = ({ operator, path }: DraftKey, place: DraftKey): boolean => operator === place.operator && path === place.path
const isExpired = ({ createdAt }: DraftEntry, at: number): boolean => createdAt + DRAFT_LIFETIME <= at
