/** The entries of a configuration, and the changes that a plan consists of. */

import type { Store } from '../../domain/model/store.ts'
import type { KeyRecord } from '../../keys/key-ring.ts'
import {
  changedNames,
  changesBetween,
  type MemberChange,
  type Members,
  membersOf,
  type RecordMembers,
} from '../members/member.ts'
import type { Act, Service } from '../service.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'

/** One entry of a configuration. The reader has checked the types of the members, and nothing else. */
export type Entry = {
  /** where the entry is, for messages: `clients[0] (line 3)` */
  place: string
  members: Members
}

export type Outcome = { grantsEnded: number }
/** Stores or shows a new secret. The function is called before the record is written, so that no secret is lost. */
export type KeepSecret = (secret: NewSecret) => void
export type NewSecret = { kind: 'client' | 'webhook'; id: string; name: string; secret: string }

export type PlannedChange = {
  kind: string
  action: 'create' | 'change' | 'delete'
  /** the client id, or the URI of the resource */
  id: string
  name: string
  /** of a change: the members that differ */
  members: MemberChange[]
  /** true if the client or the webhook gets a secret */
  newSecret: boolean
  /** the secrets that stop working, because the client no longer authenticates with a secret */
  secretsRemoved: number
  /** of a deletion: the active grants that end. `isMore`: there are more than `count`. */
  grantsEnded: { count: number; isMore: boolean } | null
  /** the line of the audit trail; a deletion adds how many grants ended */
  act: Act
  /** Throws `ChangedMeanwhile` if the entry in the store is not the one that the plan was made for. */
  carryOut(at: number, keepSecret: KeepSecret): Promise<Outcome>
}

export type PlanOfKind = { changes: PlannedChange[]; unchanged: number; faults: string[] }
export type PlanParts = {
  service: Service
  store: Store
  keys: readonly KeyRecord[]
  at: number
  prune: boolean
  /** the entries of all kinds, by the name of their section; null for a section that the file does not have */
  sections: Readonly<Record<string, readonly Entry[] | null>>
}

/** What the plan, the reader and the export need of a kind of entries. */
export type Kind = {
  members: RecordMembers
  /** the most entries in one file */
  atMost: number
  plan(entries: readonly Entry[], parts: PlanParts): Promise<PlanOfKind>
  /** the entries of the store, in the order of the export */
  exported(store: Store): Promise<Members[]>
}

type Described = Pick<PlannedChange, 'kind' | 'action' | 'id' | 'name' | 'act'> & Partial<Omit<PlannedChange, 'carryOut'>>

/** A change with the usual values of what it does not have. The names of the changed members are in the audit trail. */
export function describe({ act, members = [], ...change }: Described): Omit<PlannedChange, 'carryOut'> {
  const details = members.length === 0 ? {} : { details: changedNames(members.map(({ name }) => name)) }
  return { newSecret: false, secretsRemoved: 0, grantsEnded: null, ...change, members, act: { ...details, ...act } }
}

/** The members in which two records differ. */
export function differences(table: RecordMembers, before: object, after: object): MemberChange[] {
  return changesBetween(membersOf(table, before), membersOf(table, after))
}

/** Throws if the record in the store is not the one that the plan was made for. */
export function requireSame(table: RecordMembers, before: object, present: object): void {
  if (differences(table, before, present).length > 0) throw new ChangedMeanwhile('it was changed meanwhile')
}
