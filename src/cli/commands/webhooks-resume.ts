import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'
import { findWebhook, moveWebhook, WEBHOOK_OPERAND } from '../webhooks/find-webhook.ts'

export const webhooksResume = defineCommand({
  name: 'webhooks resume',
  words: 'Sends lines to a paused or failing webhook again, at once, from the first line that it did not accept.',
  operands: [WEBHOOK_OPERAND],
  options: { data: dataOption },
  examples: ['grantor webhooks resume 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'grants',
  async run({ options, operands: [id = ''] }, environment) {
    await withStore(settingsFor('grants', environment, options.data), environment, async (store, now) => {
      const { cursor } = await findWebhook(store, id)
      await moveWebhook(store, id, cursor)
      await recordAct(store, environment, { event: 'webhook_resumed', at: now(), details: { webhook_id: id } })
    })
    environment.print('Resumed.')
    return EXIT.done
  },
})
