import { exportConfiguration, KIND_NAMES, kinds } from '../../operations/configuration/plan.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { writeConfiguration } from '../configuration/write-configuration.ts'
import { CommandError, defineCommand, EXIT } from '../terminal/command.ts'

export const exportCommand = defineCommand({
  name: 'export',
  words: 'Prints the clients, resources, operators and webhooks of the store as one file, which grantor apply reads.',
  about: [
    'The file contains no secrets and no keys of the service. A member that has the value of a missing member is left out. Applying the file to the same store changes nothing. Applying it to an empty store creates the same clients, with the same ids and with new secrets.',
  ],
  options: { data: dataOption, json: { words: 'Prints JSON instead of YAML.' } },
  examples: ['grantor export > grantor.yaml', 'grantor export --json | jq .clients'],
  program: 'clients',
  async run({ options }, environment) {
    const sections = await withStore(settingsFor('clients', environment, options.data), environment, exportConfiguration)
    const long = KIND_NAMES.find((name) => sections[name].length > kinds[name].atMost)
    if (long) throw new CommandError(`the store has more ${long} than grantor apply reads in one file (${kinds[long].atMost})`)
    environment.print(writeConfiguration(sections, options.json ? 'json' : 'yaml').trimEnd())
    return EXIT.done
  },
})
