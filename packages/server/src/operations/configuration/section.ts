/** A section of a configuration: the entries of one kind, the plan for them, and the changes of the plan. */

import type { ActName } from '../../domain/model/audit-events.ts'
import { type Fault, wordsOf } from '../../domain/model/fault.ts'
import type { Store } from '../../domain/model/store.ts'
import type { KeyRecord } from '../../keys/key-ring.ts'
import {
  changedNames,
  differences,
  type MemberChange,
  type Members,
  membersOf,
  type RecordMembers,
  withoutPresets,
} from '../members/member.ts'
import type { Act, Service } from '../service.ts'
import type { StoredSecret, StoredSecrets } from './stored-secrets.ts'

/** The entry in the store is not the one that the plan was made for. Nothing of this entry was changed. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'
}

/** One entry of a configuration. The reader has checked the types of the members, and nothing else. */
export type Entry = {
  /** where the entry is, for messages: `clients[0] (line 3)` */
  place: string
  members: Members
}

/** Stores or shows a new secret. The record is written after the promise has resolved, so that no secret is lost. */
export type KeepSecret = (secret: NewSecret) => Promise<void>
export type NewSecret = { kind: 'client' | 'webhook'; id: string; name: string; secret: string }

type Action = 'create' | 'change' | 'delete'

export type PlannedChange = {
  kind: string
  action: Action
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
  /** what may not work for some users after the change */
  warnings: readonly string[]
  /** the line of the audit trail; a deletion adds how many grants ended */
  act: Act
  /** true if the change may be carried out at the same time as its neighbours in the plan */
  isIndependent: boolean
  /** Returns how many grants ended. Throws `ChangedMeanwhile` if the entry in the store is not the one that the plan was made for. */
  carryOut(at: number, keepSecret: KeepSecret): Promise<number>
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
  sections: Readonly<Record<string, readonly Entry[] | null>>
}

/** What the plan, the reader and the export need of a section. */
export type Section = {
  members: RecordMembers
  /** the most entries in one file */
  atMost: number
  plan(entries: readonly Entry[], parts: PlanParts): Promise<PlanOfSection>
  /** the entries of the store, in the order of the export, without members that have the value of a missing member */
  exported(store: Store): AsyncIterable<ExportedPage>
}

export type ExportedPage = { entries: Members[]; secrets: StoredSecret[] }

/** An entry, the record of the store that the entry means, and why the entry is refused. */
export type Claim<R> = { entry: Entry; before: R | null; fault?: string | undefined }

/** A change of one record. */
export type Step<R> =
  | { action: 'create'; after: R; entry: Entry }
  | { action: 'change'; before: R; after: R; entry: Entry }
  | { action: 'delete'; before: R }

/** Makes the change in the store, and returns how many grants ended. Throws `ChangedMeanwhile` if the record is not the planned one. */
type CarryOut<R> = (step: Step<R>, at: number, keepSecret: KeepSecret) => Promise<number>

/** What differs between the kinds of records. */
export type Kind<R extends object> = {
  noun: string
  members: RecordMembers
  /** the most entries in one file */
  atMost: number
  /** true if each change is independent of the other changes of the kind */
  isIndependent?: true
  /** true if the store has no more records than that */
  isLimited?: true
  events: Readonly<Record<Action, ActName>>
  list(store: Store): Promise<R[]>
  /** the pages of the export; those of `list` unless given */
  pages?(store: Store): AsyncIterable<R[]>
  /** how the plan and the audit trail name the record */
  naming(record: R): { id: string; name: string; act: Omit<Act, 'event'> }
  claims(entries: readonly Entry[], stored: readonly R[]): Claim<R>[]
  /** the record as the entry describes it; null if the entry cannot be read as one */
  after(members: Members, before: R | null, parts: Pick<PlanParts, 'at' | 'storedSecrets'>): R | null
  faults(after: R, before: R | null, parts: PlanParts): Promise<Fault[]> | Fault[]
  /** of the records of the entries together with the others of the store, which `prune` removes after all other changes */
  faultsOfAll?(named: readonly R[], others: readonly R[], parts: PlanParts): string[]
  /** what the plan shows besides the changed members */
  effects?(step: Step<R>, parts: PlanParts): Promise<Partial<PlannedChange>> | Partial<PlannedChange>
  /** the members of a record in the export, if they are not those of the table */
  exported?(members: Members, record: R, store: Store): Promise<Members>
  /** the secrets of a record as the store has them */
  storedSecrets?(record: R): StoredSecret[]
  /** called once for each plan */
  carryOut(parts: PlanParts): CarryOut<R>
}

