import { RESOURCES_AT_MOST } from '../../domain/model/operator-store.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { kindsFrom, requireValid, resourceOptions, scopesFrom } from '../resources/resource-options.ts'
import { resourceFacts, resourceRecord } from '../resources/resource-print.ts'
import { CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const resourcesCreate = defineCommand({
  name: 'resources create',
  words: 'Registers a resource: an API for which the service issues access tokens, with its scopes.',
  about: [
    'A registered resource has exactly the scopes that are named here, besides those of the service (openid, wallet) and, for registered clients, those in GRANTOR_SCOPE_DESCRIPTIONS. All other scopes that are named here are granted only for resources that name them. Clients that are not registered may request only registered resources that are open to them.',
    'Clients can be registered for a resource that is not in this registry: grantor clients create --resource.',
  ],
  operands: [
    {
      name: 'RESOURCE',
      words: 'The URI of the resource: the audience of its tokens, and the resource parameter of requests (RFC 8707).',
    },
  ],
  options: {
    name: { value: 'NAME', words: 'The name of the resource that users see. Required.' },
    ...resourceOptions,
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor resources create https://mcp.example.com/mcp --name "Notes" --scope "notes.read=read your notes" --scope "notes.write=change your notes" --open-to registered --open-to metadata',
  ],
  program: 'clients',
  async run({ options, operands: [uri = ''] }, environment) {
    if (options.name === undefined)
      throw new UsageError(['--name is missing: users see it when they sign in', 'See: grantor resources create --help'])
    const openTo = options['open-to'].length === 0 ? (['registered'] as const) : kindsFrom(options)
    const resource = requireValid(
      { uri, name: options.name.trim(), scopes: scopesFrom(options), openTo: [...openTo], createdAt: environment.now() },
      'this resource cannot be registered',
    )
    await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const outcome = await store.resources.insertResource(resource)
      if (outcome === 'taken') throw new CommandError(`${uri} is registered already; see: grantor resources update --help`)
      if (outcome === 'full')
        throw new CommandError(
          `${RESOURCES_AT_MOST} resources are registered, which is the most; see: grantor resources delete --help`,
        )
      await recordAct(store, environment, { event: 'resource_created', at: now(), resource: uri })
    })
    if (options.json) environment.print(JSON.stringify(resourceRecord(resource)))
    else for (const line of [`Registered "${resource.name}".`, ...resourceFacts(resource)]) environment.print(line)
    return EXIT.done
  },
})
