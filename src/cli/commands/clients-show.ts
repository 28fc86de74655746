import { clientFacts, clientRecord } from '../clients/client-print.ts'
import { CLIENT_OPERAND, findClient } from '../clients/find-client.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'

export const clientsShow = defineCommand({
  name: 'clients show',
  words: 'Shows all properties of one client except its secret, which cannot be shown again.',
  operands: [CLIENT_OPERAND],
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor clients show 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, environment) {
    const client = await withStore(settingsFor('clients', environment, options.data), environment, (store) =>
      findClient(store, clientId),
    )
    if (options.json) environment.print(JSON.stringify(clientRecord(client)))
    else for (const line of clientFacts(client)) environment.print(line)
    return EXIT.done
  },
})
