/** The members of a webhook. */
import type { Webhook } from '../../domain/model/webhook-store.ts'
import type { RecordMembers } from './member.ts'

export const webhookMembers = {
  id: {
    name: 'webhook_id',
    shape: { kind: 'text' },
    isFixed: true,
    isSeparate: true,
    label: 'Webhook id',
    column: 'WEBHOOK_ID',
    print: 'webhook_id',
  },
  url: {
    name: 'url',
    shape: { kind: 'text' },
    required: true,
    isFixed: true,
    isTitle: true,
    label: 'URL',
    hint: 'The https address of the receiver.',
    print: 'url',
    option: { value: 'URL', isOperand: true, words: 'The https address of the receiver.' },
  },
  events: {
    name: 'events',
    shape: { kind: 'texts' },
    preset: [],
    isFixed: true,
    label: 'Events',
    hint: 'One on each line, such as grant_ended. Every event unless given.',
    print: 'events',
    shown: (value) => ({ words: value as string[], none: 'every event' }),
    option: { value: 'EVENT', words: 'Only this event, such as grant_ended; every event unless given.' },
  },
} as const satisfies RecordMembers<Exclude<keyof Webhook, 'secret' | 'createdAt'>>
