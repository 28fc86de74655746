import { getSetupOfClient } from '../../operators/operations/clients.ts'
import { environmentText } from '../../operators/operations/setup.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { runOperation } from '../compose/operation-command.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'

export const clientsSetup = defineCommand({
  name: 'clients setup',
  words: getSetupOfClient.summary,
  about: 'Needs GRANTOR_AUTH_URL and GRANTOR_LOGIN_URL, or --data. docs/guides/clients.md has the whole code of each library.',
  operands: [{ name: 'CLIENT_ID', words: 'The id of the client, from grantor clients list.' }],
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor clients setup 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'clients',
  async run({ options, operands: [id = ''] }, environment) {
    const setup = await runOperation(getSetupOfClient, { id, data: options.data }, environment)
    if (options.json) {
      environment.print(JSON.stringify(setup))
      return EXIT.done
    }
    const { note, snippets } = setup
    const code = snippets.map((snippet) => `\n# ${snippet.library}\n\n${snippet.code.trimEnd()}`)
    const parts = [environmentText(setup), ...(note === null ? [] : [`\n# ${note}`]), ...code]
    for (const line of parts.join('\n').split('\n')) environment.print(line)
    return EXIT.done
  },
})
