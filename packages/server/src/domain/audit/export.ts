/** Exported lines: the text of the line with its hash as the last member, one JSON object per line (NDJSON). */
import type { AuditLine, AuditStore } from '../model/audit-store.ts'
import { type ChainedLine, fieldsOf } from './verify.ts'

/** Lines of one read. */
const PAGE = 500

export function exportedLine({ line, hash }: Pick<AuditLine, 'line' | 'hash'>): string {
  return `${line.slice(0, -1)},"hash":"${hash}"}`
}

const EXPORTED = /^(\{.*),"hash":"([\w-]{43})"\}$/

/** The line and its hash; null if the text is not an exported line. */
export function parseExportedLine(text: string): ChainedLine | null {
  const [, start, hash] = EXPORTED.exec(text) ?? []
  if (start === undefined || hash === undefined) return null
  const line = `${start}}`
  const seq = fieldsOf(line)?.seq
  return typeof seq === 'number' ? { seq, line, hash } : null
}

/** All lines after the line with number `after`, in the order of the chain. */
export async function* linePages(store: AuditStore, after: number): AsyncGenerator<AuditLine[]> {
  for (let last = after; ; ) {
    const page = await store.readLines({ after: last, limit: PAGE })
    if (page.length > 0) yield page
    if (page.length < PAGE) return
    last = page.at(-1)?.seq ?? last
  }
}
