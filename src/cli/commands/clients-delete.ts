import { deleteClient } from '../../domain/consent/end-grants.ts'
import { sumOf } from '../../domain/model/pages.ts'
import { CLIENT_OPERAND, findClient } from '../clients/find-client.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { counted } from '../terminal/print.ts'

export const clientsDelete = defineCommand({
  name: 'clients delete',
  words: 'Removes a client permanently and ends all of its grants.',
  about: ['This cannot be undone, so --yes is required. To stop a client temporarily: grantor clients disable.'],
  operands: [CLIENT_OPERAND],
  options: { yes: { words: 'Confirms the removal. Required.' }, data: dataOption, json: jsonOption },
  examples: ['grantor clients delete 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --yes'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, environment) {
    if (!options.yes)
      throw new UsageError('this removes the client permanently and ends its grants; add --yes, or use: grantor clients disable')
    const { client, ended } = await withStore(
      settingsFor('clients', environment, options.data),
      environment,
      async (store, now) => {
        const found = await findClient(store, clientId)
        const ended = await sumOf(deleteClient(store, clientId, now()))
        await recordAct(store, environment, { event: 'client_deleted', at: now(), clientId, details: { grants: ended } })
        return { client: found, ended }
      },
    )
    if (options.json) environment.print(JSON.stringify({ client_id: client.id, grants_ended: ended }))
    else environment.print(`Deleted "${client.name}" and ended ${counted(ended, 'grant')}.`)
    return EXIT.done
  },
})
