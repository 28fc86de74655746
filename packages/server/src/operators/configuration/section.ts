/** A section of a configuration: the entries of one kind, the plan for them, and the changes of the plan. */

import { namedRow, type PlannedNames } from '../../domain/clients/deceptive-names.ts'
import type { ActName } from '../../domain/model/audit-events.ts'
import type { Fault } from '../../domain/model/fault.ts'
import type { Store } from '../../domain/model/store.ts'
import type { KeyRecord } from '../../protocol/keys/key-ring.ts'
import {
  changedNames,
  changesBetween,
  differences,
  type MemberChange,
  type Members,
  membersOf,
  namedFaults,
  type RecordMembers,
  withoutPresets,
} from '../members/member.ts'
import { type Call, type CommandOperation, type Origin, performUnrecorded } from '../operations/operation.ts'
import { Refusal } from '../operations/refusal.ts'
import type { Act, Actor, Service } from '../operations/service.ts'
import type { StoredSecret, StoredSecrets } from './stored-secrets.ts'

/** The entry in the store is not the one that the plan was made for. Nothing of this entry was changed. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'
}

/** One entry of a configuration. The reader has checked the types of the members, and nothing else. */
export type PlanEntry = {
  /** where the entry is, for messages: `clients[0] (line 3)` */
  place: string
  members: Members
}

/** Stores or shows a new secret. The record is written after the promise has resolved, so that no secret is lost. */
export type KeepSecret = (secret: NewSecret) => Promise<void>
export type NewSecret = { kind: 'client' | 'webhook'; id: string; name: string; secret: string }

type PlanAction = 'create' | 'change' | 'delete'

export type PlannedChange = {
  kind: string
  action: PlanAction
  /** the client id, or the URI of the resource */
  id: string
  name: string
  /** of a change: the members that differ */
  members: MemberChange[]
  /** true if the client or the webhook gets a secret */
  newSecret: boolean
  /** the secrets of the new record that come from the file of `--stored-secrets` */
  secretsImported: number
  /** the secrets that stop working, because the client no longer authenticates with a secret */
  secretsRemoved: number
  /** of a deletion: the active grants that end. `isMore`: there are more than `count`. */
  grantsEnded: { count: number; isMore: boolean } | null
  /** what may not work for some users after the change, or deceive them */
  warnings: readonly string[]
  /** true if the change may be carried out at the same time as its neighbours in the plan */
  isIndependent: boolean
  /** Returns how many grants ended. Throws `ChangedMeanwhile` if the entry in the store is not the one that the plan was made for. */
  carryOut(actor: Actor, keepSecret: KeepSecret): Promise<number>
}

export type PlanOfSection = { changes: PlannedChange[]; unchanged: number; faults: string[] }
export type PlanParts = {
  service: Service
  store: Store
  keys: readonly KeyRecord[]
  at: number
  prune: boolean
  /** the secrets that new clients and webhooks get in place of new ones */
  storedSecrets: StoredSecrets
  /** the entries of all kinds, by the name of their section; null for a section that the file does not have */
  sections: Readonly<Record<string, readonly PlanEntry[] | null>>
}

/** What the plan, the reader and the export need of a section. */
export type Section = {
  members: RecordMembers
  /** the most entries in one file */
  atMost: number
  plan(entries: readonly PlanEntry[], parts: PlanParts): Promise<PlanOfSection>
  /** the entries of the store, in the order of the export, without members that have the value of a missing member */
  exported(store: Store): AsyncIterable<ExportedPage>
}

export type ExportedPage = { entries: Members[]; secrets: StoredSecret[] }

/** An entry, the record of the store that the entry means, and why the entry is refused. */
export type Claim<R> = { entry: PlanEntry; before: R | null; fault?: string | undefined }

/** A change of one record. */
export type PlanStep<R> =
  | { action: 'create'; after: R; entry: PlanEntry }
  | { action: 'change'; before: R; after: R; entry: PlanEntry }
  | { action: 'delete'; before: R }

/** Performs another operation on the same record. The step has one line of the audit trail, for all its operations. */
export type RunAlso = (operation: Performed, input?: Members) => Promise<unknown>
type Performed = CommandOperation

