/** The cost of a request: the calls of the store. */
import type { Grantor } from './start.ts'

const PORTS = [
  'grants',
  'wallets',
  'sessions',
  'receipts',
  'clients',
  'keys',
  'spent',
  'pushedRequests',
  'approvals',
  'draws',
] as const
/** The methods of the store that only read. Every other method counts as a write. */
const READS = /^(read|list)/

/** Records each call of the store, and still calls it. The result returns the names of the methods that a request calls, in order. */
export function countStoreCalls({ store }: Grantor) {
  let calls: string[] = []
  for (const port of PORTS) {
    const methods = store[port] as unknown as Record<string, (...args: unknown[]) => unknown>
    for (const [name, method] of Object.entries(methods)) {
      methods[name] = (...args) => {
        calls.push(name)
        return method(...args)
      }
    }
  }
  return async (send: () => Promise<unknown>): Promise<{ writes: string[]; reads: string[] }> => {
    calls = []
    await send()
    return { writes: calls.filter((name) => !READS.test(name)), reads: calls.filter((name) => READS.test(name)) }
  }
}
