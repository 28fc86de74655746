/**
 * Which clients and keys have changed lately. A store keeps the latest changes as one text beside its revision, each as
 * `<revision>:<id>`, so that a node that has seen an earlier revision reads again only what has changed since.
 */

/** Characters that a store keeps of the text: about forty changes. */
export const RECENT_AT_MOST = 2000

/** `everything`: the changes since then are not all known, so whatever is remembered may be out of date. */
export type Changed = readonly string[] | 'everything'

/** What the store has changed up to `revision`. */
export type Changes = { revision: number; changed: Changed }

/** What has changed after the revision `seen`. An older program raises the revision without writing down what it changed. */
export function changesAfter(seen: number, revision: number, recent: string): Changes {
  const entries = recent.split(' ').slice(seen - revision)
  const ids = entries.map((entry, index) => {
    const expected = `${seen + 1 + index}:`
    return entry.startsWith(expected) ? entry.slice(expected.length) : ''
  })
  const isComplete = seen < revision && ids.length === revision - seen && !ids.includes('')
  return { revision, changed: isComplete ? ids : 'everything' }
}
