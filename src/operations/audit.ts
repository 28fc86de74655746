/** Searches the audit trail. */
import { Type } from 'typebox'
import { searchAudit as search } from '../domain/audit/search.ts'
import type { AuditLine } from '../domain/model/audit-store.ts'
import { WALLET, walletOf } from './grants.ts'
import type { Member } from './members/member.ts'
import { defineOperation, type Listed, readPage, type Subject } from './operation.ts'
import { named, pageOf, time } from './schemas.ts'

const subject = 'audit'
const text = { kind: 'text' } as const
const auditText = Type.Optional(Type.String())

export const auditLineSchema = named(
  'AuditLine',
  Type.Object(
    {
      seq: Type.Integer({ description: 'The number of the line, without gaps.' }),
      id: Type.String(),
      at: time,
      event: Type.String(),
      result: Type.Enum(['done', 'refused']),
      reason: auditText,
      operator: auditText,
      client_id: auditText,
      grant_id: auditText,
      wallet: Type.Optional(Type.String({ description: 'Shortened.' })),
      key_id: auditText,
      resource: auditText,
      request_id: auditText,
      network: Type.Optional(Type.String({ description: "The first part of the caller's address." })),
      details: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
      hash: Type.String({ description: 'SHA-256 over the hash of the line before and this line, base64url.' }),
    },
    { description: 'A line of the audit trail. A member without a value is absent.' },
  ),
)

export type AuditLineRecord = ReturnType<typeof auditLineRecord>

/** The line as it is exported, and its hash. */
function auditLineRecord({ line, hash }: AuditLine) {
  return { ...(JSON.parse(line) as { seq: number; at: number; event: string; result: string }), hash }
}

const input: readonly Member[] = [
  WALLET,
  { name: 'client_id', shape: text, words: 'The client.' },
  { name: 'grant_id', shape: text, words: 'The grant.' },
  { name: 'operator', shape: text, words: 'Who acted: an address, a client id, or `cli:NAME` for a command.' },
  { name: 'event', shape: text, words: 'The kind of line, such as `client_deleted`.' },
  { name: 'reason', shape: text, words: 'The reason of a refusal or of an ending.' },
  { name: 'since', shape: { kind: 'time' }, words: 'Only lines of this second and later.' },
  { name: 'until', shape: { kind: 'time' }, words: 'Only lines before this second.' },
]

type Filter = {
  wallet?: string
  client_id?: string
  grant_id?: string
  operator?: string
  event?: string
  reason?: string
  since?: number
  until?: number
}

export const searchAudit = defineOperation<Filter, Listed<AuditLineRecord>>({
  id: 'searchAudit',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.audit',
  summary: 'Searches the audit trail, newest first.',
  description: 'Several conditions must all hold. `grantor audit export` writes the whole trail with its hashes.',
  input,
  isPaged: true,
  answers: { done: 'A page of lines.' },
  output: pageOf(auditLineSchema),
  // The command `audit list` prints a list of any length: src/cli/commands/audit-list.ts.
  command: null,
  async run({ service, page, input: { wallet, client_id: clientId, grant_id: grantId, ...given } }) {
    const filter = { ...given, clientId, grantId, ...(wallet !== undefined && { wallet: walletOf(wallet) }) }
    const { items, next } = await readPage<AuditLine, Pick<AuditLine, 'at' | 'seq'>>(
      page,
      (limit, before) => search(service.store.audit, filter, { limit, before }),
      ({ at, seq }) => ({ at, seq }),
    )
    return { output: { items: items.map(auditLineRecord), next } }
  },
})

export const audit: Subject = {
  name: subject,
  noun: 'line',
  words: 'The audit trail',
  settings: 'grants',
  idName: 'seq',
  operations: [searchAudit],
}
