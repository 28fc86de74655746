/** The part that carries out the jobs of operators and the endings of wallets. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Deps } from '../../domain/model/deps.ts'
import type { Job } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { conditionsOf, createJobWorker } from '../../domain/operators/jobs.ts'
import type { Part } from '../process/background.ts'

type JobParts = Pick<Deps, 'now' | 'announceEnded' | 'audit'> & { store: Store }

export function composeJobs({ store, now, announceEnded, audit }: JobParts): Part {
  const note = ({ kind, clientId, ofWallet, matching, startedBy, grantsEnded }: Job): Promise<void> => {
    const details = { grants: grantsEnded, ...conditionsOf(matching) }
    const client = clientId === '' ? {} : { client_id: clientId }
    if (kind === 'delete_client') return audit({ event: 'client_deleted', ...client, operator: startedBy, details })
    const ofMatching = matching?.wallet ? { wallet: matching.wallet } : {}
    if (ofWallet === null) return audit({ event: 'grants_ended', ...ofMatching, ...client, operator: startedBy, details })
    const { wallet, reason } = ofWallet
    const operator = reason === 'operator' ? { operator: startedBy } : {}
    return audit({ event: 'grants_ended', reason, wallet, ...client, ...operator, details })
  }
  const work = { store, announceEnded, now, note, pause: (milliseconds: number) => pauseFor(milliseconds) }
  return {
    tasks: [
      { name: 'working on jobs', every: 1, run: createJobWorker('jobs', work) },
      { name: 'working on endings', every: 1, run: createJobWorker('endings', work) },
    ],
  }
}
