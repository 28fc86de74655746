/** The service of the operations in a server. */
import { endAllowed, endSession } from '../../domain/consent/end-grants.ts'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { addJob } from '../../domain/operators/jobs.ts'
import type { ServerService } from '../operations/service.ts'
import type { Admin } from './admin.ts'

export function serviceOf({
  deps,
  store,
  keyKeeping,
  adminUrl,
  isDevelopment,
  settings,
  testWebhook,
  isCallable,
  live,
  ownReport,
  findName,
}: Admin): ServerService {
  return {
    store,
    now: deps.now,
    adminResource: adminResourceOf(adminUrl),
    isDevelopment,
    settings,
    ownReport,
    keys: () => ({ ring: deps.keys, keeping: keyKeeping }),
    record: async ({ id }, act) => deps.audit({ ...act, operator: id }),
    startJob: async (job) => addJob(store, job, deps.now()),
    endGrantsOfWallet: async (of) => endAllowed(deps, of, 'operator'),
    textFacts: async () => deps,
    nameOfClient: async (clientId) => (await deps.clients.find(clientId))?.name ?? '',
    refusedSignIns: (wallet) => ({ refusals: live.refusedSignIns.read(wallet), since: live.startedAt }),
    findName: findName ?? (async () => ({ kind: 'off' })),
    testWebhook,
    isCallable,
    endSession: async (session) => endSession(deps, session),
  }
}
