/** The command of an operation: its help, its options, and what it does. */
import { subjectOf } from '../../operations/all.ts'
import type { Member, Members } from '../../operations/members/member.ts'
import { type Call, type CommandWords, type Listed, matcher, type Operation, perform } from '../../operations/operation.ts'
import type { Actor, Service } from '../../operations/service.ts'
import { withService } from '../compose/command-service.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'
import { type Command, type CommandEnvironment, CommandError, EXIT, type OptionSpecs, UsageError } from '../terminal/command.ts'
import { optionSpecs, readInput } from './options.ts'
import { environmentLines, listLines, outputLines, outputRecord } from './print.ts'
import { asLine, commandErrorOf } from './refusal-lines.ts'

/** A list is read this many records at a time. */
const PAGE = 500

export function commandName({ subject, verb }: Operation): string {
  return `${subject} ${verb}`
}

type Options = Readonly<Record<string, unknown>> & { data?: string; json?: boolean; yes?: boolean; env?: boolean }

export function commandOf(operation: Operation, words: CommandWords): Command {
  const { summary, description } = operation
  const operand = operandOf(operation)
  return {
    name: commandName(operation),
    words: summary,
    about: words.about ?? (description === undefined ? [] : [description]),
    operands: operand ? [operand] : [],
    options: { ...optionSpecs(operation), ...commonOptions(operation, words) },
    examples: words.examples.map((rest) => `grantor ${commandName(operation)} ${rest}`.trimEnd()),
    program: settingsOf(operation, words),
    async run({ options: given, operands: [text = ''] }, environment) {
      const options = given as Options
      const input = readInput(operation, options)
      if (options.env && options.json) throw new UsageError('--env and --json are both given: keep one')
      if (words.isConfirmed && !options.yes && !environment.ask)
        throw new UsageError(`this command ${asLine(summary)}; add --yes`)
      const member = memberOfOperand(operation)
      const addressed = member ? { id: '', input: { ...input, [member.name]: text } } : { id: text, input }
      try {
        return await carryOut({ operation, words, options, environment }, addressed)
      } catch (error) {
        throw commandErrorOf(error)
      }
    },
  }
}

/** One run of a command. */
type Run = { operation: Operation; words: CommandWords; options: Options; environment: CommandEnvironment }

function carryOut(command: Run, addressed: Pick<Call, 'id' | 'input'>): Promise<number> {
  const { operation, words, options, environment } = command
  const keys = operation.kind === 'list' || operation.kind === 'get' ? 'read' : 'make'
  const settings = { program: settingsOf(operation, words), data: options.data, keys } as const
  return withService(settings, environment, async (service, actor) => {
    if (operation.kind === 'list') return printList(command, callsOf(command, addressed, service, actor))
    const calls = callsOf(command, addressed, service, actor)
    if (words.isConfirmed && !options.yes) for (const call of calls) await confirm(command, call)
    const outputs: unknown[] = []
    for (const call of calls) {
      const { output } = await perform(operation, call)
      outputs.push(output)
    }
    print(command, outputs, addressed)
    return EXIT.done
  })
}

/** One call, or one for each value of the option that may be repeated. */
function callsOf({ words }: Run, { id, input }: Pick<Call, 'id' | 'input'>, service: Service, actor: Actor): Call[] {
  const inputs = inputsOf(words, input)
  const page = { limit: PAGE, after: undefined }
  return inputs.map((each) => ({
    service,
    actor,
    id,
    input: each,
    page,
    requireMatch: matcher(undefined),
    idempotencyKey: undefined,
  }))
}

function inputsOf({ repeats }: CommandWords, input: Members): Members[] {
  if (!repeats) return [input]
  const values = (input[repeats.member] as string[] | undefined) ?? [repeats.usual]
  return [...new Set(values)].map((value) => ({ ...input, [repeats.member]: value }))
}

/** Prints what will happen, and asks once. */
async function confirm({ operation, environment }: Run, call: Call): Promise<void> {
  const question = await operation.question?.(call as Call<never>)
  for (const line of [question?.effect ?? operation.summary, ...(question?.notes ?? [])]) environment.print(line)
  if ((await environment.ask?.('Type yes: '))?.trim() !== 'yes') throw new CommandError('nothing was changed')
}

async function printList({ operation, options, environment }: Run, [call]: Call[]): Promise<number> {
  const records = call ? await readAll(operation as Operation<never, Listed>, call) : []
  if (options.json) environment.print(JSON.stringify(records))
  else for (const line of listLines(subjectOf(operation.subject), records)) environment.print(line)
  return EXIT.done
}

/** All pages of the list. */
async function readAll(operation: Operation<never, Listed>, call: Call): Promise<Members[]> {
  const records: Members[] = []
  for (let after: unknown; after !== null; ) {
    const { output } = await perform(operation, { ...call, page: { limit: PAGE, after } })
    records.push(...output.items)
    after = output.next ?? null
  }
  return records
}

function print({ operation, words, options, environment }: Run, outputs: unknown[], { id }: Pick<Call, 'id'>): void {
  if (options.json) {
    const records = outputs.map((output) => outputRecord(operation, words, output, id))
    environment.print(JSON.stringify(words.repeats ? records : records[0]))
    return
  }
  for (const output of outputs) {
    const lines = options.env ? environmentLines(words, output) : outputLines(operation, words, output, id)
    for (const line of lines) environment.print(line)
    const hint = words.hint?.(output as never) ?? null
    if (hint !== null) environment.printError(hint)
  }
}

function settingsOf({ subject }: Operation, { settings }: CommandWords): 'clients' | 'grants' | 'keys' {
  return settings ?? subjectOf(subject).settings
}

function commonOptions({ summary, kind, output }: Operation, { isConfirmed, environment, json }: CommandWords): OptionSpecs {
  const hasJson = kind === 'list' || json !== undefined || output !== null
  return {
    ...(environment && { env: { words: 'Prints lines NAME=VALUE for a shell, and nothing else.' } }),
    ...(isConfirmed && { yes: { words: `Confirms it without a question: ${asLine(summary)}.` } }),
    data: dataOption,
    ...(hasJson && { json: jsonOption }),
  }
}

/** The member of the input that is typed without an option. */
function memberOfOperand({ input = [], kind }: Operation): Member | undefined {
  return kind === 'create' ? input.find(({ option }) => option?.isOperand) : undefined
}

function operandOf(operation: Operation): { name: string; words: string } | undefined {
  const member = memberOfOperand(operation)
  if (member?.option) return { name: member.option.value ?? '', words: member.option.words }
  const { kind, path, subject } = operation
  const hasId = kind !== 'list' && kind !== 'create' && (path === undefined || path === null || path.startsWith(':id'))
  return hasId ? subjectOf(subject).operand : undefined
}
