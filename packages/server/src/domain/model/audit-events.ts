/**
 * Every event of the audit log and of the audit trail, written once. What is recorded, what a response waits for, the names that a webhook
 * accepts and docs/reference/events.md are derived from this table.
 *
 * Recorded are sign-ins, consents, endings, and acts of operators. Requests for tokens are not, because metrics count them. Events that a caller
 * can cause without a proof of a wallet or a client are not recorded either: such a caller could fill the database.
 */
import type { KeyKind } from '../../protocol/keys/key-ring.ts'
import type { Reason } from '../../protocol/oauth/reasons.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { EndReason, LoginMethod } from './records.ts'
import type { RevokeTokenOutcome, SpendOutcome } from './request-store.ts'

type EventRow = {
  /** what happened, in one sentence */
  means: string
  /** The event is a line of the trail, and not only of the log. */
  recorded?: true
  /**
   * The response waits until the line of the trail is committed. The revocations of a client do not wait: they are as frequent as requests for
   * tokens, and a second commit for each would halve their rate.
   */
  awaited?: true | 'unless_revoked'
  /** The event cannot be undone. Its line of the log leaves the process before the response, so a crash cannot lose it. */
  lasting?: true
  /** The event changes nothing, so a caller can repeat it at any rate. It is only counted: one line a minute has the number. */
  counted?: true
  /** The lines of the event have the result `refused`. */
  isRefused?: true
  /** A request was refused. The console shows who sent such requests. */
  refusal?: true
  /** An operator must be alerted. */
  alarm?: true
  /** An operator can do it, with the admin API or a command. */
  act?: true
}

const AWAITED = { recorded: true, awaited: true } as const
const ENDING = { ...AWAITED, lasting: true } as const
const ACT = { ...ENDING, act: true } as const

