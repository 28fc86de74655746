/**
 * An operation: what an operator can do, as a value. The admin API, the console and the command line are loops over the operations
 * (`all.ts`), so a new operation has a route, an entry of the OpenAPI document, a page and a command.
 */

import { createHash } from 'node:crypto'
import type { Client } from '../../domain/model/records.ts'
import type { AdminScope } from '../../domain/operators/roles.ts'
import { type Member, type Members, type RecordMember, type Shown, textOf } from '../members/member.ts'
import type { JsonSchema } from './json-schema.ts'
import { Refusal } from './refusal.ts'
import { type Act, type Actor, requireScope, type ServerService, type Service } from './service.ts'
import type { SubjectName } from './subject-name.ts'

/** `set` creates a record with a given id, or changes it. `act` is everything else that changes something. */
export type OperationKind = 'list' | 'get' | 'create' | 'change' | 'set' | 'delete' | 'act'

/** Items of a list after a place, before a place, or from the first one. Not every list is read backwards. */
export type PageRequest = { limit: number; after: unknown; before?: unknown }
/** How many records a list has. `at_least`: counting stopped there. */
export type Total = { number: number; kind: 'exact' | 'at_least' }
export type Listed<Item = Members> = { items: Item[]; next?: unknown; previous?: unknown; total?: Total }

export type Call<Input = Members, Needed extends Service = Service> = {
  service: Needed
  actor: Actor
  /** the id of the record; empty if the operation has none */
  id: string
  input: Input
  page: PageRequest
  /**
   * Throws if the caller has read another state of the record (RFC 9110 §13.1.1). Call it inside of the store's change: then no other
   * change can come in between. Null if the record does not exist, and the operation creates it.
   */
  requireMatch(record: object | null): void
  idempotencyKey: string | undefined
  /** what a plan of `apply` has besides the input; the doors have none */
  origin?: Origin
}

/** What a plan has of a client and of a webhook besides the members that a caller gives. */
export type Origin = {
  /** of a new client, and of one that gets the secret that it lacks: without the secret in plain text */
  client?: Pick<Client, 'id' | 'secrets' | 'disabledAt'>
  webhook?: { id: string; secret: Uint8Array }
}

export type Result<Output = unknown> = {
  output: Output
  /** the record whose state the caller may name in its next change */
  record?: object
  /** true if a record was created, or if work was started */
  isNew?: boolean
  /** for the audit trail; absent if nothing was changed */
  act?: Act
}

/** What will happen, before it is done: the question of the console and of the command line. */
export type Question = {
  /** "Delete Aurora Notes?"; the link of the page and the kind of the record unless given, as in "Delete this client?" */
  title?: string
  /** what will happen, in numbers */
  effect: string
  /** further consequences, one sentence each */
  notes?: readonly string[]
  /** as `isDangerous` of the operation unless given */
  isDangerous?: boolean
  button?: string
}

/** What a command adds. */
export type CommandWords = {
  /** a paragraph of the help, or several */
  about?: string | readonly string[]
  /** after `grantor NAME` */
  examples: readonly string[]
  /** true if the command needs the option --yes, or an answer at the terminal */
  isConfirmed?: true
  /** the sentence before the record or in its place */
  done?: (output: never, call: Pick<Call, 'id'>) => string
  /** true if every member of the output is printed as it is, because the output is not the record of its kind */
  printsMembers?: true
  /** the resource of the record, if a user of `grantor start` can get a token for the resource next */
  tokenFor?: (output: never) => string
  /** the object that `--json` prints; the record unless given */
  json?: (output: never, call: Pick<Call, 'id'>) => unknown
  /**
   * Of a list of any length, which has the option --limit: how `--json` prints the records, each on its own line. `lines`: without the brackets
   * and commas of an array. An array also has the option --all.
   */
  stream?: 'lines' | 'array'
}

/** What a page adds. */
export type PageWords = {
  /** the link to the page */
  link: string
  /** the first sentence of the form */
  intro?: string
  /**
   * The button of the question, and the title of the form for a present record. The link and the kind of the record unless given, as in "Delete
   * the client".
   */
  button?: string
  /** the message after the change */
  done?: string
  /** true for an operation that stops something, if neither the kind nor the command says so */
  isDangerous?: true
  /** false if the record does not allow the operation now */
  isOffered?: (record: Members) => boolean
}

/** The answers of the API: `created` and `started` to a call that created a record or started work, and `done` to the others. */
export type AnswerKind = 'done' | 'created' | 'started'

/**
 * A refusal that depends on what is stored. `conflict`: the state of the record can forbid the operation. `changed_meanwhile`: the caller can
 * name the state that it read (If-Match). `idempotency_key_reused`: a repeated call can be recognised (Idempotency-Key). `not_found`: the input
 * names a record that may not exist.
 */
