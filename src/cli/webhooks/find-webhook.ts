/** Finds the webhook that an operator named, or reports in one line that it does not exist. */
import type { Store } from '../../domain/model/store.ts'
import type { StoredWebhook } from '../../domain/model/webhook-store.ts'
import { CommandError } from '../terminal/command.ts'

export const WEBHOOK_OPERAND = { name: 'WEBHOOK_ID', words: 'The id of the webhook, from grantor webhooks list.' } as const

export async function findWebhook({ webhooks }: Pick<Store, 'webhooks'>, id: string): Promise<StoredWebhook> {
  const found = (await webhooks.listWebhooks()).find((webhook) => webhook.id === id)
  if (!found) throw new CommandError(`there is no webhook "${id}"; see: grantor webhooks list`)
  return found
}

/** Sends the lines after `cursor` from now on, also if the webhook was paused. A server may move the cursor meanwhile, so this repeats. */
export async function moveWebhook(store: Pick<Store, 'webhooks'>, id: string, cursor: number): Promise<void> {
  const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
  for (;;) {
    const webhook = await findWebhook(store, id)
    if ((await store.webhooks.moveWebhook(id, webhook.cursor, progress)) === 'moved') return
  }
}
