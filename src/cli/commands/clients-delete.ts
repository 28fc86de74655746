import { deleteClient } from '../../grants/end-grants.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { CLIENT_OPERAND, findClient } from '../find-client.ts'
import { counted } from '../print.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'

export const clientsDelete = defineCommand({
  name: 'clients delete',
  words: 'Removes a client for good and ends everything people allowed it.',
  about: ['This cannot be undone, so it wants --yes. To stop a client for a while: grantor clients disable.'],
  operands: [CLIENT_OPERAND],
  options: { yes: { words: 'Yes, for good. Required.' }, data: dataOption, json: jsonOption },
  examples: ['grantor clients delete 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --yes'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, world) {
    if (!options.yes)
      throw new UsageFailure('this removes the client for good and ends its grants; say --yes, or use: grantor clients disable')
    const { client, ended } = await withStore(settingsFor('clients', world, options.data), world, async (store, now) => {
      const found = await findClient(store, clientId)
      return { client: found, ended: await deleteClient(store, found, now()) }
    })
    if (options.json) world.print(JSON.stringify({ client_id: client.id, grants_ended: ended }))
    else world.print(`Deleted "${client.name}" and ended ${counted(ended, 'grant')}.`)
    return EXIT.done
  },
})
