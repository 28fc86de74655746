/** Webhooks: the servers that receive the lines of the audit trail. */

import { randomUUID } from 'node:crypto'
import { calledUriFault } from '../../domain/clients/client-called-uri.ts'
import { recordedEvents } from '../../domain/model/audit-events.ts'
import type { Fault } from '../../domain/model/fault.ts'
import { type StoredWebhook, WEBHOOKS_AT_MOST, type Webhook, type WebhookProgress } from '../../domain/model/webhook-store.ts'
import { newStandardSecret, standardSecretText } from '../../protocol/keys/standard-webhook.ts'
import { nearest } from '../../protocol/oauth/nearest.ts'
import {
  byKey,
  changedNames,
  differences,
  givenAtChange,
  givenAtCreation,
  type Members,
  membersOf,
  namedFaults,
  type Shown,
} from '../members/member.ts'
import { webhookMembers } from '../members/webhook-members.ts'
import { type DeliveryRecord, deliverySchema, testRecord } from './deliveries.ts'
import { Type } from './json-schema.ts'
import { type Arrangement, arrangedRecords, arrangementMembers, type RecordNames } from './lists.ts'
import { type Call, displaysOf, type RecordKind, type Result, type Subject, timeDisplay } from './operation.ts'
import { conflict, invalid } from './refusal.ts'
import { fieldsOf, nameSchema, recordSchema, refTo, time, timeOrNull, uuid } from './schemas.ts'
import { type Act, mayUse, type Service } from './service.ts'
import { operationsOn } from './standard.ts'
import { formatCount, number } from './words.ts'

const EXAMPLE = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'

/** Lines that are counted at most: the count reads them one by one. */
const COUNTED_WITHIN = 10_000

/** What was not delivered yet. */
type WaitingLines = {
  /** the last line of the trail */
  lastLine: number
  /** the first line that the trail still has; null if no line waits */
  firstWaiting: number | null
  waiting: number
  deleted: number
}

const fields = fieldsOf<StoredWebhook & WaitingLines>()({
  webhook_id: [uuid, ({ id }) => id],
  created_at: [time, ({ createdAt }) => createdAt],
  delivered_through: [
    Type.Integer({ description: 'The last line that was delivered or is not wanted.' }),
    ({ cursor }) => cursor,
  ],
  last_line: [Type.Integer({ description: 'The last line of the trail.' }), ({ lastLine }) => lastLine],
  first_waiting_line: [
    Type.Union([Type.Integer(), Type.Null()], { description: 'The first line that was not delivered. Null if no line waits.' }),
    ({ firstWaiting }) => firstWaiting,
  ],
  waiting_lines: [
    Type.Integer({
      description: `The lines of its events after \`delivered_through\`, counted within the next ${COUNTED_WITHIN} lines of the trail.`,
    }),
    ({ waiting }) => waiting,
  ],
  deleted_lines: [
    Type.Integer({ description: 'The lines of the trail that were deleted because of their age before they were delivered.' }),
    ({ deleted }) => deleted,
  ],
  failing_since: [timeOrNull, ({ failingSince }) => failingSince],
  paused_at: [timeOrNull, ({ pausedAt }) => pausedAt],
})

const webhookKind: RecordKind = {
  name: 'webhooks',
  noun: 'webhook',
  words: 'Receivers of the audit trail',
  schemas: [nameSchema('Webhook', recordSchema(webhookMembers, fields.schemas))],
  scope: 'admin.webhooks',
  settings: 'grants',
  idName: 'webhook_id',
  displays: [
    ...displaysOf(webhookMembers),
    { label: 'State', column: 'STATE', print: 'state', shown: stateOf },
    // Of a webhook that is not paused, the state has this time.
    {
      label: 'Failed since',
      print: 'failed since',
      shown: ({ paused_at: paused, failing_since: at }) => (paused === null || at === null ? null : { time: at as number }),
    },
    { label: 'Lines to go', column: 'LINES TO GO', shown: ({ waiting_lines: waiting }) => waiting as number },
    { label: 'Not delivered', print: 'not delivered', shown: waitingWords },
    {
      label: 'Deleted before delivery',
      print: 'deleted before delivery',
      shown: ({ deleted_lines: deleted }) => (deleted === 0 ? null : formatCount(deleted as number, 'line')),
    },
    {
      label: 'Events',
      column: 'EVENTS',
      shown: ({ events }) => ({ words: events as string[], none: 'every event' }),
    },
    { label: 'URL', name: 'url', column: 'URL', isTitle: true, shown: ({ url }) => ({ exact: String(url) }) },
    timeDisplay('created_at', 'Added', { print: 'created', column: 'CREATED' }),
  ],
  empty: 'There is no webhook.',
  lead: 'The receivers of the audit trail. Each gets every new line, or those of some events.',
}
const { list, get, create, change, act, remove, existing } = operationsOn(webhookKind)

