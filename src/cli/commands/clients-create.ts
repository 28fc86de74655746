import { signingFaults } from '../../grants/profile-signing.ts'
import { registerClient } from '../../grants/register-client.ts'
import { clientFlags, clientOptions, givenFlags, givenOfClient } from '../client-options.ts'
import { clientFacts, registeredJson } from '../client-print.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'

export const clientsCreate = defineCommand({
  name: 'clients create',
  words: 'Registers a client (a builder app, or a resource API).',
  about: [
    'The client secret is printed once and kept only as a hash. With --json exactly one object is printed: {"client_id","client_secret","name","redirect_uris","scopes","type","consent"}; client_secret is null for clients without one: public and native ones, and those that authenticate by private_key_jwt.',
  ],
  options: {
    name: { value: 'NAME', words: 'What people read when they sign in. Required.' },
    ...clientOptions,
    ...clientFlags,
    public: { words: 'A client that cannot keep a secret, such as an app in a browser. Needs PKCE.' },
    native: { words: "An app on a person's own device: public, with a signed consent always (RFC 8252)." },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor clients create --name "My app" --redirect-uri https://app.example.com/callback',
    'grantor clients create --name "My API" --resource-server https://api.example.com/ --json',
    'grantor clients create --name "My back end" --grant-type client_credentials --token-endpoint-auth-method private_key_jwt --jwks-uri https://app.example.com/jwks.json',
  ],
  program: 'clients',
  async run({ options }, world) {
    if (options.name === undefined)
      throw new UsageFailure(['--name is missing: people read it when they sign in', 'See: grantor clients create --help'])
    if (options.public && options.native)
      throw new UsageFailure('--public and --native are both given: keep one (a native client is public)')
    const { redirectUris = [], ...given } = givenOfClient(options)
    const registered = registerClient(
      {
        ...given,
        ...givenFlags(options),
        name: options.name,
        type: options.native ? 'native' : options.public ? 'public' : 'confidential',
        redirectUris,
      },
      world.now(),
    )
    if (registered.kind === 'faults') throw refused(registered.faults)
    const { client, secret } = registered
    await withStore(settingsFor('clients', world, options.data), world, async (store, now) => {
      const faults = signingFaults(client, await store.keys.listKeys(), now())
      if (faults.length > 0) throw refused(faults)
      await store.clients.insertClient(client)
    })
    if (options.json) {
      world.print(registeredJson(client, secret))
      return EXIT.done
    }
    world.print(`Registered "${client.name}".`)
    for (const line of clientFacts(client)) world.print(line)
    if (secret !== null) world.print(`\n  client_secret  ${secret}\n\nThe secret is shown this once; keep it now.`)
    return EXIT.done
  },
})

function refused(faults: readonly string[]): UsageFailure {
  return new UsageFailure(['this client cannot be registered', ...faults.map((fault) => `- ${fault}`)])
}
