/** The command of an operation: its help, its options, and what it does. */

import type { Member, Members } from '../../operators/members/member.ts'
import { subjectOf } from '../../operators/operations/all.ts'
import {
  type Call,
  type CommandOperation,
  type CommandWords,
  matcher,
  type Operation,
  perform,
} from '../../operators/operations/operation.ts'
import {
  type Command,
  type CommandEnvironment,
  CommandError,
  EXIT,
  type OptionSpecs,
  UsageError,
} from '../../operators/terminal/command.ts'
import { limitFrom, listOptions, printList } from '../../operators/terminal/operations/list.ts'
import { optionSpecs, readInput } from '../../operators/terminal/operations/options.ts'
import { outputLines, outputRecord } from '../../operators/terminal/operations/print.ts'
import { asLine, commandErrorOf } from '../../operators/terminal/operations/refusal-lines.ts'
import { withService } from './command-service.ts'
import { dataOption, jsonOption } from './settings.ts'
import { tokenLines } from './token-lines.ts'

export function commandName({ subject, verb }: Pick<Operation, 'subject' | 'verb'>): string {
  return `${subject} ${verb}`
}

type CommandOptions = Readonly<Record<string, unknown>> & { data?: string; json?: boolean; yes?: boolean }

/** One run of a command. */
type CommandRun = { operation: CommandOperation; words: CommandWords; options: CommandOptions; environment: CommandEnvironment }

export function commandOf(operation: CommandOperation, words: CommandWords): Command {
  const { summary, description } = operation
  const operand = operandOf(operation)
  return {
    name: commandName(operation),
    words: summary,
    about: words.about ?? description ?? [],
    operands: operand ? [operand] : [],
    options: { ...optionSpecs(operation), ...listOptions(operation, words), ...commonOptions(operation, words) },
    examples: words.examples.map((rest) => `grantor ${commandName(operation)} ${rest}`.trimEnd()),
    program: settingsOf(operation),
    async run({ options, operands: [text = ''] }, environment) {
      const command: CommandRun = { operation, words, options, environment }
      const input = readInput(operation, options, environment.now())
      const atMost = limitFrom(operation, words, options)
      if (words.isConfirmed && !command.options.yes && !environment.ask)
        throw new UsageError(`this command ${asLine(summary)}; add --yes`)
      const member = memberOfOperand(operation)
      const addressed = member ? { id: '', input: { ...input, [member.name]: text } } : { id: text, input }
      await callWithService(operation, { ...addressed, data: command.options.data }, environment, async (call) => {
        if (operation.kind === 'list') await printList({ operation, words, given: options, atMost, environment }, call)
        else await runConfirmed(command, call)
      })
      return EXIT.done
    },
  }
}

type CommandCall = { id?: string; input?: Members; data: string | undefined }

/** Runs one operation for a command that is more than the operation. */
export async function runOperation<Output>(
  operation: CommandOperation<Output>,
  given: CommandCall,
  environment: CommandEnvironment,
): Promise<Output> {
  return callWithService(operation, given, environment, async (call) => (await perform(operation, call)).output)
}

/** Opens the store for a call of the operation. */
async function callWithService<Result>(
  operation: CommandOperation,
  { id = '', input = {}, data }: CommandCall,
  environment: CommandEnvironment,
  use: (call: Call) => Promise<Result>,
): Promise<Result> {
  const { kind } = operation
  const keys = kind === 'list' ? 'none' : kind === 'get' ? 'read' : 'make'
  try {
    return await withService({ program: settingsOf(operation), data, keys }, environment, async (service, actor) => {
      const page = { limit: 1, after: undefined }
      return use({ service, actor, id, input, page, requireMatch: matcher(undefined), idempotencyKey: undefined })
    })
  } catch (error) {
    throw commandErrorOf(error)
  }
}

async function runConfirmed({ operation, words, options, environment }: CommandRun, call: Call): Promise<void> {
  if (words.isConfirmed && !options.yes) await confirmOperation(operation, call, environment)
  const { output } = await perform(operation, call)
  if (options.json) environment.print(JSON.stringify(outputRecord(operation, words, output, call.id)))
  else {
    const next = words.tokenFor ? tokenLines(words.tokenFor(output as never), options.data) : []
    for (const line of [...outputLines(operation, words, output, call.id), ...next]) environment.print(line)
  }
}

/** Prints what will happen, and asks once. */
async function confirmOperation(
  { question, summary }: CommandOperation,
  call: Call,
  { print, ask }: CommandEnvironment,
): Promise<void> {
  const asked = await question?.(call as Call<never>)
  for (const line of [asked?.effect ?? summary, ...(asked?.notes ?? [])]) print(line)
  if ((await ask?.('Type yes: '))?.trim() !== 'yes') throw new CommandError('nothing was changed')
}

function settingsOf({ subject, needs }: CommandOperation): 'clients' | 'grants' | 'keys' {
  return needs === 'keys' ? 'keys' : subjectOf(subject).settings
}

function commonOptions({ summary, kind, output }: CommandOperation, words: CommandWords): OptionSpecs {
  const { isConfirmed, json, stream } = words
  const hasJson = kind === 'list' || json !== undefined || output !== null
  const jsonWords = stream === 'lines' ? { words: 'Prints one JSON object per line, as grantor audit export does.' } : jsonOption
  return {
    ...(isConfirmed && { yes: { words: `Confirms it without a question: ${asLine(summary)}.` } }),
    data: dataOption,
    ...(hasJson && { json: jsonWords }),
  }
}

/** The member of the input that is typed without an option. */
function memberOfOperand({ input, kind }: Pick<Operation, 'input' | 'kind'>): Member | undefined {
  return kind === 'create' || kind === 'list' ? input.find(({ option }) => option?.isOperand) : undefined
}

function operandOf(operation: CommandOperation): { name: string; words: string } | undefined {
  const member = memberOfOperand(operation)
  if (member?.option) return { name: member.option.value ?? '', words: member.option.words }
  const { kind, path, subject } = operation
  const hasId = kind !== 'list' && kind !== 'create' && (path === undefined || path === null || path.startsWith(':id'))
  if (!hasId) return undefined
  const { ids, idName, noun, name } = subjectOf(subject)
  return { name: idName.toUpperCase(), words: ids?.words ?? `The id of the ${noun}, from grantor ${name} list.` }
}
