import { updateClient } from '../../domain/clients/manage-clients.ts'
import { hasSecret } from '../../domain/clients/register-client.ts'
import type { Client } from '../../domain/model/records.ts'
import { clientFlags, clientFlagsOff, clientOptions, givenFlags, givenOfClient } from '../clients/client-options.ts'
import { clientFacts, clientRecord } from '../clients/client-print.ts'
import { CLIENT_OPERAND, unknownClient } from '../clients/find-client.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const clientsUpdate = defineCommand({
  name: 'clients update',
  words: 'Changes the registration of a client.',
  about: [
    'Properties that are not named stay unchanged. A repeatable option replaces the whole list: to add a redirect URI, name the present ones too. The running service applies the change within a second. Existing grants are not affected.',
  ],
  operands: [CLIENT_OPERAND],
  options: {
    name: { value: 'NAME', words: 'The name that users see when they sign in.' },
    ...clientOptions,
    'no-keys': { words: 'Removes the public keys and their address.' },
    'no-exchange-resources': { words: 'Removes the resources for which the client may exchange tokens.' },
    'no-backchannel-logout-uri': { words: 'Stops notifying the client of ended sessions.' },
    'no-response-modes': { words: 'Allows every response mode again.' },
    ...clientFlags,
    ...clientFlagsOff,
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor clients update 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --redirect-uri https://app.example.com/oauth/callback'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, environment) {
    const changes = changesOf(options)
    if (Object.keys(changes).length === 0) throw new UsageError(['no change was named', 'See: grantor clients update --help'])
    const outcome = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const updated = await updateClient(store, clientId, () => changes, now())
      const details = { changed: Object.keys(changes).join(' ') }
      if (updated.kind === 'changed')
        await recordAct(store, environment, { event: 'client_changed', at: now(), clientId, details })
      return updated
    })
    if (outcome.kind === 'unknown') throw unknownClient(clientId)
    if (outcome.kind === 'faults')
      throw new UsageError(['this change cannot be made', ...outcome.faults.map((fault) => `- ${fault}`)])
    const { client: changed } = outcome
    if (options.json) environment.print(JSON.stringify(clientRecord(changed)))
    else for (const line of ['Changed; the client is now:', ...clientFacts(changed)]) environment.print(line)
    if (hasSecret(changed.authMethod) && changed.secrets.length === 0)
      environment.printError(`It has no secret yet. Make one: grantor clients rotate-secret ${changed.id}`)
    return EXIT.done
  },
})

type UpdateOptionValues = Parameters<typeof givenOfClient>[0] & {
  name: string | undefined
  'no-keys': boolean
  'no-exchange-resources': boolean
  'no-backchannel-logout-uri': boolean
  'no-response-modes': boolean
}

/** The named changes. Keys that are given in one way replace keys that were given in the other. */
function changesOf(options: UpdateOptionValues): Partial<Client> {
  const given = Object.entries({ name: options.name?.trim(), ...givenOfClient(options) }).filter(
    ([, value]) => value !== undefined,
  )
  const changes = { ...(Object.fromEntries(given) as Partial<Client>), ...givenFlags(options) }
  if (options['no-keys'] || changes.jwks || changes.jwksUri)
    Object.assign(changes, { jwks: null, jwksUri: null }, keysOf(changes))
  if (options['no-exchange-resources']) changes.exchangeResources = []
  if (options['no-backchannel-logout-uri']) changes.backchannelLogoutUri = null
  if (options['no-response-modes']) changes.responseModes = null
  return changes
}

function keysOf({ jwks, jwksUri }: Partial<Client>): Partial<Client> {
  return { ...(jwks ? { jwks } : {}), ...(jwksUri ? { jwksUri } : {}) }
}
