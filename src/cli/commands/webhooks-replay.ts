import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { moveWebhook, WEBHOOK_OPERAND } from '../webhooks/find-webhook.ts'

export const webhooksReplay = defineCommand({
  name: 'webhooks replay',
  words: 'Sends lines to a webhook again, from one line on.',
  about: ['A line has the same webhook-id each time that it is sent, so a receiver recognises lines that it has.'],
  operands: [WEBHOOK_OPERAND],
  options: {
    line: { value: 'LINE', words: 'The number of the first line, from grantor audit list. Required.' },
    data: dataOption,
  },
  examples: ['grantor webhooks replay 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --line 1204'],
  program: 'grants',
  async run({ options, operands: [id = ''] }, environment) {
    const line = /^\d{1,15}$/.test(options.line ?? '') ? Number(options.line) : 0
    if (line < 1) throw new UsageError('--line must be the number of a line, from grantor audit list')
    await withStore(settingsFor('grants', environment, options.data), environment, async (store, now) => {
      const { seq } = await store.audit.readHead()
      if (line > seq) throw new UsageError(`the last line is ${seq}`)
      await moveWebhook(store, id, line - 1)
      await recordAct(store, environment, { event: 'webhook_replayed', at: now(), details: { webhook_id: id, line } })
    })
    environment.print(`Sends again from line ${line} on.`)
    return EXIT.done
  },
})