type WebhookRecord = Members & ReturnType<typeof fields.read>
type CreatedWebhook = { webhook: WebhookRecord; secret: string }

async function webhookRecord({ service: { store }, actor }: WebhookReader, webhook: StoredWebhook): Promise<WebhookRecord> {
  const { seq } = await store.audit.readHead()
  const waiting = await readWaiting(store, webhook, seq)
  const url = mayUse(actor, 'admin.webhooks') ? webhook.url : shortenUrl(webhook.url)
  return { ...membersOf(webhookMembers, { ...webhook, url }), ...fields.read({ ...webhook, ...waiting }) }
}

type WebhookReader = Pick<Call, 'service' | 'actor'>

/** The path and the query may be a secret of the receiver. Who can change the webhook reads them, and an auditor does not. */
function shortenUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return pathname === '/' && search === '' ? url : `${origin}/…`
}

async function readWaiting(
  { audit }: Pick<Service['store'], 'audit'>,
  { cursor, events }: StoredWebhook,
  lastLine: number,
): Promise<WaitingLines> {
  const [first] = cursor < lastLine ? await audit.readLines({ after: cursor, limit: 1 }) : []
  const deleted = (first?.seq ?? cursor + 1) - cursor - 1
  const all = first ? lastLine - first.seq + 1 : 0
  const isCounted = events.length > 0 && all > 0
  const waiting = isCounted ? await audit.countLines({ after: cursor, events, within: COUNTED_WITHIN }) : all
  return { lastLine, firstWaiting: waiting > 0 ? (first?.seq ?? null) : null, waiting, deleted }
}

/** The webhook as it is stored: no event twice. */
export function webhookOf<Given extends Pick<Webhook, 'events'>>(given: Given): Given {
  return { ...given, events: [...new Set(given.events)] }
}

/** The faults of a webhook. `grantor start` also sends to plain http on this machine. */
export function webhookFaults(
  { isDevelopment, isCallable }: Pick<Service, 'isDevelopment' | 'isCallable'>,
  { url, events }: Pick<Webhook, 'url' | 'events'>,
): Fault<keyof Webhook>[] {
  const fault = calledUriFault(url)
  const isPlain = fault === null && new URL(url).protocol === 'http:' && !isDevelopment
  const isPrivate = fault === null && !isPlain && !isCallable(url)
  const ofUrl = [
    ...(fault === null ? [] : [`URL ${fault}`]),
    ...(isPlain ? ['URL is plain http; grantor serve sends to https addresses only.'] : []),
    ...(isPrivate
      ? ['URL is an address of a private network, to which nothing is sent. Give the receiver a public address.']
      : []),
  ]
  // A webhook for an event that no line has would never send anything.
  const unknown = events.filter((event) => !recordedEvents.includes(event))
  return [
    ...ofUrl.map((words) => ({ member: 'url' as const, words })),
    ...unknown.map((event) => ({ member: 'events' as const, words: eventFault(event) })),
  ]
}

function eventFault(event: string): string {
  const meant = nearest(event, recordedEvents)
  return `"${event}" is not an event of the trail${meant ? `; did you mean ${meant}?` : '.'}`
}

type NewWebhook = { webhook: StoredWebhook; secret: string }

/** A webhook from the next line of the trail on, with a new secret, unless one is given. */
async function newWebhook(
  service: Service,
  given: Pick<Webhook, 'id' | 'url' | 'events'>,
  secret = newStandardSecret(),
): Promise<NewWebhook> {
  const wrapped = service.keys().keeping.wrap.wrap(secret, given.id, 'webhook')
  const { seq: cursor } = await service.store.audit.readHead()
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  const webhook = { ...given, secret: Buffer.from(wrapped).toString('base64url'), createdAt: service.now(), ...progress }
  return { webhook, secret: standardSecretText(secret) }
}

/** The query of the address may be a secret of the receiver, so only the host is recorded. */
export function detailsOf({ id, url, events }: Pick<Webhook, 'id' | 'url' | 'events'>): NonNullable<Act['details']> {
  return { webhook_id: id, host: new URL(url).host, ...(events.length > 0 && { events: events.join(' ') }) }
}

const NAMES: RecordNames = { id: 'webhook_id', texts: ['url', 'webhook_id'], sorts: ['created_at', 'url'] }

