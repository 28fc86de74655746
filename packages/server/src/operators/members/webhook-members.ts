/** The members of a webhook. */
import type { Webhook } from '../../domain/model/webhook-store.ts'
import { type RecordMembers, text, texts } from './member.ts'

export const webhookMembers = {
  id: text('webhook_id', 'Webhook id', { isFixed: true, given: 'separately', column: 'WEBHOOK_ID', print: 'webhook_id' }),
  url: text('url', 'URL', {
    required: true,
    isTitle: true,
    hint: 'The https address of the receiver.',
    option: { value: 'URL', isOperand: true, words: 'The https address of the receiver.' },
  }),
  events: texts('events', 'Events', {
    preset: [],
    hint: 'One on each line, such as grant_ended. Every event unless given.',
    shown: (value) => ({ words: value as string[], none: 'every event' }),
    option: {
      value: 'EVENT',
      words: 'Only this event, such as grant_ended; every event unless given.',
      off: { name: 'every-event', words: 'Sends every event.' },
    },
  }),
} as const satisfies RecordMembers<Exclude<keyof Webhook, 'secret' | 'createdAt'>>
