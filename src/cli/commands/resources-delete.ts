import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { RESOURCE_OPERAND, requireFound } from '../resources/find-resource.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const resourcesDelete = defineCommand({
  name: 'resources delete',
  words: 'Removes a resource from the registry.',
  about: [
    'Clients that are not registered get no new tokens for the resource. Registered clients that list the resource keep it, as they do a resource that was never registered: to refuse all clients, use grantor resources update --closed. Access tokens that were issued stay valid until they expire. --yes is required.',
  ],
  operands: [RESOURCE_OPERAND],
  options: { yes: { words: 'Confirms the removal. Required.' }, data: dataOption, json: jsonOption },
  examples: ['grantor resources delete https://mcp.example.com/mcp --yes'],
  program: 'clients',
  async run({ options, operands: [uri = ''] }, environment) {
    if (!options.yes) throw new UsageError('this removes the resource; add --yes, or use: grantor resources update --closed')
    await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      if ((await store.resources.deleteResource(uri)) === 'unknown') requireFound(null, uri)
      await recordAct(store, environment, { event: 'resource_deleted', at: now(), resource: uri })
    })
    if (options.json) environment.print(JSON.stringify({ resource: uri }))
    else environment.print(`Deleted ${uri}.`)
    return EXIT.done
  },
})
