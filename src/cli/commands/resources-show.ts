import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { RESOURCE_OPERAND, requireFound } from '../resources/find-resource.ts'
import { resourceFacts, resourceRecord } from '../resources/resource-print.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'

export const resourcesShow = defineCommand({
  name: 'resources show',
  words: 'Shows all properties of one resource.',
  operands: [RESOURCE_OPERAND],
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor resources show https://mcp.example.com/mcp'],
  program: 'clients',
  async run({ options, operands: [uri = ''] }, environment) {
    const found = await withStore(settingsFor('clients', environment, options.data), environment, (store) =>
      store.resources.readResource(uri),
    )
    const resource = requireFound(found, uri)
    if (options.json) environment.print(JSON.stringify(resourceRecord(resource)))
    else for (const line of resourceFacts(resource)) environment.print(line)
    return EXIT.done
  },
})
