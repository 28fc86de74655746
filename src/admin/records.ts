/** The JSON of each record. */
import { createHash } from 'node:crypto'
import { membersOfClient, membersOfResource } from '../domain/configuration/members.ts'
import { type KeyKeeping, keyState, opensUntil } from '../domain/maintenance/keep-keys.ts'
import type { AuditLine } from '../domain/model/audit-store.ts'
import type { KeyRecord } from '../domain/model/operator-store.ts'
import type { Client, Grant, Job, Operator, Resource, Session } from '../domain/model/records.ts'

/** The record contains no secret and no hash of a secret. */
export function clientRecord(client: Client) {
  return {
    ...membersOfClient(client),
    secrets: client.secrets.map(({ expiresAt }) => ({ expires_at: expiresAt })),
    created_at: client.createdAt,
    disabled_at: client.disabledAt,
  }
}

export function resourceRecord(resource: Resource) {
  return { ...membersOfResource(resource), created_at: resource.createdAt }
}

export function operatorRecord({ id, role, createdAt }: Operator) {
  return { operator: id, role, created_at: createdAt }
}

export function grantRecord(grant: Grant, at: number) {
  const expiresAt = Math.min(grant.expiresAt, grant.refreshExpiresAt)
  return {
    grant_id: grant.id,
    client_id: grant.clientId,
    wallet: grant.wallet,
    scopes: grant.scopes,
    resources: grant.resources,
    scopes_by_resource: grant.scopesByResource,
    state: grant.endedAt !== null ? 'ended' : expiresAt <= at ? 'expired' : 'active',
    created_at: grant.createdAt,
    refreshed_at: grant.rotatedAt,
    expires_at: expiresAt,
    ended_at: grant.endedAt,
    end_reason: grant.endReason,
  }
}

/** `session_id` is the hash of the session's id. Only the browser has the id itself. */
export function sessionRecord(session: Session) {
  return {
    session_id: session.hash,
    wallet: session.wallet,
    method: session.method,
    signed_in_at: session.authTime,
    last_seen_at: session.lastSeenAt,
    expires_at: session.expiresAt,
  }
}

export function keyRecord(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord) {
  return {
    key_id: key.id,
    kind: key.kind,
    algorithm: key.algorithm,
    state: keyState(keeping, records, key),
    created_at: key.createdAt,
    starts_at: key.startsAt,
    opens_until: opensUntil(keeping, records, key),
    retired_at: key.retiredAt,
  }
}

export function jobRecord(job: Job) {
  return {
    job_id: job.id,
    kind: job.kind,
    client_id: job.clientId,
    started_by: job.startedBy,
    created_at: job.createdAt,
    grants_ended: job.grantsEnded,
    done_at: job.doneAt,
  }
}

/** The line as it is exported, and its hash. */
export function auditLineRecord({ line, hash }: AuditLine) {
  return { ...(JSON.parse(line) as { seq: number; at: number; event: string; result: string }), hash }
}

/** A strong validator of a record (RFC 9110 §8.8.3). */
export function etagOf(record: object): string {
  return `"${createHash('sha256').update(JSON.stringify(record)).digest('base64url').slice(0, 22)}"`
}
