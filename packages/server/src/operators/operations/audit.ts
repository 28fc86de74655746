/** Searches the audit trail. */
import { searchAudit as search } from '../../domain/audit/search.ts'
import type { AuditLine } from '../../domain/model/audit-store.ts'
import type { Member, Option } from '../members/member.ts'
import { WALLET, walletOf } from './grants.ts'
import { Type } from './json-schema.ts'
import { column, columns, type RecordKind, readPage, type Subject } from './operation.ts'
import { nameSchema, time } from './schemas.ts'
import { operationsOn } from './standard.ts'

const RESULTS = ['done', 'refused'] as const

const auditText = Type.Optional(Type.String())

const auditLineSchema = nameSchema(
  'AuditLine',
  Type.Object(
    {
      seq: Type.Integer({ description: 'The number of the line, without gaps.' }),
      id: Type.String(),
      at: time,
      event: Type.String(),
      result: Type.Enum([...RESULTS]),
      reason: auditText,
      operator: auditText,
      client_id: auditText,
      grant_id: auditText,
      wallet: Type.Optional(Type.String({ description: 'Shortened.' })),
      key_id: auditText,
      resource: auditText,
      request_id: auditText,
      network: Type.Optional(Type.String({ description: "The first part of the caller's address." })),
      details: Type.Optional(Type.Record(Type.Union([Type.String(), Type.Number()]))),
      hash: Type.String({ description: 'SHA-256 over the hash of the line before and this line, base64url.' }),
    },
    { description: 'A line of the audit trail. A member without a value is absent.' },
  ),
)

const auditKind: RecordKind = {
  name: 'audit',
  noun: 'line',
  words: 'The audit trail',
  schemas: [auditLineSchema],
  scope: 'admin.audit',
  settings: 'grants',
  idName: 'seq',
  displays: [
    column('LINE', 'seq'),
    column('TIME', 'at', 'time'),
    ...columns('event', 'reason', 'operator', 'client_id', 'grant_id', 'wallet', 'network'),
  ],
  empty: 'No line matches.',
}

export type AuditLineRecord = ReturnType<typeof auditLineRecord>

/** The line as it is exported, and its hash. */
function auditLineRecord({ line, hash }: AuditLine) {
  return { ...(JSON.parse(line) as { seq: number; at: number; event: string; result: string }), hash }
}

const input: readonly Member[] = [
  { ...WALLET, option: { value: 'ADDRESS', words: 'Only lines about this wallet.' } },
  filter('client_id', 'The client.', { name: 'client', value: 'CLIENT_ID', words: 'Only lines about this client.' }),
  filter('grant_id', 'The grant.', { name: 'grant', value: 'GRANT_ID', words: 'Only lines about this grant.' }),
  filter('operator', 'Who acted: an address, a client id, or `cli:NAME` for a command.', {
    value: 'NAME',
    words: 'Only acts of this operator, such as cli:root.',
  }),
  filter('event', 'The kind of line, such as `client_deleted`.', {
    value: 'EVENT',
    words: 'Only this event, such as grant_ended.',
  }),
  {
    ...filter('result', '`refused`: only lines about requests that were declined or refused.', {
      value: 'RESULT',
      words: 'done, or refused: only requests that were declined or refused.',
    }),
    shape: { kind: 'text', choices: RESULTS },
  },
  filter('reason', 'The reason of a refusal or of an ending.', {
    value: 'REASON',
    words: 'Only lines with this reason, such as refresh_replayed.',
  }),
  {
    ...filter('since', 'Only lines of this second and later.', { value: 'TIME', words: 'Only lines from this time on.' }),
    shape: { kind: 'time' },
  },
  {
    ...filter('until', 'Only lines before this second.', { value: 'TIME', words: 'Only lines before this time.' }),
    shape: { kind: 'time' },
  },
]

function filter(name: string, words: string, option: Option): Member {
  return { name, words, option, shape: { kind: 'text' } }
}

type TextFilter = 'wallet' | 'client_id' | 'grant_id' | 'operator' | 'event' | 'reason'
type AuditFilterInput = Partial<Record<TextFilter, string> & Record<'since' | 'until', number> & { result: 'done' | 'refused' }>

export const searchAudit = operationsOn(auditKind).list<AuditFilterInput, AuditLineRecord>({
  id: 'searchAudit',
  scope: auditKind.scope,
  summary: 'Searches the audit trail, newest first.',
  description: 'Several conditions must all hold. `grantor audit export` writes the whole trail with its hashes.',
  input,
  isPaged: true,
  command: {
    about:
      'Several conditions must all hold. A time is a date (2026-11-23), a date with a time in UTC (2026-11-23T08:30Z), or how long ago it was (90m, 24h, 7d).',
    examples: ['--since 24h --event grant_ended', '--wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --json'],
    stream: 'lines',
  },
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

export const audit: Subject = { ...auditKind, operations: [searchAudit] }
