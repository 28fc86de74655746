/** One list of the grants of a client, from the lists of its unended and of its ended grants. */

/**
 * The first `limit` rows of both lists. `compare` is the order of both. If a grant ended between the two reads, both lists have it, and the
 * row of `ended`, which was read last, counts.
 */
export function firstOf<Row extends { id: string }>(
  { unended, ended }: Record<'unended' | 'ended', Row[]>,
  limit: number,
  compare: (a: Row, b: Row) => number,
): Row[] {
  const rows = new Map([...unended, ...ended].map((row) => [row.id, row]))
  return [...rows.values()].toSorted(compare).slice(0, limit)
}