const TABLE = {
  wallet_proved: {
    ...AWAITED,
    means: 'A wallet signed at the login and its consent is stored, or the login server vouched for the wallet.',
  },
  session_started: { ...AWAITED, means: 'A session of a browser began.' },
  consent_confirmed: { ...AWAITED, means: 'A user allowed the request of an app without a new signature.' },
  consent_declined: { ...AWAITED, isRefused: true, means: 'A user who is signed in declined the request of an app.' },
  device_allowed: { ...AWAITED, means: 'A user allowed the request of a device.' },
  cross_device_signed: { ...AWAITED, means: 'A wallet on another device signed the login of a browser.' },

  approval_requested: {
    recorded: true,
    means:
      'An API asked the user to sign one action. `approval_uri` is the page for the user, `app` the client that acts, and the clients before it.',
  },
  approval_signed: { ...AWAITED, means: 'A wallet signed one action that an API asked for.' },
  approval_declined: {
    recorded: true,
    isRefused: true,
    means: 'A user, or someone with the link, declined one action that an API asked for.',
  },
  approval_used: { recorded: true, means: 'An API used an approval, so that it can act once.' },

  hook_allowed: {
    ...AWAITED,
    means: 'The hook of the operator allowed a code, or the request of a device. `scopes` are the allowed ones.',
  },
  hook_refused: {
    ...AWAITED,
    isRefused: true,
    means: 'The hook of the operator refused a wallet at an app. `occasion` is the kind of request.',
  },
  refresh_narrowed: {
    recorded: true,
    counted: true,
    means: 'The hook of the operator allowed fewer scopes at a refresh than the wallet did.',
  },
  hook_failed: {
    recorded: true,
    isRefused: true,
    counted: true,
    means: 'The hook of the operator gave no usable answer, so requests were refused with 503. `reason` is the kind of failure.',
  },

  app_ended: {
    ...ENDING,
    means: 'A user ended the access of an app. `grants_ended_by` is the id of the job, if a job ends the other grants.',
  },
  everything_ended: {
    ...ENDING,
    means: 'A user ended all access and all sessions. `grants_ended_by` is the id of the job, if a job ends the other grants.',
  },
  scopes_declined: {
    ...ENDING,
    means:
      'A user declined scopes that an app had: earlier consents with these scopes were withdrawn, and grants with them ended.',
  },
  session_ended: { ...ACT, means: 'A session ended.' },
  other_sessions_ended: { ...ENDING, means: 'A user ended all sessions but one.' },
  grant_ended: { ...ACT, awaited: 'unless_revoked', means: 'A grant ended. The line has the reason.' },
  access_token_revoked: { recorded: true, lasting: true, means: 'A client revoked an access token.' },
  client_token_revoked: {
    recorded: true,
    lasting: true,
    means: 'A client revoked an access token that has no grant. `jti` is that of the token.',
  },
  revocation_repeated: {
    recorded: true,
    counted: true,
    means: 'A client revoked tokens that were revoked before, or whose grants had ended.',
  },

  endings_read: {
    recorded: true,
    means: 'A resource server reads the feed of endings. Recorded once an hour for each client and process.',
  },

  key_made: { ...ACT, means: 'A key was made.' },
  key_retired: { ...ACT, means: 'A key was retired.' },

  client_created: { ...ACT, means: 'A client was created.' },
  client_changed: { ...ACT, means: 'A client was changed.' },
  client_secret_rotated: { ...ACT, means: 'A client got a new secret.' },
  client_disabled: { ...ACT, means: 'A client was disabled.' },
  client_enabled: { ...ACT, means: 'A client was enabled.' },
  client_deletion_started: { ...ACT, means: 'A job began to delete a client. First it ends the grants of the client.' },
  client_deleted: { ...ACT, means: 'A client was deleted, and its grants ended.' },
  resource_created: { ...ACT, means: 'A resource was created.' },
  resource_changed: { ...ACT, means: 'A resource was changed.' },
  resource_deleted: { ...ACT, means: 'A resource was deleted.' },
  operator_added: { ...ACT, means: 'An operator was added.' },
  operator_changed: { ...ACT, means: 'An operator was changed.' },
  operator_removed: { ...ACT, means: 'An operator was removed.' },
  ending_of_grants_started: { ...ACT, means: 'A job began to end the grants of a client or of a wallet.' },
  grants_ended: { ...ACT, means: 'The grants of a client or of a wallet ended. If a job ended them, the job is done.' },
  job_stopped: { ...ACT, means: 'An operator stopped a job. `grants` is how many grants it had ended.' },
  keys_rewrapped: { ...ACT, means: 'The keys were encrypted with another `GRANTOR_SECRET`.' },
  restoration_begun: { ...ACT, means: 'The preparation of a restored database began.' },
  restoration_confirmed: { ...ACT, means: 'The preparation of a restored database is complete.' },
  webhook_created: { ...ACT, means: 'A webhook was created.' },
  webhook_changed: { ...ACT, means: 'The address or the events of a webhook were changed.' },
  webhook_deleted: { ...ACT, means: 'A webhook was deleted.' },
  webhook_tested: { ...ACT, means: 'An operator sent a test to a webhook. `result` is that of the receiver.' },
  webhook_paused_by_operator: { ...ACT, means: 'An operator paused a webhook.' },
  webhook_resumed: { ...ACT, means: 'A paused webhook was resumed.' },
  webhook_replayed: { ...ACT, means: 'A webhook sends earlier lines again.' },

  audit_head_signed: { recorded: true, means: 'A server signed the last line of the trail. `head` is the signature.' },
  audit_lines_deleted: { recorded: true, means: 'Lines were deleted because of their age. `through` is the last of them.' },
  audit_waiting_changed: {
    recorded: true,
    alarm: true,
    isRefused: true,
    means:
      'Lines were removed or changed while they waited outside of the chain. `series` and `position` name the batch; its lines, if any are left, are before this line.',
  },
  store_lost_a_write: { ...AWAITED, alarm: true, means: 'The database lost an acknowledged write.' },

  refused: { refusal: true, means: 'A request was refused.' },
  authorize_refused: { refusal: true, means: 'An authorization request was refused.' },
  login_refused: { refusal: true, means: 'The way back from a login was refused.' },
  logout_refused: { refusal: true, means: 'A request to sign out was refused.' },
  approval_refused: { refusal: true, means: 'A page of an approval was refused.' },
  device_refused: { refusal: true, means: 'A user code was refused.' },
  client_registered_itself: { means: 'A client registered itself.' },
  id_token_hint_unknown: { means: 'An `id_token_hint` is forged, or its key was retired. The request goes on without the hint.' },
  request_pushed: { means: 'A client pushed an authorization request.' },
  code_issued: { means: 'An app got an authorization code.' },
  code_redeemed: { means: 'A client exchanged a code, and a grant began. `limit` is what the wallet signed of a limited scope.' },
  client_token_issued: { means: 'A client got an access token of its own.' },
  token_exchanged: { means: 'A client exchanged an access token for another one.' },
  device_requested: { means: 'A device began a request.' },
  device_denied: { means: 'A user declined the request of a device.' },
  logout_notice_delivered: { means: 'A client accepted the notice of a logout.' },
  logout_notice_lost: { means: 'A client did not accept the notice of a logout. The line has the reason.' },

  audit_trail_behind: { alarm: true, means: 'Lines of the trail wait, because they cannot be stored.' },
  audit_trail_waiting: {
    alarm: true,
    means:
      'Lines of the trail wait in the database outside of the chain, because the coordinator of the database cannot append them.',
  },
  audit_trail_moved: { means: 'Lines that waited outside of the chain are in the chain.' },
  audit_trail_caught_up: { means: 'Lines of the trail are stored again.' },
  audit_trail_lost: { alarm: true, means: 'Too many lines of the trail wait. Later lines are in the log only.' },
  audit_trail_stopped: {
    alarm: true,
    means: 'A server stopped while lines of the trail waited. `lines` is the number of lines that are in the log only.',
  },
  audit_chain_broken: {
    alarm: true,
    means: 'The trail was changed in the database. `line` is the first line that does not hold.',
  },
  webhook_failing: { means: 'A receiver did not accept a line. The line of this event has the reason.' },
  webhook_works_again: { means: 'A receiver accepts lines again.' },
  webhook_paused: {
    alarm: true,
    means: 'A webhook is paused, because its receiver has failed for 25 hours or accepts no more lines.',
  },
} as const satisfies Record<string, EventRow>

