/** The endpoints that get the lines of the audit trail. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { nearest } from '../config/nearest.ts'
import { LINE_EVENTS } from '../domain/audit/recorded-events.ts'
import { newWebhookSecret, webhookSecretText } from '../domain/audit/webhook-message.ts'
import { calledUriFault } from '../domain/clients/client-called-uri.ts'
import { type StoredWebhook, WEBHOOKS_AT_MOST, type Webhook } from '../domain/model/webhook-store.ts'
import { givenAtCreation, type Members, membersOf, type Shown } from './members/member.ts'
import { webhookMembers } from './members/webhook-members.ts'
import { defineOperation, displaysOf, type Listed, type Subject } from './operation.ts'
import { conflict, invalid, notFound } from './refusal.ts'
import { listOf, named, recordSchema, refTo, time, timeOrNull, uuid } from './schemas.ts'
import type { Act, Service } from './service.ts'
import { counted, utc } from './words.ts'

const subject = 'webhooks'
const EXAMPLE = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'

export const webhookSchema = named(
  'Webhook',
  recordSchema(webhookMembers, {
    webhook_id: uuid,
    created_at: time,
    delivered_through: Type.Integer({ description: 'The last line that was delivered or is not wanted.' }),
    last_line: Type.Integer({ description: 'The last line of the trail.' }),
    failing_since: timeOrNull,
    paused_at: timeOrNull,
  }),
)

type WebhookRecord = Members & { webhook_id: string; url: string; events: string[] }
type Created = { webhook: WebhookRecord; secret: string }

function webhookRecord(webhook: StoredWebhook, lastLine: number): WebhookRecord {
  return {
    ...membersOf(webhookMembers, webhook),
    created_at: webhook.createdAt,
    delivered_through: webhook.cursor,
    last_line: lastLine,
    failing_since: webhook.failingSince,
    paused_at: webhook.pausedAt,
  } as unknown as WebhookRecord
}

/** One line for each fault. `grantor start` also sends to plain http on this machine. */
export function webhookFaults(
  { isDevelopment }: Pick<Service, 'isDevelopment'>,
  { url, events }: Pick<Webhook, 'url' | 'events'>,
): string[] {
  const fault = calledUriFault(url)
  const isPlain = fault === null && new URL(url).protocol === 'http:' && !isDevelopment
  return [
    ...(fault === null ? [] : [`URL ${fault}`]),
    ...(isPlain ? ['URL is plain http; grantor serve sends to https addresses only.'] : []),
    // A webhook for an event that no line has would never send anything.
    ...events.filter((event) => !LINE_EVENTS.has(event)).map(eventFault),
  ]
}

function eventFault(event: string): string {
  const meant = nearest(event, [...LINE_EVENTS])
  return `"${event}" is not an event of the trail${meant ? `; did you mean ${meant}?` : '.'}`
}

type NewWebhook = { webhook: StoredWebhook; secret: string }

/** A webhook from the next line of the trail on, with a new secret. */
export async function newWebhook(service: Service, given: Pick<Webhook, 'id' | 'url' | 'events'>): Promise<NewWebhook> {
  const secret = newWebhookSecret()
  const wrapped = service.keys().keeping.wrap.wrap(secret, given.id, 'webhook')
  const { seq: cursor } = await service.store.audit.readHead()
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  const webhook = { ...given, secret: Buffer.from(wrapped).toString('base64url'), createdAt: service.now(), ...progress }
  return { webhook, secret: webhookSecretText(secret) }
}

/** The query of the address may be a secret of the receiver, so only the host is recorded. */
export function detailsOf({ id, url, events }: Pick<Webhook, 'id' | 'url' | 'events'>): NonNullable<Act['details']> {
  return { webhook_id: id, host: new URL(url).host, ...(events.length > 0 && { events: events.join(' ') }) }
}

const listWebhooks = defineOperation<Members, Listed>({
  id: 'listWebhooks',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists the webhooks, how far each one is, and whether it fails.',
  answers: { done: 'All webhooks.' },
  output: listOf(webhookSchema),
  command: { examples: [''] },
  async run({ service: { store } }) {
    const webhooks = await store.webhooks.listWebhooks()
    const { seq } = await store.audit.readHead()
    return { output: { items: webhooks.map((webhook) => webhookRecord(webhook, seq)) } }
  },
})

