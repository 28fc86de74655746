import { clientRecord, clientTable } from '../clients/client-print.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'

export const clientsList = defineCommand({
  name: 'clients list',
  words: 'Lists the registered clients.',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor clients list'],
  program: 'clients',
  async run({ options }, environment) {
    const clients = await withStore(settingsFor('clients', environment, options.data), environment, (store) =>
      store.clients.listClients(),
    )
    if (options.json) environment.print(JSON.stringify(clients.map(clientRecord)))
    else if (clients.length === 0) environment.print('No client is registered yet: grantor clients create --help')
    else for (const line of clientTable(clients)) environment.print(line)
    return EXIT.done
  },
})