export type AuditEventName = keyof typeof TABLE

export const auditEvents: Readonly<Record<AuditEventName, EventRow>> = TABLE

/** The names of the events that can be lines of the trail. */
export const recordedEvents: readonly string[] = Object.entries(auditEvents).flatMap(([name, { recorded }]) =>
  recorded ? [name] : [],
)

/** The recorded events whose lines have the result `refused`. */
export const refusedEvents: readonly string[] = recordedEvents.filter((name) => auditEvents[name as AuditEventName].isRefused)

type NamesWith<Traits> = { [Name in AuditEventName]: (typeof TABLE)[Name] extends Traits ? Name : never }[AuditEventName]
type AwaitedName = NamesWith<{ awaited: true | 'unless_revoked' }>
/** The events of acts of operators. */
export type ActName = NamesWith<{ act: true }>
/** The events that cannot be undone. */
export type LastingName = NamesWith<{ lasting: true }>

/** Why something was refused or ended, or by which method something was done. The client never receives the reason. */
type AuditReason = Reason | EndReason | LoginMethod | KeyKind | RevokeTokenOutcome | SpendOutcome

type AuditedObjects = {
  client_id?: string
  grant_id?: string
  key_id?: string
  /** complete; the log and the audit trail have the shortened form */
  wallet?: Address
  /** a resource, by its URI */
  resource?: string
  /** the operator who did it, an address or a client id; complete, like `wallet` */
  operator?: string
  /** further facts, such as how many grants ended; never a secret */
  details?: Readonly<Record<string, string | number>>
  request_id?: string
  /** the first part of the caller's address, if the request is refused before its handler; otherwise it is known from the request */
  network?: string | undefined
}

/** An event whose line a response waits for. */
export type AwaitedEvent = AuditedObjects & { event: AwaitedName; reason?: Exclude<AuditReason, 'revoked'> }

type NoticeName = 'logout_notice_delivered' | 'logout_notice_lost'

/** An event whose line no response waits for. The reason of a logout notice is free text: only `outbound` lists the ways in which a call can fail. */
export type UnawaitedEvent = AuditedObjects &
  (
    | { event: Exclude<AuditEventName, AwaitedName | NoticeName>; reason?: AuditReason }
    | { event: NamesWith<{ awaited: 'unless_revoked' }>; reason: 'revoked' }
    | { event: NoticeName; reason?: string }
  )

/** One line of the audit log. */
export type AuditEvent = AwaitedEvent | UnawaitedEvent

export function isAwaited({ event, reason }: AuditEvent): boolean {
  const { awaited } = auditEvents[event]
  return awaited === 'unless_revoked' ? reason !== 'revoked' : awaited === true
}

/** Writes an event to the log, and to the trail if it is recorded. */
export type Audit = {
  /** Resolves when the line of the trail is committed or lost, or after two seconds. Never rejects. */
  (event: AwaitedEvent): Promise<void>
  (event: UnawaitedEvent): void
}