/** What differs between the kinds of records. */
export type ConfigurationKind<R extends object> = {
  noun: string
  members: RecordMembers
  /** the most entries in one file */
  atMost: number
  /** true if each change is independent of the other changes of the kind */
  isIndependent?: true
  /** true if the store has no more records than that */
  isLimited?: true
  events: Readonly<Record<PlanAction, ActName>>
  list(store: Store): Promise<R[]>
  /** the pages of the export; those of `list` unless given */
  pages?(store: Store): AsyncIterable<R[]>
  /** how the plan and the audit trail name the record */
  naming(record: R): { id: string; name: string; act: Omit<Act, 'event'> }
  claims(entries: readonly PlanEntry[], stored: readonly R[]): Claim<R>[]
  /** the record as the entry describes it; null if the entry cannot be read as one */
  after(members: Members, before: R | null, parts: Pick<PlanParts, 'at' | 'storedSecrets'>): R | null
  faults(after: R, before: R | null, parts: PlanParts): Promise<Fault[]> | Fault[]
  /** of the records of the entries together with the others of the store, which `prune` removes after all other changes */
  faultsOfAll?(named: readonly R[], others: readonly R[], parts: PlanParts): string[]
  /** what the plan shows besides the changed members. `planned`: the names in the file. */
  effects?(step: PlanStep<R>, parts: PlanParts, planned: PlannedNames): Promise<Partial<PlannedChange>> | Partial<PlannedChange>
  /** the members of a record in the export, if they are not those of the table */
  exported?(members: Members, record: R, store: Store): Promise<Members>
  /** the secrets of a record as the store has them */
  storedSecrets?(record: R): StoredSecret[]
  /** what carries a step out: each operation is the one that the API, the console and the command line perform */
  operations: Readonly<Record<PlanAction, Performed>>
  /** Called once for each plan. What a step has besides its members, and a further check of the record in the store. */
  origins?(parts: PlanParts): (step: PlanStep<R>, keepSecret: KeepSecret) => Promise<Planned>
  /** what belongs to a change and has an operation of its own */
  finish?(step: PlanStep<R>, run: RunAlso): Promise<void>
  /** why an operation refuses a step of a plan without faults, if the refusal has no more precise reason */
  refused?: string
}

/** `accept` throws `ChangedMeanwhile` if the record is not the planned one for a reason that its members do not have. */
type Planned = { origin?: Origin; accept?(record: Members): void }

export function sectionOf<R extends object>(kind: ConfigurationKind<R>): Section {
  const { members, atMost, pages = pageOfList(kind.list), exported = async (given) => given, storedSecrets = () => [] } = kind
  return {
    members,
    atMost,
    plan: async (entries, parts) => planOf(kind, entries, parts),
    async *exported(store) {
      for await (const records of pages(store)) {
        const entries: Members[] = []
        for (const record of records)
          entries.push(await exported(withoutPresets(members, membersOf(members, record)), record, store))
        yield { entries, secrets: records.flatMap(storedSecrets) }
      }
    },
  }
}

function pageOfList<R>(list: (store: Store) => Promise<R[]>): (store: Store) => AsyncIterable<R[]> {
  return async function* (store) {
    yield await list(store)
  }
}

/** How many changes the plan reads the effects of at the same time. */
const READ_AT_ONCE = 50

async function planOf<R extends object>(
  kind: ConfigurationKind<R>,
  entries: readonly PlanEntry[],
  parts: PlanParts,
): Promise<PlanOfSection> {
  const stored = await kind.list(parts.store)
  const plan: PlanOfSection = { changes: [], unchanged: 0, faults: [] }
  const steps: PlanStep<R>[] = []
  const named: R[] = []
  const claimed = new Set<R | null>()
  for (const { entry, before, fault } of kind.claims(entries, stored)) {
    claimed.add(before)
    const after = kind.after(entry.members, before, parts)
    const isSame = after !== null && before !== null && differences(kind.members, before, after).length === 0
    if (fault !== undefined) plan.faults.push(`${entry.place}: ${fault}`)
    const faults = after === null || isSame ? [] : namedFaults(kind.members, await kind.faults(after, before, parts))
    plan.faults.push(
      ...faults.map(({ member, words }) => `${member === null ? entry.place : `${entry.place}.${member}`}: ${words}`),
    )
    if (after === null) continue
    named.push(after)
    if (isSame) plan.unchanged += 1
    else steps.push(before ? { action: 'change', before, after, entry } : { action: 'create', after, entry })
  }
  const others = stored.filter((record) => !claimed.has(record))
  plan.faults.push(...(kind.faultsOfAll?.(named, others, parts) ?? []))
  const most = named.length + others.length
  if (kind.isLimited && most > kind.atMost)
    plan.faults.push(`At most ${kind.atMost} ${kind.noun}s can be registered, and there would be ${most}. Delete some first.`)
  if (plan.faults.length > 0) return plan
  if (parts.prune) steps.push(...others.map((before) => ({ action: 'delete', before }) as const))
  const planned = new Map(named.map(kind.naming).map(({ id, name }) => [id, namedRow({ id, name })]))
  const of = { parts, planned, originOf: kind.origins?.(parts) }
  for (let i = 0; i < steps.length; i += READ_AT_ONCE) {
    const some = steps.slice(i, i + READ_AT_ONCE)
    plan.changes.push(...(await Promise.all(some.map((step) => changeOf(kind, step, of)))))
  }
  return plan
}

