import type { Client } from '../../grants/model.ts'
import { clientFaults } from '../../grants/register-client.ts'
import { clientOptions, givenOfClient } from '../client-options.ts'
import { clientFacts, clientRecord } from '../client-print.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { CLIENT_OPERAND, changeClient } from '../find-client.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'

export const clientsUpdate = defineCommand({
  name: 'clients update',
  words: 'Changes what is registered of a client.',
  about: [
    'What is not named stays as it is. A repeatable option replaces the whole list: to add a redirect URI, name the present ones too. The running service notices within a second. What was granted already stays granted.',
  ],
  operands: [CLIENT_OPERAND],
  options: {
    name: { value: 'NAME', words: 'What people read when they sign in.' },
    ...clientOptions,
    'no-require-pkce': { words: 'Makes PKCE optional again for a confidential client.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor clients update 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --redirect-uri https://app.example.com/oauth/callback'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, world) {
    if (options['require-pkce'] && options['no-require-pkce'])
      throw new UsageFailure('--require-pkce and --no-require-pkce are both given: keep one')
    const said = Object.entries({ name: options.name, ...givenOfClient(options) }).filter(([, value]) => value !== undefined)
    const requirePkce = options['require-pkce']
      ? [['requirePkce', true]]
      : options['no-require-pkce']
        ? [['requirePkce', false]]
        : []
    if (said.length + requirePkce.length === 0)
      throw new UsageFailure(['nothing to change was named', 'See: grantor clients update --help'])
    const changes = Object.fromEntries([...said, ...requirePkce]) as Partial<Client>
    const changed = await withStore(settingsFor('clients', world, options.data), world, async (store) => {
      return changeClient(store, clientId, (present) => checked({ ...present, ...changes }))
    })
    if (options.json) world.print(JSON.stringify(clientRecord(changed)))
    else for (const line of ['Changed; the client is now:', ...clientFacts(changed)]) world.print(line)
    return EXIT.done
  },
})

function checked(client: Client): Client {
  const faults = clientFaults(client)
  if (faults.length > 0) throw new UsageFailure(['this change cannot be made', ...faults.map((fault) => `- ${fault}`)])
  return client
}
