/** Requests that wait for the answer of a user: how often the store is asked. */
import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createApprovalWaits } from '../../../src/domain/approvals/waits.ts'
import type { ApprovalKey } from '../../../src/domain/model/approval-store.ts'

const never = new Promise<never>(() => undefined)
const someKey = (): ApprovalKey => ({ grantId: randomUUID(), id: randomUUID() })

test('1,000 requests that wait cost one query a second in all, and none once nothing waits', async () => {
  const keys = Array.from({ length: 1000 }, someKey)
  const findAnswered = vi.fn(async (asked: readonly ApprovalKey[]) => asked.slice(0, 2))
  const waits = createApprovalWaits({ findAnswered })
  await waits.renew()
  expect(findAnswered).not.toHaveBeenCalled()
  const over = Promise.withResolvers<void>()
  const waiting = keys.map((key) => waits.wait(key, over.promise))
  await waits.renew()
  expect(findAnswered).toHaveBeenCalledOnce()
  expect(findAnswered.mock.lastCall?.[0]).toHaveLength(1000)
  await Promise.all(waiting.slice(0, 2))
  await waits.renew()
  expect(findAnswered.mock.lastCall?.[0]).toHaveLength(998)
  over.resolve()
  await Promise.all(waiting)
  await waits.renew()
  expect(findAnswered).toHaveBeenCalledTimes(2)
})

test('An answer of this node, and the end of the process, end a wait without a query', async () => {
  const findAnswered = vi.fn(async () => [])
  const waits = createApprovalWaits({ findAnswered })
  const [first, second] = [someKey(), someKey()]
  const [one, two] = [waits.wait(first, never), waits.wait(second, never)]
  waits.wake(first)
  await one
  waits.close()
  await two
  await waits.wait(first, never)
  expect(findAnswered).not.toHaveBeenCalled()
})
