import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'
import { findWebhook, WEBHOOK_OPERAND } from '../webhooks/find-webhook.ts'

export const webhooksDelete = defineCommand({
  name: 'webhooks delete',
  words: 'Sends no more lines to a webhook, and removes it with its secret.',
  operands: [WEBHOOK_OPERAND],
  options: { data: dataOption },
  examples: ['grantor webhooks delete 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'grants',
  async run({ options, operands: [id = ''] }, environment) {
    await withStore(settingsFor('grants', environment, options.data), environment, async (store, now) => {
      const { url } = await findWebhook(store, id)
      await store.webhooks.deleteWebhook(id)
      const details = { webhook_id: id, host: new URL(url).host }
      await recordAct(store, environment, { event: 'webhook_deleted', at: now(), details })
    })
    environment.print('Deleted.')
    return EXIT.done
  },
})
