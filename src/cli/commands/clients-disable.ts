import { CLIENT_OPERAND, changeClient, findClient } from '../clients/find-client.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'

export const clientsDisable = defineCommand({
  name: 'clients disable',
  words: 'Stops a client until it is enabled again: it cannot sign in users, redeem, refresh or introspect.',
  about: ['The running service applies the change within a second. Grants are kept, so enabling the client restores everything.'],
  operands: [CLIENT_OPERAND],
  options: { data: dataOption },
  examples: ['grantor clients disable 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, environment) {
    const client = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const found = await findClient(store, clientId)
      await changeClient(store, clientId, (client) => ({ ...client, disabledAt: client.disabledAt ?? now() }))
      if (found.disabledAt === null) await recordAct(store, environment, { event: 'client_disabled', at: now(), clientId })
      return found
    })
    environment.print(client.disabledAt === null ? `Disabled "${client.name}".` : `"${client.name}" was disabled before.`)
    return EXIT.done
  },
})
