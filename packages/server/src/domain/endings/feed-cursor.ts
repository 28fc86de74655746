/** The place of a reader in the feed, as a text that the reader sends back. */

/** `until` is in milliseconds. `node` names the process that returned the place. */
export type FeedPlace = { until: number; feed: string; node: string }

const CURSOR = /^(\d{1,15})\.([\w-]{1,32})\.([\w-]{1,32})$/

export function writeCursor({ until, feed, node }: FeedPlace): string {
  return `${until}.${feed}.${node}`
}

/** Null for a text that is no cursor. A forged cursor shows its sender nothing that a snapshot does not show. */
export function readCursor(text: string): FeedPlace | null {
  const [, until, feed, node] = CURSOR.exec(text) ?? []
  return until === undefined || feed === undefined || node === undefined ? null : { until: Number(until), feed, node }
}
