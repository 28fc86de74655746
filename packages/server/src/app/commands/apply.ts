import { type Configuration, planConfiguration } from '../../operators/configuration/plan.ts'
import { NO_STORED_SECRETS } from '../../operators/configuration/stored-secrets.ts'
import { defineCommand, UsageError } from '../../operators/terminal/command.ts'
import { planOptions, proposePlan, refuseContradictions } from '../../operators/terminal/configuration/propose-plan.ts'
import { faultLines, readConfiguration } from '../../operators/terminal/configuration/read-configuration.ts'
import { readFileText } from '../../operators/terminal/configuration/read-file.ts'
import { readStoredSecretsFile } from '../../operators/terminal/configuration/stored-secrets-file.ts'
import { withService } from '../compose/command-service.ts'
import { dataOption } from '../compose/settings.ts'

export const apply = defineCommand({
  name: 'apply',
  words: 'Makes the clients, resources, operators and webhooks of the store equal to a file.',
  about: [
    'Prints what will change, asks once, and changes only what differs. A repeated run changes nothing. Each entry is the whole registration: a missing member has its default. An entry without client_id means the only client of its name, or a new client. Entries that the file does not name stay unchanged, unless --prune is given.',
    'A new webhook, and a new client that needs a secret, get one, which is printed once or written to --secrets. For webhooks, GRANTOR_SECRET is needed. Secrets that exist are kept. If an entry in the store changes between the plan and its execution, the command stops before this entry. A command that stopped can be repeated. docs/operating/apply.md describes the file.',
  ],
  operands: [{ name: 'FILE', words: 'YAML or JSON, as grantor export writes it.' }],
  options: {
    ...planOptions,
    prune: {
      words:
        'Also deletes the clients, resources, operators and webhooks that the file does not name, and ends the grants of these clients. Only in the sections (resources, clients, operators, webhooks) that the file has.',
    },
    'stored-secrets': {
      value: 'FILE',
      words:
        'Gives new clients and webhooks the secrets of this file in place of new ones: the file that grantor export --stored-secrets wrote, readable by its owner only. For webhooks, the GRANTOR_SECRET of that store is needed.',
    },
    data: dataOption,
  },
  examples: [
    'grantor apply grantor.yaml',
    'grantor apply grantor.yaml --dry-run --prune',
    'grantor apply grantor.yaml --yes --secrets new-secrets.jsonl',
    'grantor apply grantor.yaml --stored-secrets stored-secrets.ndjson',
  ],
  program: 'clients',
  async run({ options, operands: [file = ''] }, environment) {
    refuseContradictions(options)
    const configuration = readConfiguration(readFileText(file), file)
    const ids = idsIn(configuration)
    const storedSecrets = options['stored-secrets']
      ? await readStoredSecretsFile(options['stored-secrets'], (id) => ids.has(id))
      : NO_STORED_SECRETS
    // The secrets of new webhooks are wrapped with the secret of the service.
    const program = configuration.webhooks?.length ? 'keys' : 'clients'
    return withService({ program, data: options.data, keys: 'make' }, environment, async (service, actor) => {
      const plan = await planConfiguration(configuration, { service, prune: options.prune, storedSecrets })
      if ('faults' in plan) throw new UsageError(faultLines(file, plan.faults))
      return proposePlan(plan, { actor, options, environment, command: 'grantor apply' })
    })
  },
})

function idsIn({ clients, webhooks }: Configuration): ReadonlySet<unknown> {
  return new Set([...(clients ?? []), ...(webhooks ?? [])].map(({ members }) => members.client_id ?? members.webhook_id))
}
