import { stringify } from 'yaml'
import { exportConfiguration, SECTION_NAMES, sections } from '../../operations/configuration/plan.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT } from '../terminal/command.ts'

const HEAD = '# Written by grantor export. grantor apply reads it. It contains no secrets.\n'

export const exportCommand = defineCommand({
  name: 'export',
  words: 'Prints the clients, resources, operators and webhooks of the store as one file, which grantor apply reads.',
  about:
    'The file contains no secrets and no keys of the service. A member that has the value of a missing member is left out. Applying the file to the same store changes nothing. Applying it to an empty store creates the same clients, with the same ids and with new secrets.',
  options: { data: dataOption, json: { words: 'Prints JSON instead of YAML.' } },
  examples: ['grantor export > grantor.yaml', 'grantor export --json | jq .clients'],
  program: 'clients',
  async run({ options }, environment) {
    const exported = await withStore(settingsFor('clients', environment, options.data), environment, exportConfiguration)
    const long = SECTION_NAMES.find((name) => exported[name].length > sections[name].atMost)
    if (long) throw new CommandError(`the store has more ${long} than grantor apply reads in one file (${sections[long].atMost})`)
    const yaml = (): string => stringify(exported, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false })
    environment.print(options.json ? JSON.stringify(exported, null, 2) : HEAD + yaml().trimEnd())
    return EXIT.done
  },
})