const listWebhooks = list<Arrangement>({
  summary: 'Lists the webhooks, how far each one is, and whether it fails.',
  input: arrangementMembers('webhook', 'URL or id', NAMES.sorts),
  async run({ service, actor, input }) {
    const webhooks = await service.store.webhooks.listWebhooks()
    const records: Members[] = await Promise.all(webhooks.map((webhook) => webhookRecord({ service, actor }, webhook)))
    return { output: { items: arrangedRecords(records, input, NAMES) } }
  },
})

export const createWebhook = create<{ url: string; events?: string[] }, CreatedWebhook>({
  needs: 'keys',
  summary: 'Sends each new line of the audit trail to an address, signed (Standard Webhooks).',
  description: 'The secret is in this response only. The lines are sent in their order, from the next line on.',
  input: givenAtCreation(webhookMembers),
  refusals: ['conflict'],
  answers: { created: 'The webhook and its secret.' },
  output: Type.Object({
    webhook: refTo(webhookKind.schemas[0]),
    secret: Type.String({ description: 'Sent once, and stored wrapped only.' }),
  }),
  command: {
    about: [
      'The lines are sent in their order, from the next line on. A line is sent again until the receiver responds with a status from 200 to 299. After 25 hours of failures the webhook is paused; to continue: grantor webhooks resume. Redirects and private addresses are refused.',
      'The secret is printed once. With --json one object is printed: {"webhook_id","url","events","secret"}.',
    ],
    examples: ['https://siem.example.com/grantor --event grant_ended --event session_started'],
    json: ({ webhook: { webhook_id, url, events }, secret }: CreatedWebhook) => ({ webhook_id, url, events, secret }),
  },
  page: {
    link: 'Add a webhook',
    intro: 'A receiver gets each new line of the audit trail, signed.',
    button: 'Add the webhook',
    done: 'The webhook is added',
  },
  async question({ service, input: { url, events = [] } }) {
    const faults = webhookFaults(service, { url, events })
    if (faults.length > 0) throw invalid(namedFaults(webhookMembers, faults))
    return {
      title: 'Add this webhook?',
      effect: `It sends ${events.length === 0 ? 'every new line' : 'new lines'} of the audit trail to ${new URL(url).host}.`,
      notes: ['The next page shows the secret, once.'],
    }
  },
  async run({ service, actor, input: { url, events = [] }, origin }) {
    const given = webhookOf({ id: origin?.webhook?.id ?? randomUUID(), url, events })
    const faults = webhookFaults(service, given)
    if (faults.length > 0) throw invalid(namedFaults(webhookMembers, faults))
    const { webhook, secret } = await newWebhook(service, given, origin?.webhook?.secret)
    const outcome = await service.store.webhooks.insertWebhook(webhook)
    if (outcome === 'full') throw conflict(`${WEBHOOKS_AT_MOST} webhooks exist, which is the most.`, 'full')
    if (outcome === 'taken') throw conflict('A webhook with this id exists already.', 'taken')
    const record = await webhookRecord({ service, actor }, webhook)
    return { output: { webhook: record, secret }, isNew: true, act: { event: 'webhook_created', details: detailsOf(webhook) } }
  },
})

const getWebhook = get({
  command: { examples: [EXAMPLE] },
  async run({ service, actor, id }) {
    const webhook = await readWebhook(service, id)
    return { output: await webhookRecord({ service, actor }, webhook), record: membersOf(webhookMembers, webhook) }
  },
})

export const updateWebhook = change<WebhookRecord>({
  summary: 'Changes the address or the events of a webhook.',
  description: 'Members that are absent stay unchanged. The secret and the next line stay the same.',
  input: givenAtChange(webhookMembers),
  command: {
    about:
      'Properties that are not named stay unchanged. The new address gets the lines that follow, signed with the same secret. A receiver of another party needs a webhook of its own: grantor webhooks create. If the webhook fails or is paused: grantor webhooks resume.',
    examples: [`${EXAMPLE} --url https://siem.example.com/grantor`, `${EXAMPLE} --every-event`],
  },
  async question({ service, id, input }) {
    const { url } = changedWebhook(service, await readWebhook(service, id), input)
    return { title: 'Change this webhook?', effect: `It sends new lines of the audit trail to ${new URL(url).host}.` }
  },
  async run({ service, actor, id, input, requireMatch }) {
    let before: StoredWebhook | undefined
    const changed = await service.store.webhooks.changeWebhook(id, (present) => {
      requireMatch(membersOf(webhookMembers, present))
      before = present
      return changedWebhook(service, present, input)
    })
    const webhook = existing(changed, id)
    const changes = differences(webhookMembers, before ?? webhook, webhook)
    const act = { event: 'webhook_changed', details: { ...detailsOf(webhook), ...changedNames(changes) } } as const
    const record = membersOf(webhookMembers, webhook)
    return { output: await webhookRecord({ service, actor }, webhook), record, ...(changes.length > 0 && { act }) }
  },
})