export type StateRefusal = 'conflict' | 'changed_meanwhile' | 'idempotency_key_reused' | 'not_found'

/** `Needed`: the least that the operation works with. */
export type Operation<Input = never, Output = unknown, Needed extends Service = ServerService> = {
  /** the `operationId` of the API */
  id: string
  subject: SubjectName
  kind: OperationKind
  /** the second word of its command, and the last part of the path of its page */
  verb: string
  scope: AdminScope
  /** one sentence: "Registers a client." */
  summary: string
  description?: string
  /** `keys`: also the secret with which the keys are wrapped. `server`: a running server, so no command has the operation. */
  needs: 'store' | 'keys' | 'server'
  /** the members of the input, besides the id of the record */
  input: readonly Member[]
  /** the path of the API below the subject, by the kind unless given; null if another operation of the API does the same */
  path?: string | null
  /** the description of each answer of the API */
  answers: Readonly<Partial<Record<AnswerKind, string>>>
  /** the schema of the output; null if there is none. A call that started work returns a job. */
  output: JsonSchema | null
  refusals: readonly StateRefusal[]
  /** true if the list is read page by page */
  isPaged?: true
  command: CommandWords | null
  page?: PageWords
  /** Throws `Refusal` if the operation would be refused for what the caller gave. */
  question?: (call: Call<Input, Needed>) => Promise<Question>
  run: (call: Call<Input, Needed>) => Promise<Result<Output>>
}

/** An operation that needs no server. */
export type CommandOperation<Output = unknown> = Operation<never, Output, Service>

/** What an operation is defined with. The values of `USUAL` can be left out. */
export type Defined<Of extends Pick<Operation, keyof typeof USUAL>> = Omit<Of, keyof typeof USUAL> &
  Partial<Pick<Of, 'input' | 'refusals'>> & { needs?: 'store' | 'keys' }
const USUAL = { needs: 'store', input: [], refusals: [] } as const

/** Keeps the type of the input inside of the operation. Callers give inputs that were checked by its members. */
export function defineOperation<Input = Members, Output = unknown>(
  operation: Defined<Operation<Input, Output, Service>>,
): CommandOperation<Output> {
  return { ...USUAL, ...operation }
}

/** The same for an operation that only a running server can carry out. */
export function defineServerOperation<Input = Members, Output = unknown>(
  operation: Omit<Defined<Operation<Input, Output>>, 'needs' | 'command'> & { needs: 'server'; command: null },
): Operation<never, Output> {
  return { ...USUAL, ...operation }
}

/** True if the links to the operation and its button stand out. */
export function isDangerous({ kind, command, page }: Pick<Operation, 'kind' | 'command' | 'page'>): boolean {
  return kind === 'delete' || command?.isConfirmed === true || page?.isDangerous === true
}

export function needsNoServer(operation: Operation): operation is CommandOperation {
  return operation.needs !== 'server'
}

/** A value of a record that is shown besides its members, such as its state. */
export type Display = {
  /** on pages */
  label: string
  /** the heading of its column in a terminal; without one, no list has the value */
  column?: string
  /** its name beside the record in a terminal; without one, only lists have the value */
  print?: string
  /** the member by which a list can be sorted, if its operation takes it */
  name?: string
  /** true for the name of the record */
  isTitle?: true
  /** the section of the record's page; the first one unless given */
  part?: string
  /** true for what an operator should notice. Pages show these apart */
  isWarning?: true
  shown(record: Members): Shown
}

/** A schema that the API's document names. */
export type NamedSchema = JsonSchema & { $id: string }

/** A kind of records. */
export type RecordKind = {
  name: SubjectName
  /** "client" */
  noun: string
  /** for the API's document */
  words: string
  /** the schemas that the document names, that of the records first */
  schemas: readonly [NamedSchema, ...NamedSchema[]]
  /** what a caller needs for operations that change something, unless an operation has another scope */
  scope: AdminScope
  /** the program whose settings the commands read */
  settings: 'clients' | 'grants' | 'keys'
  /** the name of the id in a record */
  idName: string
  /** what the ids are, if the service does not make them */
  ids?: { kind: 'uri' | 'wallet_or_client'; words: string }
  displays: readonly Display[]
  /** the sentence of an empty list */
  empty: string
  /** the first sentence of the page with all records; absent if the console has a page of its own for them */
  lead?: string
}

/** A kind of records with its operations. */
export type Subject = RecordKind & { operations: readonly Operation[] }

/** Columns of a list, each with the name of its member as heading. */
export function columns(...names: readonly string[]): Display[] {
  return names.map((name) => column(name.toUpperCase(), name))
}

export function column(heading: string, name: string, kind: 'text' | 'time' = 'text'): Display {
  const shown = ({ [name]: value }: Members): Shown => usualShown(value, { shape: { kind } })
  return { label: heading, column: heading, name, shown }
}

