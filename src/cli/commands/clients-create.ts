import { createClient } from '../../domain/clients/manage-clients.ts'
import { clientFlags, clientOptions, givenFlags, givenOfClient } from '../clients/client-options.ts'
import { clientFacts, registeredJson } from '../clients/client-print.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const clientsCreate = defineCommand({
  name: 'clients create',
  words: 'Registers a client (a builder app, or a resource API).',
  about: [
    'The client secret is printed once and stored only as a hash. With --json exactly one object is printed: {"client_id","client_secret","name","redirect_uris","scopes","type","consent"}; client_secret is null for clients without a secret: public and native clients, and clients that authenticate by private_key_jwt. With --env the lines CLIENT_ID=… and, if there is a secret, CLIENT_SECRET=… are printed, for a shell or an environment file.',
  ],
  options: {
    name: { value: 'NAME', words: 'The name that users see when they sign in. Required.' },
    ...clientOptions,
    ...clientFlags,
    public: { words: 'A client that cannot keep a secret, such as an app in a browser. Needs PKCE.' },
    native: { words: "An app on a user's own device: public, and always with a signed consent (RFC 8252)." },
    env: { words: 'Print CLIENT_ID=… and CLIENT_SECRET=… and nothing else.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor clients create --name "My app" --redirect-uri https://app.example.com/callback --env > my-app.env',
    'grantor clients create --name "My app" --redirect-uri https://app.example.com/callback',
    'grantor clients create --name "My API" --resource-server https://api.example.com/ --json',
    'grantor clients create --name "My back end" --grant-type client_credentials --token-endpoint-auth-method private_key_jwt --jwks-uri https://app.example.com/jwks.json',
  ],
  program: 'clients',
  async run({ options }, environment) {
    if (options.name === undefined)
      throw new UsageError(['--name is missing: users see it when they sign in', 'See: grantor clients create --help'])
    if (options.public && options.native)
      throw new UsageError('--public and --native are both given: keep one (a native client is public)')
    if (options.env && options.json) throw new UsageError('--env and --json are both given: keep one')
    const { redirectUris = [], ...given } = givenOfClient(options)
    const registration = {
      ...given,
      ...givenFlags(options),
      name: options.name,
      type: options.native ? 'native' : options.public ? 'public' : 'confidential',
      redirectUris,
    } as const
    const registered = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const created = await createClient(store, registration, now())
      if (created.kind === 'registered')
        await recordAct(store, environment, { event: 'client_created', at: now(), clientId: created.client.id })
      return created
    })
    if (registered.kind === 'faults') throw refused(registered.faults)
    const { client, secret } = registered
    if (options.json) {
      environment.print(registeredJson(client, secret))
      return EXIT.done
    }
    if (options.env) {
      environment.print(`CLIENT_ID=${client.id}`)
      if (secret !== null) environment.print(`CLIENT_SECRET=${secret}`)
      return EXIT.done
    }
    environment.print(`Registered "${client.name}".`)
    for (const line of clientFacts(client)) environment.print(line)
    if (secret !== null) environment.print(`\n  client_secret  ${secret}\n\nThe secret is shown only once; store it now.`)
    return EXIT.done
  },
})

function refused(faults: readonly string[]): UsageError {
  return new UsageError(['this client cannot be registered', ...faults.map((fault) => `- ${fault}`)])
}