const testWebhook = act<Members, DeliveryRecord>({
  id: 'testWebhook',
  verb: 'test',
  needs: 'keys',
  summary: 'Sends a signed test to a webhook, and waits for the response.',
  description:
    'The message has the type `webhook_test`. It is no line of the trail, and is sent once, also if the webhook is paused. The delivery log has the response.',
  refusals: ['conflict'],
  answers: { done: 'The test was sent. The result is that of the receiver.' },
  output: refTo(deliverySchema),
  command: {
    examples: [EXAMPLE],
    done: ({ failure, status, milliseconds }: DeliveryRecord) =>
      failure === null
        ? `Accepted with status ${status} after ${milliseconds} ms.`
        : `Not accepted after ${milliseconds} ms: ${failure}.`,
  },
  page: {
    link: 'Send a test',
    button: 'Send the test',
    done: 'The test was sent. Its result is the first line below.',
  },
  async question({ service, id }) {
    const { url } = await readWebhook(service, id)
    return {
      title: 'Send a test?',
      effect: `It sends 1 message of the type webhook_test to ${new URL(url).host} now, and waits for the response for at most 10 seconds.`,
    }
  },
  async run({ service, id }) {
    const webhook = await readWebhook(service, id)
    const attempt = await service.testWebhook(webhook)
    if (attempt.failure === 'busy') throw conflict('Other tests wait for their responses. Try again in ten seconds.')
    await service.store.webhooks.logAttempts(id, [attempt])
    const details = { webhook_id: id, host: new URL(webhook.url).host, result: attempt.failure ?? 'accepted' }
    return { output: testRecord(attempt), act: { event: 'webhook_tested', details } }
  },
})

const pauseWebhook = act({
  id: 'pauseWebhook',
  verb: 'pause',
  summary: 'Sends no lines to a webhook until it is resumed.',
  description: 'No line is lost while the trail has the line. An attempt that is under way ends.',
  answers: { done: 'The webhook is paused.' },
  output: null,
  command: { examples: [EXAMPLE], done: () => 'Paused.' },
  page: { link: 'Pause', done: 'The webhook is paused.', isOffered: ({ paused_at: paused }) => paused === null },
  async question({ service, id }) {
    const { url } = await readWebhook(service, id)
    return {
      effect: `It sends no lines to ${new URL(url).host} until the webhook is resumed.`,
      notes: ['Resuming it sends the lines of the meantime, as long as the trail has them.'],
    }
  },
  run: async ({ service, id }) =>
    changeProgress(service, id, ({ pausedAt }) => (pausedAt === null ? { pausedAt: service.now() } : null), {
      event: 'webhook_paused_by_operator',
      details: { webhook_id: id },
    }),
})

const resumeWebhook = act({
  id: 'resumeWebhook',
  verb: 'resume',
  summary: 'Sends lines to a paused or failing webhook again.',
  description: 'They are sent at once, from the first line that the receiver did not accept.',
  answers: { done: 'The webhook was resumed.' },
  output: null,
  command: { examples: [EXAMPLE], done: () => 'Resumed.' },
  page: { link: 'Resume', done: 'The webhook was resumed.', isOffered: isFailing },
  async question({ service, actor, id }) {
    const webhook = await readWebhook(service, id)
    const { waiting_lines: waiting, deleted_lines: deleted } = await webhookRecord({ service, actor }, webhook)
    return {
      effect: `It sends ${formatCount(waiting, 'line')} to ${new URL(webhook.url).host} now.`,
      notes:
        deleted === 0
          ? []
          : [`${formatCount(deleted, 'line')} before them cannot be sent: the trail does not have them any more.`],
    }
  },
  run: async ({ service, id }) =>
    changeProgress(service, id, ({ pausedAt, failingSince }) => ((pausedAt ?? failingSince) === null ? null : DUE), {
      event: 'webhook_resumed',
      details: { webhook_id: id },
    }),
})

