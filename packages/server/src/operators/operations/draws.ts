/** The draws of a grant with a limit: each use that an API counted. */
import { describeUse } from '../../domain/limits/use.ts'
import type { Draw } from '../../domain/model/draw-store.ts'
import type { SignedLimit } from '../../domain/model/records.ts'
import { Type } from './json-schema.ts'
import { amountWords, integerOrNull } from './limit-fields.ts'
import { type RecordKind, readPage, type Subject, timeDisplay } from './operation.ts'
import { notFound } from './refusal.ts'
import { fieldsOf, nameSchema, textOrNull, time, timeOrNull } from './schemas.ts'
import { operationsOn } from './standard.ts'

type DrawOfLimit = Draw & Pick<SignedLimit, 'limit'>

const fields = fieldsOf<DrawOfLimit>()({
  draw: [Type.Integer({ description: 'Counts the draws of the grant, from 1.' }), ({ number }) => number],
  at: [time, ({ at }) => at],
  client_id: [Type.String({ description: 'The client of the API that drew.' }), ({ clientId }) => clientId],
  key: [Type.String({ description: 'The name that the API gave the use.' }), ({ key }) => key],
  amount: [integerOrNull, ({ amount }) => amount],
  unit: [textOrNull, ({ limit }) => limit.unit ?? null],
  decimals: [integerOrNull, ({ limit }) => limit.decimals ?? null],
  returned: [
    Type.Union([Type.Integer(), Type.Null()], {
      description: 'What the API gave back, 0 for a use without an amount; null if it gave nothing back.',
    }),
    ({ returned }) => returned,
  ],
  period_ends_at: [timeOrNull, ({ until }) => until],
})

const drawSchema = nameSchema('Draw', Type.Object(fields.schemas, { description: 'One use of a limited scope.' }))

const drawKind: RecordKind = {
  name: 'draws',
  noun: 'draw',
  words: 'What was used of the limits of grants',
  schemas: [drawSchema],
  scope: 'admin.grants',
  settings: 'grants',
  idName: 'draw',
  displays: [
    { label: 'Draw', column: 'DRAW', shown: ({ draw }) => draw as number },
    timeDisplay('at', 'Time', { column: 'TIME' }),
    { label: 'Amount', column: 'AMOUNT', shown: (record) => amountOf(record as DrawRecord, 'amount') },
    { label: 'Given back', column: 'GIVEN BACK', shown: (record) => givenBack(record as DrawRecord) },
    { label: 'Key', column: 'KEY', shown: ({ key }) => ({ exact: String(key) }) },
    { label: 'API', column: 'CLIENT_ID', shown: ({ client_id: id }) => ({ exact: String(id) }) },
  ],
  empty: 'Nothing was drawn from this grant.',
}
const { list } = operationsOn(drawKind)

export type DrawRecord = ReturnType<typeof fields.read>

function amountOf(record: DrawRecord, name: 'amount' | 'returned'): string | null {
  const { [name]: amount, unit, decimals } = record
  return amount === null || unit === null ? null : amountWords({ unit, decimals: decimals ?? 0 }, amount)
}

/** A use without an amount is given back as a whole. */
function givenBack(record: DrawRecord): string | null {
  return record.returned === null ? null : (amountOf(record, 'returned') ?? 'yes')
}

export const listDraws = list<{ grant_id: string }, DrawRecord>({
  summary: 'Lists the draws of a grant with a limit, newest first.',
  description: 'A grant without a limit has none. The draws are deleted with the grant.',
  input: [
    {
      name: 'grant_id',
      shape: { kind: 'text' },
      required: true,
      words: 'The grant.',
      longest: 100,
      option: { name: 'grant', value: 'GRANT_ID', words: 'The grant, from grantor grants list.' },
    },
  ],
  isPaged: true,
  refusals: ['not_found'],
  command: {
    about:
      'AMOUNT is what the API drew, GIVEN BACK what it gave back of it. KEY is the name that the API gave the use: a repeated request with the same key draws once.',
    examples: ['--grant 6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a'],
    stream: 'array',
  },
  async run({ service, input, page }) {
    const { store } = service
    const grant = await store.grants.readGrant(input.grant_id)
    if (!grant) throw notFound('grants', input.grant_id)
    const use = describeUse(grant, service.now())
    if (use === null) return { output: { items: [], next: null } }
    const { items, next } = await readPage<Draw, number>(
      page,
      (limit, before) => store.draws.listDraws(grant.id, { before, limit }),
      ({ number }) => number,
    )
    return { output: { items: items.map((draw) => fields.read({ ...draw, limit: use.limit })), next } }
  },
})

export const draws: Subject = { ...drawKind, operations: [listDraws] }