export function sectionOf<R extends object>(kind: Kind<R>): Section {
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

async function planOf<R extends object>(kind: Kind<R>, entries: readonly Entry[], parts: PlanParts): Promise<PlanOfSection> {
  const stored = await kind.list(parts.store)
  const plan: PlanOfSection = { changes: [], unchanged: 0, faults: [] }
  const steps: Step<R>[] = []
  const named: R[] = []
  const claimed = new Set<R | null>()
  for (const { entry, before, fault } of kind.claims(entries, stored)) {
    claimed.add(before)
    const after = kind.after(entry.members, before, parts)
    const isSame = after !== null && before !== null && differences(kind.members, before, after).length === 0
    const faults = after === null || isSame ? [] : wordsOf(await kind.faults(after, before, parts))
    plan.faults.push(...(fault === undefined ? faults : [fault, ...faults]).map((each) => `${entry.place}: ${each}`))
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
  const carryOut = kind.carryOut(parts)
  for (let i = 0; i < steps.length; i += READ_AT_ONCE) {
    const some = steps.slice(i, i + READ_AT_ONCE)
    plan.changes.push(...(await Promise.all(some.map((step) => changeOf(kind, step, parts, carryOut)))))
  }
  return plan
}

async function changeOf<R extends object>(kind: Kind<R>, step: Step<R>, parts: PlanParts, carryOut: CarryOut<R>) {
  const { action } = step
  const { act, ...naming } = kind.naming(action === 'delete' ? step.before : step.after)
  const members = action === 'change' ? differences(kind.members, step.before, step.after) : []
  const changed = members.length > 0 && { details: { ...act.details, ...changedNames(members) } }
  return {
    kind: kind.noun,
    action,
    ...naming,
    members,
    newSecret: false,
    secretsImported: 0,
    secretsRemoved: 0,
    grantsEnded: null,
    warnings: [],
    ...(await kind.effects?.(step, parts)),
    act: { event: kind.events[action], ...act, ...changed },
    isIndependent: kind.isIndependent === true,
    carryOut: async (at: number, keepSecret: KeepSecret) => carryOut(step, at, keepSecret),
  }
}

/** Throws if the record in the store is not the one that the plan was made for. */
export function requireSame(table: RecordMembers, before: object, present: object): void {
  if (differences(table, before, present).length > 0) throw new ChangedMeanwhile('it was changed meanwhile')
}

/** How a store changes records one by one. `closed` is the record without an effect, which is stored before the record is deleted. */
type OneByOne<R> = {
  insert(after: R, at: number, keepSecret: KeepSecret): Promise<'inserted' | 'taken' | 'full'>
  change(id: string, change: (present: R) => R): Promise<R | null>
  delete(id: string): Promise<unknown>
  idOf(record: R): string
  closed?: (present: R) => R
}

/** The changes of a kind without grants. A record is compared with the plan in the same change that the plan makes. */
export function oneByOne<R extends object>(table: RecordMembers, store: OneByOne<R>): CarryOut<R> {
  return async (step, at, keepSecret) => {
    if (step.action === 'create') {
      const outcome = await store.insert(step.after, at, keepSecret)
      if (outcome === 'taken') throw new ChangedMeanwhile('it was registered meanwhile')
      if (outcome === 'full') throw new ChangedMeanwhile('others were registered meanwhile')
      return 0
    }
    const changed = await store.change(store.idOf(step.before), (present) => {
      requireSame(table, step.before, present)
      return step.action === 'change' ? { ...present, ...step.after } : (store.closed?.(present) ?? present)
    })
    if (step.action === 'delete') await store.delete(store.idOf(step.before))
    else if (changed === null) throw new ChangedMeanwhile('it was deleted meanwhile')
    return 0
  }
}
