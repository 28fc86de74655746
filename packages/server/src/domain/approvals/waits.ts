/**
 * Waiting for the answer of a user. A request that waits costs no query of its own: while requests wait, the node asks the store once a second for all of
 * them. An answer that this node stored ends the wait at once.
 */
import type { ApprovalKey, ApprovalStore } from '../model/approval-store.ts'
import type { ApprovalWaits } from '../model/deps.ts'
import { writeApprovalId } from './approval-id.ts'

/** More requests do not wait. Each keeps a connection. */
const WAITING_AT_MOST = 10_000

/** `renew` asks the store, if requests wait. Runs once a second. */
export function createApprovalWaits(store: Pick<ApprovalStore, 'findAnswered'>): ApprovalWaits & { renew(): Promise<void> } {
  const waiting = new Map<string, { key: ApprovalKey; wakes: Set<() => void> }>()
  let count = 0
  let isClosed = false

  function wake(key: ApprovalKey): void {
    for (const each of waiting.get(writeApprovalId(key))?.wakes ?? []) each()
  }

  return {
    async wait(key, isOver) {
      if (isClosed || count >= WAITING_AT_MOST) return
      const name = writeApprovalId(key)
      const entry = waiting.get(name) ?? { key, wakes: new Set() }
      waiting.set(name, entry)
      count++
      const { promise: isAnswered, resolve } = Promise.withResolvers<void>()
      entry.wakes.add(resolve)
      await Promise.race([isAnswered, isOver])
      entry.wakes.delete(resolve)
      count--
      if (entry.wakes.size === 0) waiting.delete(name)
    },
    wake,
    async renew() {
      if (waiting.size === 0) return
      for (const key of await store.findAnswered(Array.from(waiting.values(), (each) => each.key))) wake(key)
    },
    close() {
      isClosed = true
      for (const { key } of waiting.values()) wake(key)
    },
  }
}
