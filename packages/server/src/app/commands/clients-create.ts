import type { Members } from '../../operators/members/member.ts'
import { createClient, registeredRecord } from '../../operators/operations/clients.ts'
import { defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { oneOf, optionSpecs, readInput } from '../../operators/terminal/operations/options.ts'
import { outputLines } from '../../operators/terminal/operations/print.ts'
import { runOperation } from '../compose/operation-command.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'
import { tokenLines } from '../compose/token-lines.ts'

const { name, ...others } = optionSpecs(createClient)

export const clientsCreate = defineCommand({
  name: 'clients create',
  words: createClient.summary,
  about:
    'A client is a builder app, or a resource API. The client secret is printed once and stored only as a hash. With --json exactly one object is printed: {"client_id","client_secret","name","redirect_uris","scopes","type","consent"}, with "warnings" if there are any; client_secret is null for clients without a secret: public and native clients, and clients that authenticate by private_key_jwt. With --env the lines CLIENT_ID=… and, if there is a secret, CLIENT_SECRET=… are printed, for a shell or an environment file.',
  options: {
    ...(name && { name }),
    public: { words: 'A client that cannot keep a secret, such as an app in a browser. Needs PKCE.' },
    native: { words: "An app on a user's own device: public, and always with a signed consent (RFC 8252)." },
    ...others,
    env: { words: 'Prints lines NAME=VALUE for a shell, and nothing else.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    '--name "My app" --redirect-uri https://app.example.com/callback --env > my-app.env',
    '--name "My app" --redirect-uri https://app.example.com/callback',
    '--name "My API" --resource-server https://api.example.com/ --json',
    '--name "My back end" --grant-type client_credentials --token-endpoint-auth-method private_key_jwt --jwks-uri https://app.example.com/jwks.json',
  ].map((rest) => `grantor clients create ${rest}`),
  program: 'clients',
  async run({ options }, environment) {
    const given = readInput(createClient, options, environment.now())
    const type = oneOf(['public', 'native'], options)
    if (options.env && options.json) throw new UsageError('--env and --json are both given: keep one')
    const input = { ...given, ...(type !== undefined && { type }) }
    const created = await runOperation(createClient, { input, data: options.data }, environment)
    const { client, client_secret: secret } = created
    if (options.json) environment.print(JSON.stringify(registeredRecord(created)))
    else if (options.env) {
      environment.print(`CLIENT_ID=${client.client_id}`)
      if (secret !== null) environment.print(`CLIENT_SECRET=${secret}`)
    } else {
      const done = () => `Registered "${String(client.name)}".`
      for (const line of outputLines(createClient, { done }, created, '')) environment.print(line)
      const { resources, resource_server: own } = client as Members
      const [resource = own] = resources as string[]
      for (const line of tokenLines(resource, options.data)) environment.print(line)
    }
    return EXIT.done
  },
})
