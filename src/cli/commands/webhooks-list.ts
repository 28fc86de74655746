import type { StoredWebhook } from '../../domain/model/webhook-store.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'
import { columns, time } from '../terminal/print.ts'

export const webhooksList = defineCommand({
  name: 'webhooks list',
  words: 'Lists the webhooks, how far each one is, and whether it fails.',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor webhooks list'],
  program: 'grants',
  async run({ options }, environment) {
    const { webhooks, last } = await withStore(settingsFor('grants', environment, options.data), environment, async (store) => ({
      webhooks: await store.webhooks.listWebhooks(),
      last: (await store.audit.readHead()).seq,
    }))
    if (options.json) environment.print(JSON.stringify(webhooks.map((webhook) => recordOf(webhook, last))))
    else if (webhooks.length === 0) environment.print('There is no webhook.')
    else {
      const rows = webhooks.map((webhook) => [
        webhook.id,
        stateOf(webhook),
        String(last - webhook.cursor),
        webhook.events.join(' ') || 'every event',
        webhook.url,
      ])
      for (const line of columns(['WEBHOOK_ID', 'STATE', 'LINES TO GO', 'EVENTS', 'URL'], rows)) environment.print(line)
    }
    return EXIT.done
  },
})

function stateOf({ pausedAt, failingSince }: StoredWebhook): string {
  if (pausedAt !== null) return `paused since ${time(pausedAt)}`
  return failingSince === null ? 'delivers' : `fails since ${time(failingSince)}`
}

/** Times are epoch seconds. */
function recordOf({ id, url, events, createdAt, cursor, failingSince, pausedAt }: StoredWebhook, last: number) {
  const progress = { delivered_through: cursor, last_line: last, failing_since: failingSince, paused_at: pausedAt }
  return { webhook_id: id, url, events, created_at: createdAt, ...progress }
}