const replayWebhook = act<{ line: number }>({
  id: 'replayWebhook',
  verb: 'replay',
  summary: 'Sends lines to a webhook again, from one line on.',
  description: 'A line has the same webhook-id each time that it is sent, so a receiver recognises lines that it has.',
  input: [
    {
      name: 'line',
      shape: { kind: 'integer', minimum: 1 },
      required: true,
      words: 'The number of the first line.',
      label: 'The number of the first line',
      option: { value: 'LINE', words: 'The number of the first line, from grantor audit list.' },
    },
  ],
  answers: { done: 'The lines are sent again.' },
  output: null,
  command: { examples: [`${EXAMPLE} --line 1204`], done: () => 'Sends the lines again.' },
  page: { link: 'Replay', button: 'Send the lines again', done: 'The lines are sent again.' },
  async question({ service, id, input: { line } }) {
    const { url, pausedAt } = await readWebhook(service, id)
    const lines = formatCount((await lastLine(service, line)) - line + 1, 'line')
    const resumed = pausedAt === null ? '' : ' The webhook is paused, and delivers again from then on.'
    return { title: 'Send these lines again?', effect: `It sends ${lines} to ${new URL(url).host} again.${resumed}` }
  },
  async run({ service, id, input: { line } }) {
    await lastLine(service, line)
    const act = { event: 'webhook_replayed', details: { webhook_id: id, line } } as const
    return changeProgress(service, id, () => ({ ...DUE, cursor: line - 1 }), act)
  },
})

export const deleteWebhook = remove({
  summary: 'Sends no more lines to a webhook, and removes it with its secret.',
  command: { examples: [EXAMPLE], done: () => 'Deleted.' },
  async question({ service, id }) {
    const { url } = await readWebhook(service, id)
    return {
      effect: `It stops sending lines to ${new URL(url).host}, and removes 1 secret.`,
    }
  },
  async run({ service, id, requireMatch }) {
    const webhook = await readWebhook(service, id)
    requireMatch(membersOf(webhookMembers, webhook))
    if ((await service.store.webhooks.deleteWebhook(id)) === 'unknown') existing(null, id)
    const details = detailsOf({ ...webhook, events: [] })
    return { output: undefined, act: { event: 'webhook_deleted', details } }
  },
})

async function readWebhook({ store }: Service, id: string): Promise<StoredWebhook> {
  const found = (await store.webhooks.listWebhooks()).find((webhook) => webhook.id === id)
  return existing(found, id)
}

function changedWebhook(service: Service, present: StoredWebhook, input: Members): StoredWebhook {
  const webhook: StoredWebhook = webhookOf({ ...present, ...byKey(webhookMembers, input) })
  const faults = webhookFaults(service, webhook)
  if (faults.length > 0) throw invalid(namedFaults(webhookMembers, faults), 'This change cannot be made.')
  return webhook
}

/** An attempt is made at once, also if the webhook was paused. */
const DUE = { failingSince: null, nextAt: 0, pausedAt: null }

/** `change` returns null if there is nothing to change: then nothing is written and no act is recorded. */
async function changeProgress(
  service: Service,
  id: string,
  change: (webhook: StoredWebhook) => Partial<WebhookProgress> | null,
  act: Act,
): Promise<Result<undefined>> {
  let isKnown = false
  const changed = await service.store.webhooks.changeWebhook(id, (webhook) => {
    isKnown = true
    const progress = change(webhook)
    return progress && { ...webhook, ...progress }
  })
  if (!isKnown) existing(null, id)
  return { output: undefined, ...(changed && { act }) }
}

/** Throws if the trail does not have the line yet. */
async function lastLine({ store }: Service, line: number): Promise<number> {
  const { seq } = await store.audit.readHead()
  if (line > seq) throw invalid([{ member: 'line', words: `The last line is ${seq}.` }])
  return seq
}

function isFailing({ failing_since: failing, paused_at: paused }: Members): boolean {
  return failing !== null || paused !== null
}

/** "12 lines, from line 1,204 to line 1,310". */
function waitingWords({ waiting_lines: waiting, first_waiting_line: first, last_line: last }: Members): string {
  if (first === null) return 'nothing'
  return `${formatCount(waiting as number, 'line')}, from line ${number(first as number)} to line ${number(last as number)}`
}

function stateOf({ paused_at: paused, failing_since: failing }: Members): Shown {
  if (paused !== null) return { state: 'paused', tone: 'warn', since: paused as number }
  return failing === null ? { state: 'delivers', tone: 'good' } : { state: 'fails', tone: 'warn', since: failing as number }
}

export const webhooks: Subject = {
  ...webhookKind,
  operations: [
    listWebhooks,
    createWebhook,
    getWebhook,
    updateWebhook,
    testWebhook,
    pauseWebhook,
    resumeWebhook,
    replayWebhook,
    deleteWebhook,
  ],
}
