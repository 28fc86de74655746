/** Checks the chain of a store. The search columns of each line are compared with its text, which is what the hash covers. */
import type { AuditStore } from '../model/audit-store.ts'
import { linePages } from './export.ts'
import { type ChainReport, columnsAgree, type HashChainFault, type VerifyOptions, verifyChain } from './verify.ts'

type StoreOptions = Omit<VerifyOptions, 'pages'> & {
  /** the check begins with the line after this number; 0 unless given */
  after?: number
}

export async function verifyStore(store: AuditStore, { after = 0, ...options }: StoreOptions): Promise<ChainReport> {
  let wrongColumn: HashChainFault | null = null
  async function* pages() {
    for await (const page of linePages(store, after)) {
      const wrong = page.find((line) => !columnsAgree(line))
      if (wrong) wrongColumn ??= { seq: wrong.seq, kind: 'changed' }
      yield page
    }
  }
  const report = await verifyChain({ ...options, pages: pages() })
  return { ...report, fault: earlierOf(wrongColumn, report.fault) }
}

function earlierOf(one: HashChainFault | null, other: HashChainFault | null): HashChainFault | null {
  return one && (!other || one.seq < other.seq) ? one : other
}
