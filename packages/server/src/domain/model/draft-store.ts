/** What operators entered in forms of the console and did not confirm yet. */

/** The place of a draft, without what was entered. */
export type DraftEntry = {
  id: string
  /** the wallet of the operator */
  operator: string
  /** the path of the form */
  path: string
  /** epoch seconds */
  createdAt: number
}

/** `content` is sealed. */
export type Draft = DraftEntry & { content: string }

/** The most drafts that a store accepts. The content of each is at most as long as a form. */
export const DRAFTS_AT_MOST = 200

export interface DraftStore {
  /** `taken`: the id exists. `full`: `DRAFTS_AT_MOST` drafts exist. If several inserts race, the bound still holds. */
  insertDraft(draft: Draft): Promise<'inserted' | 'taken' | 'full'>
  readDraft(id: string): Promise<Draft | null>
  /** All drafts without their content, the oldest first. */
  listDrafts(): Promise<DraftEntry[]>
  deleteDraft(id: string): Promise<'deleted' | 'unknown'>
}
