/** The members of a webhook. */

import { recordedEvents } from '../../domain/model/audit-events.ts'
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
    // The shape accepts every text: the fault of an unknown event names the event that was meant.
    choices: Object.fromEntries(recordedEvents.toSorted().map((event) => [event, event])),
    preset: [],
    usual: 'every event',
    shown: (value) => ({ words: value as string[], none: 'every event' }),
    option: {
      value: 'EVENT',
      words: 'Only this event, such as grant_ended; every event unless given.',
      off: { name: 'every-event', words: 'Sends every event.' },
    },
  }),
} as const satisfies RecordMembers<Exclude<keyof Webhook, 'secret' | 'createdAt'>>
