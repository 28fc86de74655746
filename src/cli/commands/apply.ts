import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { type Plan, planConfiguration } from '../../operations/configuration/plan.ts'
import { ChangedMeanwhile, type KeepSecret, type NewSecret } from '../../operations/configuration/section.ts'
import type { Actor, Service } from '../../operations/service.ts'
import { withService } from '../compose/command-service.ts'
import { dataOption } from '../compose/settings.ts'
import { planLines, planRecord, titleOf } from '../configuration/print-plan.ts'
import { faultLines, readClientMetadata, readConfiguration } from '../configuration/read-configuration.ts'
import { readFileText } from '../configuration/read-file.ts'
import { openSecretsFile, secretRecord } from '../configuration/secrets-file.ts'
import { type CommandEnvironment, CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { counted } from '../terminal/print.ts'

export const apply = defineCommand({
  name: 'apply',
  words: 'Makes the clients, resources, operators and webhooks of the store equal to a file.',
  about: [
    'Prints what will change, asks once, and changes only what differs. A repeated run changes nothing. Each entry is the whole registration: a missing member has its default. An entry without client_id means the only client of its name, or a new client. Entries that the file does not name stay unchanged, unless --prune is given.',
    'A new webhook, and a new client that needs a secret, get one, which is printed once or written to --secrets. For webhooks, GRANTOR_SECRET is needed. Secrets that exist are kept. If an entry in the store changes between the plan and its execution, the command stops before this entry. A command that stopped can be repeated. docs/operating/apply.md describes the file.',
  ],
  operands: [{ name: 'FILE', words: 'YAML or JSON, as grantor export writes it.' }],
  options: {
    yes: { words: 'Applies the plan without asking.' },
    'dry-run': { words: 'Changes nothing. The exit code is 1 if something would change.' },
    prune: {
      words:
        'Also deletes the clients, resources, operators and webhooks that the file does not name, and ends the grants of these clients. Only in the sections (resources, clients, operators, webhooks) that the file has.',
    },
    secrets: {
      value: 'FILE',
      words:
        'Writes new client secrets to this file instead of printing them: one JSON object per line, readable by its owner only. The file must not exist yet.',
    },
    'client-metadata': {
      words:
        'FILE is client metadata of RFC 7591: one object, or a list of them. Other members than the supported ones are refused.',
    },
    data: dataOption,
    json: { words: 'Prints the plan and new secrets as JSON. Needs --yes or --dry-run.' },
  },
  examples: [
    'grantor apply grantor.yaml',
    'grantor apply grantor.yaml --dry-run --prune',
    'grantor apply grantor.yaml --yes --secrets new-secrets.jsonl',
  ],
  program: 'clients',
  async run({ options, operands: [file = ''] }, environment) {
    if (options.yes && options['dry-run']) throw new UsageError('--yes and --dry-run are both given: keep one')
    if (options.json && !options.yes && !options['dry-run']) throw new UsageError('--json cannot ask: add --yes or --dry-run')
    if (options.prune && options['client-metadata'])
      throw new UsageError('--prune cannot be used with --client-metadata: it would delete every other client')
    const text = readFileText(file)
    const configuration = options['client-metadata'] ? readClientMetadata(text, file) : readConfiguration(text, file)
    // The secrets of new webhooks are wrapped with the secret of the service.
    const program = configuration.webhooks?.length ? 'keys' : 'clients'
    return withService({ program, data: options.data, keys: 'make' }, environment, async (service, actor) => {
      const plan = await planConfiguration(configuration, { service, prune: options.prune })
      if ('faults' in plan) throw new UsageError(faultLines(file, plan.faults))
      printPlan(plan, options, environment)
      if (plan.changes.length === 0) return EXIT.done
      if (options['dry-run']) return EXIT.failed
      if (!options.yes) await confirm(environment)
      return carryOut(plan, { service, actor, options, environment })
    })
  },
})

type Options = { yes: boolean; 'dry-run': boolean; json: boolean; secrets: string | undefined }

/** With --json and --yes, the plan is printed at the end, together with the secrets. */
function printPlan(plan: Plan, options: Options, { print }: CommandEnvironment): void {
  const { changes, unchanged } = plan
  if (options.json) {
    if (options['dry-run'] || changes.length === 0) print(JSON.stringify({ ...planRecord(plan), secrets: [] }))
  } else if (changes.length === 0) print(`Nothing to change: ${unchanged} unchanged.`)
  else for (const line of planLines(plan)) print(line)
}

async function confirm({ ask }: CommandEnvironment): Promise<void> {
  if (!ask)
    throw new UsageError('nothing was changed: there is no terminal to ask on; add --yes, or --dry-run to see the plan only')
  if ((await ask('Apply this plan? Type yes: ')).trim() !== 'yes') throw new CommandError('nothing was changed')
}

type Execution = { service: Service; actor: Actor; options: Options; environment: CommandEnvironment }

async function carryOut(plan: Plan, { service, actor, options, environment }: Execution): Promise<number> {
  const { print } = environment
  const secrets: NewSecret[] = []
  const keepSecret: KeepSecret = (secret) => {
    secrets.push(secret)
    if (!options.json) print(`Secret of ${JSON.stringify(secret.name)} (${secret.id}), shown only once: ${secret.secret}`)
  }
  const needsFile = options.secrets !== undefined && plan.changes.some(({ newSecret }) => newSecret)
  const file = needsFile ? openSecretsFile(options.secrets ?? '') : null
  let done = 0
  try {
    for (const change of plan.changes) {
      const grantsEnded = await change.carryOut(service.now(), file?.keepSecret ?? keepSecret)
      done += 1
      const details = { ...change.act.details, ...(change.grantsEnded ? { grants: grantsEnded } : {}) }
      await service.record(actor, { ...change.act, details })
      if (change.grantsEnded && !options.json)
        print(`Deleted ${change.kind} ${change.id} and ended ${counted(grantsEnded, 'grant')}.`)
    }
  } catch (error) {
    throw stopError(error, plan, done)
  } finally {
    file?.close()
    if (options.json) print(JSON.stringify({ ...planRecord(plan), applied: done, secrets: secrets.map(secretRecord) }))
  }
  if (!options.json) print(`Applied ${counted(done, 'change')}.`)
  return EXIT.done
}

/** The changes before the failed one stay. A second run makes the others. */
function stopError(error: unknown, { changes }: Plan, done: number): unknown {
  const next = changes[done]
  if (!next || !(error instanceof ChangedMeanwhile || error instanceof StoreUnavailable)) return error
  const why = error instanceof ChangedMeanwhile ? error.message : `the database cannot be used: ${error.message}`
  return new CommandError([
    `stopped after ${done} of ${counted(changes.length, 'change')}, at: ${titleOf(next)}: ${why}`,
    'Run grantor apply again: it makes a new plan, and changes only what still differs.',
  ])
}