const createWebhook = defineOperation<{ url: string; events?: string[] }, Created>({
  id: 'createWebhook',
  subject,
  kind: 'create',
  verb: 'create',
  scope: 'admin.webhooks',
  summary: 'Sends each new line of the audit trail to an address, signed (Standard Webhooks).',
  description: 'The secret is in this answer only. The lines are sent in their order, from the next line on.',
  input: givenAtCreation(webhookMembers),
  mayConflict: true,
  answers: { created: 'The webhook and its secret.' },
  output: Type.Object({
    webhook: refTo(webhookSchema),
    secret: Type.String({ description: 'Sent once, and stored wrapped only.' }),
  }),
  command: {
    about: [
      'The lines are sent in their order, from the next line on. A line is sent again until the receiver responds with a status from 200 to 299. After a day of failures the endpoint is paused: grantor webhooks resume. Redirects and private addresses are refused.',
      'The secret is printed once. With --json one object is printed: {"webhook_id","url","events","secret"}.',
    ],
    examples: ['https://siem.example.com/grantor --event grant_ended --event session_started'],
    settings: 'keys',
    json: ({ webhook: { webhook_id, url, events }, secret }: Created) => ({ webhook_id, url, events, secret }),
  },
  page: {
    link: 'Add a webhook',
    intro: 'A receiver gets each new line of the audit trail, signed.',
    button: 'Add the webhook',
    done: 'The webhook is added',
  },
  async question({ service, input: { url, events = [] } }) {
    const faults = webhookFaults(service, { url, events })
    if (faults.length > 0) throw invalid(faults)
    return {
      title: 'Add this webhook?',
      effect: `It sends ${events.length === 0 ? 'every new line' : 'new lines'} of the audit trail to ${new URL(url).host}.`,
      notes: ['The next page shows the secret, once.'],
    }
  },
  async run({ service, input }) {
    const events = [...new Set(input.events)]
    const faults = webhookFaults(service, { url: input.url, events })
    if (faults.length > 0) throw invalid(faults)
    const { webhook, secret } = await newWebhook(service, { id: randomUUID(), url: input.url, events })
    if ((await service.store.webhooks.insertWebhook(webhook)) === 'full')
      throw conflict(`${WEBHOOKS_AT_MOST} webhooks exist, which is the most.`)
    const record = webhookRecord(webhook, webhook.cursor)
    return { output: { webhook: record, secret }, isNew: true, act: { event: 'webhook_created', details: detailsOf(webhook) } }
  },
})

const getWebhook = defineOperation({
  id: 'getWebhook',
  subject,
  kind: 'get',
  verb: 'show',
  scope: 'admin.read',
  summary: 'Reads a webhook.',
  answers: { done: 'The webhook.' },
  output: refTo(webhookSchema),
  command: { examples: [EXAMPLE] },
  async run({ service, id }) {
    const webhook = await readWebhook(service, id)
    return { output: webhookRecord(webhook, (await service.store.audit.readHead()).seq) }
  },
})

const resumeWebhook = defineOperation({
  id: 'resumeWebhook',
  subject,
  kind: 'act',
  verb: 'resume',
  path: ':id/resume',
  scope: 'admin.webhooks',
  summary: 'Sends lines to a paused or failing webhook again.',
  description: 'They are sent at once, from the first line that the receiver did not accept.',
  answers: { done: 'The webhook was resumed.' },
  output: null,
  command: { examples: [EXAMPLE], done: () => 'Resumed.' },
  page: { link: 'Resume', button: 'Resume the webhook', done: 'The webhook was resumed.', isOffered: isFailing },
  async question({ service, id }) {
    const { url, cursor } = await readWebhook(service, id)
    const { seq } = await service.store.audit.readHead()
    return { title: 'Resume this webhook?', effect: `It sends ${counted(seq - cursor, 'line')} to ${new URL(url).host} now.` }
  },
  async run({ service, id }) {
    const { cursor } = await readWebhook(service, id)
    await move(service, id, cursor)
    return { output: undefined, act: { event: 'webhook_resumed', details: { webhook_id: id } } }
  },
})

