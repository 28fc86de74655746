/** A scope as operators write it: the description, and after `|` the limit, in the words that the wallet signs. */
import type { Limit } from '@grantor/protocol/limit'
import { limitFaults } from '../../protocol/oauth/limit-faults.ts'
import { readLimitWords, writeLimit } from '../../protocol/wallet/limit-words.ts'
import type { ResourceScope } from '../model/records.ts'

/** `enhance an item | at most 20 times a week, 50.00 NESO each, 500.00 a week` */
export function writeScopeWords({ description, limit }: Pick<ResourceScope, 'description' | 'limit'>): string {
  // An operator may have typed a limit that has a fault. It is shown again with the fault.
  return limit === undefined || limitFaults(limit).length > 0 ? description : `${description} | ${writeLimit(limit)}`
}

/** A limit that cannot be read, or that has a fault, remains in the description: `wordsFaults` then finds it. */
export function readScopeWords(words: string): Pick<ResourceScope, 'description' | 'limit'> {
  const { description, limit } = divide(words)
  return limit !== null && limitFaults(limit).length === 0 ? { description, limit } : { description: words.trim() }
}

/** What is wrong with the limit that a description contains. No description may contain one: it could not be written and read again. */
export function wordsFaults(description: string): string[] {
  const { limit, hasLimit } = divide(description)
  if (!hasLimit) return []
  const faults = limit === null ? [] : limitFaults(limit)
  return faults.length > 0
    ? faults.map(({ words }) => words)
    : [
        'A limit is written as: | at most 20 times a week, 50.00 NESO each, 500.00 a week. Without an amount: | at most 20 times a day.',
      ]
}

function divide(words: string): { description: string; limit: Limit | null; hasLimit: boolean } {
  const at = words.search(/\|\s*at most/)
  if (at === -1) return { description: words.trim(), limit: null, hasLimit: false }
  return { description: words.slice(0, at).trim(), limit: readLimitWords(words.slice(at + 1).trim()), hasLimit: true }
}
