/** A misspelled audit event does not compile, and the linter refuses an awaited event whose promise is not awaited. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type AuditEvent,
  type AwaitedEvent,
  auditEvents,
  isAwaited,
  type UnawaitedEvent,
} from '../../src/domain/model/audit-events.ts'
import { lintScratchTree, ROOT } from './scratch-tree.ts'

test('An event that is not in the table of audit events does not compile', () => {
  // @ts-expect-error -- the event is called `wallet_proved`
  const misspelled: AuditEvent = { event: 'wallet_prooved' }
  expect(auditEvents).not.toHaveProperty(misspelled.event)
})

test('The types of awaited and of other events agree with the table: only the revocation of a grant by a client is an exception', () => {
  const awaited: AwaitedEvent[] = [{ event: 'session_started' }, { event: 'grant_ended', reason: 'code_replayed' }]
  const others: UnawaitedEvent[] = [{ event: 'code_issued' }, { event: 'grant_ended', reason: 'revoked' }]
  // @ts-expect-error -- a response waits for the line of a session
  others.push({ event: 'session_started' } satisfies UnawaitedEvent)
  // @ts-expect-error -- no response waits for the line of a client's revocation
  awaited.push({ event: 'grant_ended', reason: 'revoked' } satisfies AwaitedEvent)
  expect([awaited, others].map((events) => events.map(isAwaited))).toEqual([
    [true, true, false],
    [false, false, true],
  ])
})

test('The linter refuses an awaited event without `await`, and `await` before an event that is not awaited', async () => {
  const call = (code: string) =>
    `import type { Audit } from './audit.ts'
export async function record({ audit }: { audit: Audit }): Promise<void> {
  ${code}
}
`
  const refusals = await lintScratchTree({
    'audit.ts': `export type { Audit } from '${join(ROOT, 'packages/server/src/domain/model/audit-events.ts')}'\n`,
    'awaited.ts': call(`await audit({ event: 'session_started' })`),
    'forgotten.ts': call(`audit({ event: 'session_started' })`),
    'not-awaited.ts': call(`audit({ event: 'code_issued' })\n  await Promise.resolve()`),
    'superfluous.ts': call(`await audit({ event: 'code_issued' })`),
  })
  expect(Object.fromEntries(refusals)).toMatchObject({
    'awaited.ts': [],
    'forgotten.ts': ['typescript(no-floating-promises)'],
    'not-awaited.ts': [],
    'superfluous.ts': ['typescript(await-thenable)'],
  })
})
