import type { Resource } from '../../domain/model/records.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { RESOURCE_OPERAND, requireFound } from '../resources/find-resource.ts'
import { type GivenScopes, kindsFrom, requireValid, resourceOptions, scopesFrom } from '../resources/resource-options.ts'
import { resourceFacts, resourceRecord } from '../resources/resource-print.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const resourcesUpdate = defineCommand({
  name: 'resources update',
  words: 'Changes the name, the scopes or the clients of a resource.',
  about: [
    'Properties that are not named stay unchanged. A repeatable option replaces the whole list: to add a scope, name the present ones too. The running service applies the change within a second. New access tokens, also those of existing grants, no longer have a scope that was removed. Existing grants never get a scope that was added: the user must sign in again.',
  ],
  operands: [RESOURCE_OPERAND],
  options: {
    name: { value: 'NAME', words: 'The name of the resource that users see.' },
    ...resourceOptions,
    closed: { words: 'No client may request the resource from now on.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor resources update https://mcp.example.com/mcp --open-to registered --open-to metadata',
    'grantor resources update https://mcp.example.com/mcp --scope "notes.read=read your notes"',
  ],
  program: 'clients',
  async run({ options, operands: [uri = ''] }, environment) {
    if (options.closed && options['open-to'].length > 0) throw new UsageError('--closed and --open-to are both given: keep one')
    const changes = changesOf(options)
    if (Object.keys(changes).length === 0) throw new UsageError(['no change was named', 'See: grantor resources update --help'])
    const changed = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const resource = await store.resources.changeResource(uri, (present) =>
        requireValid({ ...present, ...changes }, 'this change cannot be made'),
      )
      const details = { changed: Object.keys(changes).join(' ') }
      if (resource) await recordAct(store, environment, { event: 'resource_changed', at: now(), resource: uri, details })
      return resource
    })
    const resource = requireFound(changed, uri)
    if (options.json) environment.print(JSON.stringify(resourceRecord(resource)))
    else for (const line of ['Changed; the resource is now:', ...resourceFacts(resource)]) environment.print(line)
    return EXIT.done
  },
})

function changesOf(options: GivenScopes & { name: string | undefined; closed: boolean }): Partial<Resource> {
  return {
    ...(options.name === undefined ? {} : { name: options.name.trim() }),
    ...(options.scope.length === 0 ? {} : { scopes: scopesFrom(options) }),
    ...(options['open-to'].length === 0 ? {} : { openTo: kindsFrom(options) }),
    ...(options.closed ? { openTo: [] } : {}),
  }
}
