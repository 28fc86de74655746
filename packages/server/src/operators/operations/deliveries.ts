/** The delivery log of a webhook: the last attempts, with the response to each. */
import { ATTEMPTS_AT_MOST, type Attempt, type LoggedAttempt } from '../../domain/model/webhook-store.ts'
import { Type } from './json-schema.ts'
import { type RecordKind, type Subject, timeDisplay } from './operation.ts'
import { notFound } from './refusal.ts'
import { fieldsOf, nameSchema, textOrNull, time } from './schemas.ts'
import { operationsOn } from './standard.ts'
import { number } from './words.ts'

const integerOrNull = Type.Union([Type.Integer(), Type.Null()])

const fields = fieldsOf<LoggedAttempt & { nextAt: number | null }>()({
  at: [time, ({ at }) => at],
  line: [integerOrNull, ({ line }) => line],
  event: [Type.String({ description: '`webhook_test` for a test, which is no line of the trail.' }), ({ event }) => event],
  attempt: [Type.Integer({ description: 'Counts the attempts for the line, from 1.' }), ({ attempt }) => attempt],
  result: [Type.Enum(['accepted', 'failed']), ({ failure }) => (failure === null ? 'accepted' : 'failed')],
  status: [integerOrNull, ({ status }) => status],
  failure: [textOrNull, ({ failure }) => failure],
  milliseconds: [Type.Integer(), ({ milliseconds }) => milliseconds],
  next_attempt_at: [
    Type.Union([time, Type.Null()], { description: 'Of the newest attempt, if the line will be sent again.' }),
    ({ nextAt }) => nextAt,
  ],
})

export const deliverySchema = nameSchema(
  'Delivery',
  Type.Object(fields.schemas, { description: 'One attempt to deliver a line.' }),
)

const deliveryKind: RecordKind = {
  name: 'deliveries',
  noun: 'delivery',
  words: 'The delivery logs of the webhooks',
  schemas: [deliverySchema],
  scope: 'admin.webhooks',
  settings: 'grants',
  idName: 'at',
  displays: [
    timeDisplay('at', 'Time', { column: 'TIME' }),
    { label: 'Line', column: 'LINE', shown: ({ line }) => (line === null ? 'test' : (line as number)) },
    { label: 'Event', column: 'EVENT', shown: ({ event }) => ({ exact: String(event) }) },
    { label: 'Attempt', column: 'ATTEMPT', shown: ({ attempt }) => attempt as number },
    {
      label: 'Response',
      column: 'RESPONSE',
      shown: ({ failure, status }) => ({
        state: String(failure ?? status),
        tone: failure === null ? 'good' : 'warn',
      }),
    },
    { label: 'Took', column: 'TOOK', shown: ({ milliseconds }) => `${number(milliseconds as number)} ms` },
    timeDisplay('next_attempt_at', 'Next attempt', { column: 'NEXT ATTEMPT' }),
  ],
  empty: 'Nothing was sent yet.',
}
const { list } = operationsOn(deliveryKind)

export type DeliveryRecord = ReturnType<typeof fields.read>
/** A test, which is not repeated. */
export const testRecord = (attempt: Attempt): DeliveryRecord => fields.read({ ...attempt, attempt: 1, nextAt: null })

export const listDeliveries = list<{ webhook_id: string }, DeliveryRecord>({
  summary: `Lists the last ${ATTEMPTS_AT_MOST} attempts to deliver lines to a webhook, newest first.`,
  description: 'An attempt appears a few seconds after it was made.',
  input: [
    {
      name: 'webhook_id',
      shape: { kind: 'text' },
      required: true,
      words: 'The webhook.',
      longest: 100,
      option: { name: 'webhook', value: 'WEBHOOK_ID', words: 'The webhook, from grantor webhooks list.' },
    },
  ],
  answers: { done: 'The attempts.' },
  refusals: ['not_found'],
  command: { examples: ['--webhook 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'] },
  async run({ service, input }) {
    const { webhooks } = service.store
    const [log, all] = await Promise.all([webhooks.readAttempts(input.webhook_id), webhooks.listWebhooks()])
    const webhook = all.find(({ id }) => id === input.webhook_id)
    if (!webhook || log === null) throw notFound('webhooks', input.webhook_id)
    const { failingSince, pausedAt, nextAt } = webhook
    const retried = failingSince !== null && pausedAt === null ? log.find(({ line }) => line !== null) : undefined
    return { output: { items: log.map((each) => fields.read({ ...each, nextAt: each === retried ? nextAt : null })) } }
  },
})

export const deliveries: Subject = { ...deliveryKind, operations: [listDeliveries] }
