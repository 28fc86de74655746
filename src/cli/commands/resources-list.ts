import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { resourceRecord, resourceTable } from '../resources/resource-print.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'

export const resourcesList = defineCommand({
  name: 'resources list',
  words: 'Lists the registered resources.',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor resources list'],
  program: 'clients',
  async run({ options }, environment) {
    const resources = await withStore(settingsFor('clients', environment, options.data), environment, (store) =>
      store.resources.listResources(),
    )
    if (options.json) environment.print(JSON.stringify(resources.map(resourceRecord)))
    else if (resources.length === 0) environment.print('No resource is registered yet: grantor resources create --help')
    else for (const line of resourceTable(resources)) environment.print(line)
    return EXIT.done
  },
})
