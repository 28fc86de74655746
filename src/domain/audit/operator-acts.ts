/** Every act of an operator is a line of the trail, whether a command or the admin API carried it out. */
import type { Address } from '../../wallet/address.ts'
import { type AuditEntry, newEntry } from './entry.ts'

/** Each name is a noun and what happened to it. */
export const OPERATOR_EVENTS = [
  'client_created',
  'client_changed',
  'client_secret_rotated',
  'client_disabled',
  'client_enabled',
  'client_deletion_started',
  'client_deleted',
  'resource_created',
  'resource_changed',
  'resource_deleted',
  'operator_added',
  'operator_changed',
  'operator_removed',
  'grant_ended',
  'ending_of_grants_started',
  'grants_ended',
  'session_ended',
  'key_made',
  'key_retired',
  'keys_rewrapped',
  'restoration_begun',
  'restoration_confirmed',
  'webhook_created',
  'webhook_deleted',
  'webhook_resumed',
  'webhook_replayed',
] as const
export type OperatorEvent = (typeof OPERATOR_EVENTS)[number]

export type OperatorAct = {
  event: OperatorEvent
  /** who acted: a wallet or a client id of the admin API, or `cli:NAME` */
  operator: string
  /** epoch seconds */
  at: number
  /** `refused`: the act was not carried out, for example because the operator lacks the role; unless given, `done` */
  result?: AuditEntry['result']
  reason?: string | undefined
  clientId?: string | undefined
  grantId?: string | undefined
  wallet?: Address | undefined
  keyId?: string | undefined
  resource?: string | undefined
  requestId?: string | undefined
  network?: string | undefined
  /** facts without a member of their own, such as how many grants ended; never a secret */
  details?: Readonly<Record<string, string | number>> | undefined
}

/** Writes one entry: `AuditTrail.record` in a server, `appendEntry` in a command. */
export type WriteEntry = (entry: AuditEntry) => Promise<unknown>

/** Call this after the change. If it throws, the change stays, and the caller reports that its line is missing. */
export async function recordOperatorAct(write: WriteEntry, act: OperatorAct): Promise<void> {
  await write(newEntry(act))
}
