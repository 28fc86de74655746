import { clientFaults } from '../../grants/client-faults.ts'
import type { Client } from '../../grants/model.ts'
import { signingFaults } from '../../grants/profile-signing.ts'
import { changeClient, hasSecret } from '../../grants/register-client.ts'
import { clientFlags, clientFlagsOff, clientOptions, givenFlags, givenOfClient } from '../client-options.ts'
import { clientFacts, clientRecord } from '../client-print.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { CLIENT_OPERAND, changeClient as changeStored } from '../find-client.ts'
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
    'no-keys': { words: 'Forgets the public keys and where they are read.' },
    'no-backchannel-logout-uri': { words: 'Tells the client of no endings any more.' },
    'no-response-modes': { words: 'Allows every response mode again.' },
    ...clientFlags,
    ...clientFlagsOff,
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor clients update 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --redirect-uri https://app.example.com/oauth/callback'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, world) {
    const said = saidOf(options)
    if (Object.keys(said).length === 0)
      throw new UsageFailure(['nothing to change was named', 'See: grantor clients update --help'])
    const changed = await withStore(settingsFor('clients', world, options.data), world, async (store, now) => {
      const keys = await store.keys.listKeys()
      return changeStored(store, clientId, (present) => {
        const client = changeClient(present, said)
        const faults = [...clientFaults(client), ...signingFaults(client, keys, now())]
        if (faults.length > 0) throw new UsageFailure(['this change cannot be made', ...faults.map((fault) => `- ${fault}`)])
        return client
      })
    })
    if (options.json) world.print(JSON.stringify(clientRecord(changed)))
    else for (const line of ['Changed; the client is now:', ...clientFacts(changed)]) world.print(line)
    if (hasSecret(changed.authMethod) && changed.secrets.length === 0)
      world.complain(`It has no secret yet. Make one: grantor clients rotate-secret ${changed.id}`)
    return EXIT.done
  },
})

type Given = Parameters<typeof givenOfClient>[0] & {
  name: string | undefined
  'no-keys': boolean
  'no-backchannel-logout-uri': boolean
  'no-response-modes': boolean
}

/** What was said anew. Keys named in one way replace those named in the other. */
function saidOf(options: Given): Partial<Client> {
  const given = Object.entries({ name: options.name?.trim(), ...givenOfClient(options) }).filter(
    ([, value]) => value !== undefined,
  )
  const said = { ...(Object.fromEntries(given) as Partial<Client>), ...givenFlags(options) }
  if (options['no-keys'] || said.jwks || said.jwksUri) Object.assign(said, { jwks: null, jwksUri: null }, keysOf(said))
  if (options['no-backchannel-logout-uri']) said.backchannelLogoutUri = null
  if (options['no-response-modes']) said.responseModes = null
  return said
}

function keysOf({ jwks, jwksUri }: Partial<Client>): Partial<Client> {
  return { ...(jwks ? { jwks } : {}), ...(jwksUri ? { jwksUri } : {}) }
}