/** A time of a record, in epoch seconds. */
export function timeDisplay(name: string, label: string, others: Partial<Display> = {}): Display {
  return { label, name, ...others, shown: ({ [name]: at }) => usualShown(at, { shape: { kind: 'time' } }) }
}

/** What an operator should know about a record, one sentence each. */
export const warningsDisplay: Display = {
  label: 'Warnings',
  print: 'warning',
  column: 'WARNINGS',
  isWarning: true,
  shown: ({ warnings = [] }) => ((warnings as string[]).length > 0 ? { lines: warnings as string[] } : null),
}

/** How the members of a table are shown. */
export function displaysOf(table: Readonly<Record<string, RecordMember>>): Display[] {
  return Object.values(table).map((member) => ({
    ...member,
    print: member.print ?? member.label.toLowerCase(),
    shown: (record) => (member.shown ? member.shown(record[member.name], record) : usualShown(record[member.name], member)),
  }))
}

/** A text that a missing member would have is not shown. */
function usualShown(value: unknown, { shape, preset }: Pick<Member, 'shape' | 'preset'>): Shown {
  if (value === null || value === undefined || value === preset) return null
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (shape.kind === 'time') return { time: value as number }
  return Array.isArray(value) ? { words: value as string[] } : { exact: textOf(value) }
}

/** How pages name the id of a record. */
export function labelOfId({ displays, idName, noun }: RecordKind): string {
  return displays.find(({ name }) => name === idName)?.label ?? noun
}

/** The name of a record, or the id of a record without a name. */
export function nameOf({ displays, idName }: RecordKind, record: Members): string {
  const shown = displays.find(({ isTitle }) => isTitle)?.shown(record)
  const name = typeof shown === 'object' && shown !== null && 'exact' in shown ? shown.exact : ''
  return name || String(record[idName])
}

/** Runs the operation for the actor, and records the act. */
export async function perform<Output, Needed extends Service>(
  operation: Operation<never, Output, Needed>,
  call: Call<Members, Needed>,
): Promise<Result<Output>> {
  const result = await performUnrecorded(operation, call)
  if (result.act) await call.service.record(call.actor, result.act)
  return result
}

/** For a step of a plan, whose operations have one act together. The caller records it. */
export async function performUnrecorded<Output, Needed extends Service>(
  operation: Operation<never, Output, Needed>,
  call: Call<Members, Needed>,
): Promise<Result<Output>> {
  requireScope(call.actor, operation.scope)
  return operation.run(call as Call<never, Needed>)
}

/** The record in the output of an operation: the output itself, or the member with the name of the kind of records. */
export function recordIn({ noun }: Subject, output: unknown): Members {
  const inner = (output as Members)[noun]
  return (typeof inner === 'object' && inner !== null ? inner : output) as Members
}

/** A strong validator of a record (RFC 9110 §8.8.3). Warnings are no state of the record. */
export function etagOf(record: object): string {
  const { warnings: _, ...state } = record as Members
  return `"${createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 22)}"`
}

/** `wanted` is the validator of the record that the caller has read; undefined or `*` for any. */
export function matcher(wanted: string | undefined): (record: object | null) => void {
  return (record) => {
    if (wanted === undefined || wanted === '*' || record === null || wanted === etagOf(record)) return
    throw new Refusal('changed_meanwhile', 'The record was changed since it was read. Read it again.')
  }
}

/** The same in both directions. `read` returns the rows after the place, in the order or in the opposite order. */
export async function readBothWays<Item, Place>(
  { limit, after, before }: PageRequest,
  read: (of: { limit: number; place: Place | undefined; isBackwards: boolean }) => Promise<Item[]>,
  placeOf: (item: Item) => Place,
): Promise<{ items: Item[]; next: Place | null; previous: Place | null }> {
  const isBackwards = before !== undefined
  const place = (isBackwards ? before : after) as Place | undefined
  const rows = await read({ limit: limit + 1, place, isBackwards })
  const page = rows.slice(0, limit)
  const items = isBackwards ? page.toReversed() : page
  const [first, last] = [items[0], items.at(-1)]
  const hasMore = rows.length > limit
  return {
    items,
    next: last !== undefined && (isBackwards || hasMore) ? placeOf(last) : null,
    previous: first !== undefined && (isBackwards ? hasMore : after !== undefined) ? placeOf(first) : null,
  }
}

/** Reads one item more than a page has, so that the last page is known. */
export async function readPage<Item, Place>(
  { limit, after }: PageRequest,
  read: (limit: number, after: Place | undefined) => Promise<Item[]>,
  placeOf: (item: Item) => Place,
): Promise<{ items: Item[]; next: Place | null }> {
  const items = await read(limit + 1, after as Place | undefined)
  const page = items.slice(0, limit)
  const last = items.length > limit ? page.at(-1) : undefined
  return { items: page, next: last === undefined ? null : placeOf(last) }
}
