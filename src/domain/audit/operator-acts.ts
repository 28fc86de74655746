/** Every act of an operator is a line of the trail, whether a command or the admin API carried it out. */
import type { AuditEntry, NewEntry } from './entry.ts'

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

/** `operator`: a wallet or a client id of the admin API, or `cli:NAME`. */
export type OperatorAct = NewEntry & { event: OperatorEvent; operator: string }

/** Writes one entry: `AuditTrail.record` in a server, `appendEntry` in a command. */
export type WriteEntry = (entry: AuditEntry) => Promise<unknown>
