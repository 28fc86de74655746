/**
 * Signs the head of the chain every hour, with the key that signs access tokens.
 *
 * Before each signature, the node checks the chain from the last head that it has in memory. So a running node finds a change of older lines
 * within the hour, even if an attacker computed all hashes again: the node does not sign a chain that contradicts this head.
 */
import { type AuditHeadClaims, type FindKey, openAuditHead } from '../../protocol/keys/audit-head.ts'
import type { AuditHead, AuditLine, AuditStore } from '../model/audit-store.ts'
import type { CleaningStore } from '../model/operator-store.ts'
import { newEntry, type WriteEntry } from './entry.ts'
import { HEAD_SIGNED } from './own-events.ts'
import { fieldsOf, type HashChainFault } from './verify.ts'
import { verifyStore } from './verify-store.ts'

/** Seconds between two signed heads, if lines were appended. */
const SIGNED_EVERY = 3600
/** Seconds for which one node may sign. */
const LEASE = 300

export type HeadSigning = {
  store: AuditStore
  cleaning: Pick<CleaningStore, 'takeLease'>
  write: WriteEntry
  sign: (claims: AuditHeadClaims) => string
  findKey: FindKey
  issuer: string
  /** identifies this process among those that could sign */
  holder: string
  now: () => number
  /** reports that the chain is broken */
  note: (fault: HashChainFault) => void
  /** receives the time of the last signed head if later lines exist, and null if the head covers all lines */
  noteUncovered: (since: number | null) => void
}

/** Returns a function that signs the head if that is due. Call the function every minute. */
export function createHeadSigner(parts: HeadSigning) {
  const { store, cleaning, write, sign, findKey, issuer, holder, now, note, noteUncovered } = parts
  /** the last line that this process has checked */
  let checked: AuditHead | null = null
  /** the line of the fault that was reported last, so that each fault is reported once */
  let reported: number | null = null

  async function isDue(head: AuditHead, last: AuditLine | undefined, at: number): Promise<boolean> {
    if (last && (last.seq === head.seq || last.at > at - SIGNED_EVERY)) return false
    return head.seq > 0 && (await cleaning.takeLease('audit head', holder, at, LEASE)) === 'taken'
  }

  /** The line that the last signed head names; null without a signed head, or if the key of the signature was deleted. */
  function lineOfHead(last: AuditLine | undefined): AuditHead | HashChainFault | null {
    const jws = last && fieldsOf(last.line)?.details.head
    if (!last || typeof jws !== 'string') return null
    const claims = openAuditHead(findKey, jws)
    if (claims === 'forged') return { seq: last.seq, kind: 'head_forged' }
    return claims === 'unknown_key' ? null : { seq: claims.seq, hash: claims.hash }
  }

  /** The first fault in the lines from the last checked one up to the head. */
  async function findFault(head: AuditHead, last: AuditLine | undefined): Promise<HashChainFault | null> {
    const signed = checked ?? lineOfHead(last)
    if (signed && 'kind' in signed) return signed
    checked = signed
    if (checked && head.seq < checked.seq) return { seq: head.seq + 1, kind: 'truncated' }
    const from = checked && (await isKept(store, checked)) ? checked : null
    // The hash of the first line that is read is not computed, so the line before is read too.
    const after = from === null ? 0 : Math.max(0, from.seq - 2)
    const heads = from === null ? [head] : [from, head]
    const report = await verifyStore(store, { after, findKey, heads, mayBePart: from !== null })
    if (from && report.first > from.seq) return { seq: from.seq, kind: 'removed' }
    return report.fault
  }

  return async (): Promise<void> => {
    const at = now()
    const head = await store.readHead()
    const [last] = await store.searchLines({ event: HEAD_SIGNED }, { limit: 1 })
    noteUncovered(await uncoveredSince(store, head, last))
    if (!(await isDue(head, last, at))) return
    const fault = await findFault(head, last)
    if (fault) {
      if (reported !== fault.seq) note(fault)
      reported = fault.seq
      return
    }
    checked = head
    reported = null
    const jws = sign({ iss: issuer, iat: at, seq: head.seq, hash: head.hash })
    await write(newEntry({ at, event: HEAD_SIGNED, details: { through: head.seq, head: jws } }))
    noteUncovered(null)
  }
}

/** The time of the last signed head, or else of the first line; null if the head covers all lines. */
async function uncoveredSince(store: AuditStore, { seq }: AuditHead, last: AuditLine | undefined): Promise<number | null> {
  if (last) return last.seq === seq ? null : last.at
  return (await readFirst(store))?.at ?? null
}

/** False if the line was deleted because of its age. A line that was removed otherwise is missing between its neighbours. */
async function isKept(store: AuditStore, { seq }: AuditHead): Promise<boolean> {
  const first = await readFirst(store)
  return first !== undefined && first.seq <= seq
}

async function readFirst(store: AuditStore): Promise<AuditLine | undefined> {
  const [first] = await store.readLines({ after: 0, limit: 1 })
  return first
}
