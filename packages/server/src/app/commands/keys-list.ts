import { keys, listKeys, readNumberedKeys } from '../../operators/operations/keys.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { columnLines } from '../../operators/terminal/operations/print.ts'
import { withService } from '../compose/command-service.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'

export const keysList = defineCommand({
  name: 'keys list',
  words: listKeys.summary,
  about:
    'Kinds: sign (access tokens), sign_es256, sign_rs256 and sign_eddsa (ID tokens and other statements to clients that are registered for another algorithm), seal (codes and login challenges), mac (refresh tokens and new sessions). States: announced (published, not used yet), makes (in use), opens (only checks what it made), retired.',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor keys list'],
  program: 'keys',
  async run({ options }, environment) {
    const given = { program: 'keys', data: options.data, keys: 'none' } as const
    const records = await withService(given, environment, readNumberedKeys)
    for (const line of options.json ? [JSON.stringify(records)] : columnLines(keys, records)) environment.print(line)
    return EXIT.done
  },
})
