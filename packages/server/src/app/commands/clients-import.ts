import { type Plan, planConfiguration } from '../../operators/configuration/plan.ts'
import { defineCommand, UsageError } from '../../operators/terminal/command.ts'
import { titleOf } from '../../operators/terminal/configuration/print-plan.ts'
import { planOptions, proposePlan, refuseContradictions } from '../../operators/terminal/configuration/propose-plan.ts'
import { faultLines, readClientMetadata } from '../../operators/terminal/configuration/read-configuration.ts'
import { readFileText } from '../../operators/terminal/configuration/read-file.ts'
import { withService } from '../compose/command-service.ts'
import { dataOption } from '../compose/settings.ts'

export const clientsImport = defineCommand({
  name: 'clients import',
  words: 'Registers the clients of another authorization server from their metadata (RFC 7591).',
  about: [
    'FILE is client metadata of RFC 7591: one object, or a list of them. Prints what will be registered, and waits for one confirmation. Registered clients are never changed: if one of them has the id or the name of a client in the file, and differs, nothing is registered. A repeated run changes nothing.',
    'Every member must be one that Grantor supports: a member that is ignored could have made the client stricter. --leave-out names the members that may be ignored. A secret cannot be imported: a client that authenticates with a secret gets a new one. A client_id must be a UUID; with --leave-out client_id each client gets a new id. docs/operating/apply.md describes the members.',
  ],
  operands: [{ name: 'FILE', words: 'JSON or YAML: client metadata, or a list of them.' }],
  options: {
    ...planOptions,
    'leave-out': {
      value: 'MEMBER',
      repeatable: true,
      words: 'Ignores this member of the clients, such as logo_uri. Only members that Grantor does not support, and client_id.',
    },
    data: dataOption,
  },
  examples: [
    'grantor clients import clients.json --dry-run',
    'grantor clients import clients.json --leave-out logo_uri --leave-out client_secret',
    'grantor clients import clients.json --yes --secrets new-secrets.jsonl',
  ],
  program: 'clients',
  async run({ options, operands: [file = ''] }, environment) {
    refuseContradictions(options)
    const configuration = readClientMetadata(readFileText(file), file, options['leave-out'] ?? [])
    return withService({ program: 'clients', data: options.data, keys: 'make' }, environment, async (service, actor) => {
      const plan = await planConfiguration(configuration, { service, prune: false })
      const faults = 'faults' in plan ? plan.faults : changesOf(plan)
      if ('faults' in plan || faults.length > 0) throw new UsageError(faultLines(file, faults, 'imported'))
      return proposePlan(plan, { actor, options, environment, command: 'grantor clients import' })
    })
  },
})

/** One line for each client that the import would change. Metadata of another server must not replace a registration here. */
function changesOf({ changes }: Plan): string[] {
  return changes
    .filter(({ action }) => action !== 'create')
    .map((change) => `${titleOf(change)}: the client is registered already, and differs`)
}
