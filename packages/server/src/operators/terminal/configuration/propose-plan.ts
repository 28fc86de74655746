/** Shows a plan, waits for a confirmation, and carries the plan out: the same for each command that makes a plan from a file. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { Plan } from '../../configuration/plan.ts'
import { ChangedMeanwhile, type KeepSecret, type NewSecret, type PlannedChange } from '../../configuration/section.ts'
import type { Actor } from '../../operations/service.ts'
import { type CommandEnvironment, CommandError, EXIT, UsageError } from '../command.ts'
import { formatCount } from '../print.ts'
import { planLines, planRecord, titleOf } from './print-plan.ts'
import { openSecretsFile, secretRecord } from './secrets-file.ts'

export const planOptions = {
  yes: { words: 'Applies the plan without asking.' },
  'dry-run': { words: 'Changes nothing. The exit code is 1 if something would change.' },
  secrets: {
    value: 'FILE',
    words:
      'Writes new secrets to this file instead of printing them: one JSON object per line, readable by its owner only. The file must not exist yet.',
  },
  json: { words: 'Prints the plan and new secrets as JSON. Needs --yes or --dry-run.' },
} as const

type PlanOptions = { yes: boolean; 'dry-run': boolean; json: boolean; secrets: string | undefined }

export function refuseContradictions({ yes, json, 'dry-run': dryRun }: PlanOptions): void {
  if (yes && dryRun) throw new UsageError('--yes and --dry-run are both given: keep one')
  if (json && !yes && !dryRun) throw new UsageError('--json cannot ask: add --yes or --dry-run')
}

/** `command`: the command that the operator repeats after a failure */
type Proposal = { actor: Actor; options: PlanOptions; environment: CommandEnvironment; command: string }

/** Returns the exit code. */
export async function proposePlan(plan: Plan, proposal: Proposal): Promise<number> {
  const { options, environment } = proposal
  printPlan(plan, options, environment)
  if (plan.changes.length === 0) return EXIT.done
  if (options['dry-run']) return EXIT.failed
  if (!options.yes) await confirmPlan(environment)
  return performPlan(plan, proposal)
}

/** With --json and --yes, the plan is printed at the end, together with the secrets. */
function printPlan(plan: Plan, options: PlanOptions, { print }: CommandEnvironment): void {
  const { changes, unchanged } = plan
  if (options.json) {
    if (options['dry-run'] || changes.length === 0) print(JSON.stringify({ ...planRecord(plan), secrets: [] }))
  } else if (changes.length === 0) print(`Nothing to change: ${unchanged} unchanged.`)
  else for (const line of planLines(plan)) print(line)
}

async function confirmPlan({ ask }: CommandEnvironment): Promise<void> {
  if (!ask)
    throw new UsageError('nothing was changed: there is no terminal to ask on; add --yes, or --dry-run to see the plan only')
  if ((await ask('Apply this plan? Type yes: ')).trim() !== 'yes') throw new CommandError('nothing was changed')
}

async function performPlan(plan: Plan, proposal: Proposal): Promise<number> {
  const { options, environment, command } = proposal
  const { print } = environment
  const secrets: NewSecret[] = []
  const keepSecret: KeepSecret = async (secret) => {
    secrets.push(secret)
    if (!options.json) print(`Secret of ${JSON.stringify(secret.name)} (${secret.id}), shown only once: ${secret.secret}`)
  }
  const needsFile = options.secrets !== undefined && plan.changes.some(({ newSecret }) => newSecret)
  const file = needsFile ? openSecretsFile(options.secrets ?? '') : null
  let done = 0
  try {
    for (const batch of batchesOf(plan.changes)) {
      const outcomes = await Promise.allSettled(
        batch.map((change) => carryOutOne(change, proposal, file?.keepSecret ?? keepSecret)),
      )
      done += outcomes.filter(({ status }) => status === 'fulfilled').length
      const failed = outcomes.findIndex(({ status }) => status === 'rejected')
      if (failed >= 0) throw stopError(outcomes[failed] as PromiseRejectedResult, { plan, next: batch[failed], done, command })
    }
  } finally {
    file?.close()
    if (options.json) print(JSON.stringify({ ...planRecord(plan), applied: done, secrets: secrets.map(secretRecord) }))
  }
  if (!options.json) print(`Applied ${formatCount(done, 'change')}.`)
  return EXIT.done
}

/**
 * How many changes are carried out at the same time. They share commits: with one commit after the other, 10,000 clients took minutes on a
 * busy machine. If the process is killed, at most this many changes have no line in the audit trail.
 */
const AT_ONCE = 50

/** The changes in the order of the plan. Neighbours of one kind that are independent of each other are one batch. */
function batchesOf(changes: readonly PlannedChange[]): PlannedChange[][] {
  const batches: PlannedChange[][] = []
  for (const change of changes) {
    const batch = batches.at(-1)
    const [first] = batch ?? []
    const isWith = change.isIndependent && first?.kind === change.kind && first.action === change.action
    if (batch && isWith && batch.length < AT_ONCE) batch.push(change)
    else batches.push([change])
  }
  return batches
}

async function carryOutOne(
  change: PlannedChange,
  { actor, options, environment }: Proposal,
  keepSecret: KeepSecret,
): Promise<void> {
  const grantsEnded = await change.carryOut(actor, keepSecret)
  if (change.grantsEnded && !options.json)
    environment.print(`Deleted ${change.kind} ${change.id} and ended ${formatCount(grantsEnded, 'grant')}.`)
}

type Stop = { plan: Plan; next: PlannedChange | undefined; done: number; command: string }

/** The changes that were made stay. A second run makes the others. */
function stopError({ reason: error }: PromiseRejectedResult, { plan: { changes }, next, done, command }: Stop): unknown {
  if (!next || !(error instanceof ChangedMeanwhile || error instanceof StoreUnavailable)) return error
  const why = error instanceof ChangedMeanwhile ? error.message : `the database cannot be used: ${error.message}`
  return new CommandError([
    `stopped after ${done} of ${formatCount(changes.length, 'change')}, at: ${titleOf(next)}: ${why}`,
    `Run ${command} again: it makes a new plan, and changes only what still differs.`,
  ])
}
