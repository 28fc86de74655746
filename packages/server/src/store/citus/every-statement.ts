/** Every statement that the store prepares: most when it is opened, those for lists at their first use. */
import { storeOn } from '../postgres/index.ts'
import { type RecordedStatement, Recorder } from '../postgres/statements/recorder.ts'
import { prepareEstimate } from './citus.ts'
import { createWaitingBatchStore } from './waiting-batches.ts'

export async function everyStatement(recorder: Recorder = new Recorder()): Promise<readonly RecordedStatement[]> {
  createWaitingBatchStore(recorder)
  const store = storeOn(recorder)
  const [wallet, clientId] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'c'] as const
  for (const order of ['newest', 'oldest'] as const)
    for (const owner of [{ wallet }, { clientId }, {}]) await store.grants.listGrants({ ...owner, order, limit: 1 })
  for (const owner of [{ wallet }, { clientId }]) await store.grants.countUnendedGrants(owner, 1)
  await store.grants.countGrants(0)
  prepareEstimate(recorder)
  for (const order of ['newest', 'oldest'] as const) await store.sessions.listAllSessions({ order, at: 1, limit: 1 })
  await store.sessions.countSessions(1, 1)
  for (const owner of [{}, { clientId }]) {
    await store.grants.listUnendedGrants({ wallet, ...owner, limit: 1 })
    await store.receipts.listReceipts(wallet, { ...owner, limit: 1 })
    await store.receipts.listReceipts(wallet, { ...owner, state: 'withdrawn', limit: 1 })
  }
  await store.wallets.findWallets({ prefix: '0x0123', limit: 1, after: '' })
  const conditions = { wallet, clientId, grantId: 'g1', operator: 'o', reason: 'r', event: 'e', since: 1, until: 2 }
  for (const filter of [{}, conditions]) await store.audit.searchLines(filter, { limit: 1 })
  await store.close()
  return recorder.statements
}