const replayWebhook = defineOperation<{ line: number }>({
  id: 'replayWebhook',
  subject,
  kind: 'act',
  verb: 'replay',
  path: ':id/replay',
  scope: 'admin.webhooks',
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
    const { url } = await readWebhook(service, id)
    const lines = counted((await lastLine(service, line)) - line + 1, 'line')
    return { title: 'Send these lines again?', effect: `It sends ${lines} to ${new URL(url).host} again.` }
  },
  async run({ service, id, input: { line } }) {
    await lastLine(service, line)
    await move(service, id, line - 1)
    return { output: undefined, act: { event: 'webhook_replayed', details: { webhook_id: id, line } } }
  },
})

const deleteWebhook = defineOperation({
  id: 'deleteWebhook',
  subject,
  kind: 'delete',
  verb: 'delete',
  scope: 'admin.webhooks',
  summary: 'Sends no more lines to a webhook, and removes it with its secret.',
  answers: { done: 'The webhook was removed.' },
  output: null,
  command: { examples: [EXAMPLE], done: () => 'Deleted.' },
  page: { link: 'Delete', isDangerous: true, button: 'Delete the webhook', done: 'The webhook was removed.' },
  async question({ service, id }) {
    const { url } = await readWebhook(service, id)
    return {
      title: 'Delete this webhook?',
      effect: `It stops sending lines to ${new URL(url).host}, and removes 1 secret.`,
      isDangerous: true,
    }
  },
  async run({ service, id }) {
    const { url } = await readWebhook(service, id)
    await service.store.webhooks.deleteWebhook(id)
    const details = detailsOf({ id, url, events: [] })
    return { output: undefined, act: { event: 'webhook_deleted', details } }
  },
})

async function readWebhook({ store }: Service, id: string): Promise<StoredWebhook> {
  const found = (await store.webhooks.listWebhooks()).find((webhook) => webhook.id === id)
  if (!found) throw notFound(subject, id)
  return found
}

/** Sends the lines after `cursor` from now on, also if the webhook was paused. A server may move the cursor meanwhile, so this repeats. */
async function move(service: Service, id: string, cursor: number): Promise<void> {
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  for (;;) {
    const webhook = await readWebhook(service, id)
    if ((await service.store.webhooks.moveWebhook(id, webhook.cursor, progress)) === 'moved') return
  }
}

/** Throws if the trail does not have the line yet. */
async function lastLine({ store }: Service, line: number): Promise<number> {
  const { seq } = await store.audit.readHead()
  if (line > seq) throw invalid([`The last line is ${seq}.`])
  return seq
}

function isFailing({ failing_since: failing, paused_at: paused }: Members): boolean {
  return failing !== null || paused !== null
}

function stateOf({ paused_at: paused, failing_since: failing }: Members): Shown {
  if (paused !== null) return `paused since ${utc(paused as number)}`
  return failing === null ? 'delivers' : `fails since ${utc(failing as number)}`
}

export const webhooks: Subject = {
  name: subject,
  noun: 'webhook',
  words: 'Receivers of the audit trail',
  operand: { name: 'WEBHOOK_ID', words: 'The id of the webhook, from grantor webhooks list.' },
  settings: 'grants',
  idName: 'webhook_id',
  displays: [
    ...displaysOf(webhookMembers),
    { label: 'State', column: 'STATE', print: 'state', shown: stateOf },
    {
      label: 'Lines to go',
      column: 'LINES TO GO',
      print: 'lines to go',
      shown: ({ last_line: last, delivered_through: through }) => (last as number) - (through as number),
    },
    {
      label: 'Events',
      column: 'EVENTS',
      isOnlyColumn: true,
      shown: ({ events }) => ({ words: events as string[], none: 'every event' }),
    },
    { label: 'URL', column: 'URL', isTitle: true, isOnlyColumn: true, shown: ({ url }) => ({ exact: String(url) }) },
    { label: 'Added', print: 'created', shown: ({ created_at: at }) => ({ time: at as number }) },
  ],
  empty: { page: 'There is no webhook.', terminal: 'There is no webhook.' },
  page: { title: 'Webhooks', lead: 'The receivers of the audit trail. Each gets every new line, or those of some events.' },
  operations: [listWebhooks, createWebhook, getWebhook, resumeWebhook, replayWebhook, deleteWebhook],
}