type OriginOf<R> = ((step: PlanStep<R>, keepSecret: KeepSecret) => Promise<Planned>) | undefined

async function changeOf<R extends object>(
  kind: ConfigurationKind<R>,
  step: PlanStep<R>,
  { parts, planned: names, originOf }: { parts: PlanParts; planned: PlannedNames; originOf: OriginOf<R> },
) {
  const { action } = step
  const { act, ...naming } = kind.naming(action === 'delete' ? step.before : step.after)
  const members = action === 'change' ? differences(kind.members, step.before, step.after) : []
  const changed = members.length > 0 && { details: { ...act.details, ...changedNames(members) } }
  const { service } = parts
  const planned = {
    kind: kind.noun,
    action,
    ...naming,
    members,
    newSecret: false,
    secretsImported: 0,
    secretsRemoved: 0,
    grantsEnded: null,
    warnings: [],
    ...(await kind.effects?.(step, parts, names)),
    isIndependent: kind.isIndependent === true,
  }
  return {
    ...planned,
    async carryOut(actor: Actor, keepSecret: KeepSecret) {
      const { origin, accept } = (await originOf?.(step, keepSecret)) ?? {}
      const call = { ...NO_PAGE, service, actor, id: planned.id, ...(origin && { origin }) }
      const grantsEnded = await carryOut(kind, step, call, accept)
      await service.record(actor, lineOf({ event: kind.events[action], ...act, ...changed }, planned, grantsEnded))
      return grantsEnded
    },
  }
}

const NO_PAGE = { page: { limit: 0, after: undefined }, idempotencyKey: undefined }

/** Performs the operations of the step. Returns how many grants ended. */
async function carryOut<R extends object>(
  kind: ConfigurationKind<R>,
  step: PlanStep<R>,
  call: Omit<Call, 'input' | 'requireMatch'>,
  accept: Planned['accept'] = () => {},
): Promise<number> {
  const requireMatch = (record: object | null): void => {
    requirePlanned(kind.members, step, record)
    if (record) accept(record as Members)
  }
  const runAlso: RunAlso = (operation, input = {}) => performUnrecorded(operation, { ...call, input, requireMatch: () => {} })
  try {
    const input = inputOf(kind.members, step)
    const { output } = await performUnrecorded(kind.operations[step.action], { ...call, input, requireMatch })
    await kind.finish?.(step, runAlso)
    return Number((output as Members | undefined)?.grants_ended ?? 0)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (step.action === 'delete' && error.missing && kind.refused === undefined) return 0
    throw new ChangedMeanwhile(kind.refused ?? whyRefused(error))
  }
}

/** The line of the audit trail. */
function lineOf(act: Act, { grantsEnded, secretsImported }: Omit<PlannedChange, 'carryOut'>, grants: number): Act {
  const details = {
    ...act.details,
    ...(grantsEnded && { grants }),
    ...(secretsImported > 0 && { secrets_imported: secretsImported }),
  }
  return { ...act, details }
}

/** A plan has no faults. So if an operation refuses a step, the store has changed since the plan. */
function whyRefused({ missing, conflict, message }: Refusal): string {
  if (missing) return 'it was deleted meanwhile'
  if (conflict === undefined) return message
  return conflict === 'taken' ? 'it was registered meanwhile' : 'others were registered meanwhile'
}

/** The members that a step gives to its operation. A picture has an operation of its own. */
function inputOf<R extends object>(table: RecordMembers, step: PlanStep<R>): Members {
  if (step.action === 'delete') return {}
  const after = membersOf(table, step.after)
  const changes = step.action === 'change' ? differences(table, step.before, step.after) : null
  const given = Object.values(table).filter(({ name, shape, given: how }) =>
    changes ? shape.kind !== 'picture' && changes.some((change) => change.name === name) : how !== 'separately',
  )
  return Object.fromEntries(given.map(({ name }) => [name, after[name]]))
}

/** Throws if the record in the store, as JSON, is not the one that the plan was made for. */
function requirePlanned<R extends object>(table: RecordMembers, step: PlanStep<R>, record: object | null): void {
  const before = step.action === 'create' ? null : membersOf(table, step.before)
  const isSame = before === null || record === null ? before === record : changesBetween(record as Members, before).length === 0
  if (!isSame) throw new ChangedMeanwhile('it was changed meanwhile')
}
