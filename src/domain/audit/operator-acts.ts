/** Every act of an operator is a line of the trail, whether a command or the admin API carried it out. */
import type { AuditEntry } from './entry.ts'

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

/** Writes one entry: `AuditTrail.record` in a server, `appendEntry` in a command. */
export type WriteEntry = (entry: AuditEntry) => Promise<unknown>
