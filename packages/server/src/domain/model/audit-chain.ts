/** The chain of the audit trail: each line's hash depends on the line's text and on all lines before. */
import { createHash } from 'node:crypto'
import type { AuditHead, AuditLine, UnplacedLine } from './audit-store.ts'
import { textAt } from './audit-text.ts'

/** `previous` is the hash of the line before. It always has 43 characters, so no other two texts give the same input. */
export function hashOfLine(previous: string, line: string): string {
  return createHash('sha256').update(previous).update(line).digest('base64url')
}

/** The lines with their numbers, texts and hashes, if the chain ends at `head`. */
export function placeAfter(head: AuditHead, lines: readonly UnplacedLine[]): AuditLine[] {
  let { seq, hash } = head
  return lines.map(({ rest, ...columns }) => {
    const line = textAt(++seq, rest)
    hash = hashOfLine(hash, line)
    return { ...columns, seq, line, hash }
  })
}
