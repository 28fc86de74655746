/**
 * Recent changes of clients, keys and resources. A store keeps the latest changes as one text beside the revision, each as `<revision>:<id>`. So
 * a node that has seen an earlier revision reads again only what has changed since.
 */

/** The maximum length of the text in characters: about forty changes. */
export const RECENT_AT_MOST = 2000

/** Listed for a change of any resource: a node keeps all resources in memory and reads all of them again. */
export const RESOURCES_CHANGED = 'resources'

/** `everything`: the list of changes is incomplete, so everything in memory may be out of date. */
export type Changed = readonly string[] | 'everything'

/** The changes of the store up to `revision`. */
export type Changes = { revision: number; changed: Changed }

/** The changes after the revision `seen`. The text has the latest characters only, so its first entry can be incomplete. */
export function changesAfter(seen: number, revision: number, recent: string): Changes {
  const entries = recent.split(' ').slice(seen - revision)
  const ids = entries.map((entry, index) => {
    const expected = `${seen + 1 + index}:`
    return entry.startsWith(expected) ? entry.slice(expected.length) : ''
  })
  const isComplete = seen < revision && ids.length === revision - seen && !ids.includes('')
  return { revision, changed: isComplete ? ids : 'everything' }
}
