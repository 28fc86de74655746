import { exportConfiguration, planSections, SECTION_NAMES } from '../../operators/configuration/plan.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { createConfigurationText, type Format } from '../../operators/terminal/configuration/configuration-text.ts'
import { createExportFiles } from '../../operators/terminal/configuration/export-files.ts'
import { createStoredSecretsFile } from '../../operators/terminal/configuration/stored-secrets-file.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'

export const exportCommand = defineCommand({
  name: 'export',
  words: 'Prints the clients, resources, operators and webhooks of the store as one file, which grantor apply reads.',
  about: [
    'The file contains no secrets and no keys of the service. A member that has the value of a missing member is left out. Applying the file to the same store changes nothing. Applying it to an empty store creates the same clients, with the same ids and with new secrets.',
    'With --stored-secrets, a second file has the hashes of the secrets of the clients, and the secrets of the webhooks, wrapped with GRANTOR_SECRET. With both files, the clients and the webhooks of an empty store keep their secrets.',
  ],
  options: {
    'stored-secrets': {
      value: 'FILE',
      words:
        'Also writes the secrets as the store has them to this file: one JSON object per line, readable by its owner only. The file must not exist yet.',
    },
    folder: {
      value: 'FOLDER',
      words:
        'Writes files of at most 10,000 entries each to this new folder instead of printing one. Apply them in the order of their names.',
    },
    data: dataOption,
    json: { words: 'Prints JSON instead of YAML.' },
  },
  examples: [
    'grantor export > grantor.yaml',
    'grantor export --json | jq .clients',
    'grantor export --stored-secrets stored-secrets.ndjson > grantor.yaml',
  ],
  program: 'clients',
  async run({ options }, environment) {
    const format: Format = options.json ? 'json' : 'yaml'
    const secretsFile = options['stored-secrets'] === undefined ? null : createStoredSecretsFile(options['stored-secrets'])
    const counts = new Map<string, number>()
    try {
      await withStore(settingsFor('clients', environment, options.data), environment, async (store) => {
        const files = options.folder === undefined ? null : createExportFiles(options.folder, format)
        const text = files ?? createConfigurationText(format, environment.print)
        for await (const { name, entries, secrets } of exportConfiguration(store)) {
          counts.set(name, (counts.get(name) ?? 0) + entries.length)
          text.add(name, entries)
          secretsFile?.write(secrets)
        }
        text.end()
        for (const name of files?.names ?? []) environment.print(name)
      })
    } catch (error) {
      secretsFile?.remove()
      throw error
    }
    secretsFile?.close()
    const long = SECTION_NAMES.find((name) => (counts.get(name) ?? 0) > planSections[name].atMost)
    if (long && options.folder === undefined)
      environment.printError(
        `grantor: apply reads at most ${planSections[long].atMost} ${long} in one file: see grantor export --folder`,
      )
    return EXIT.done
  },
})
