/** Prints a plan, for people and as JSON. */

import type { Plan } from '../../configuration/plan.ts'
import type { PlannedChange } from '../../configuration/section.ts'
import type { MemberChange } from '../../members/member.ts'
import { formatCount, shorten } from '../print.ts'

/** In characters. A longer value is shortened. */
const VALUE_AT_MOST = 200

export function planLines(plan: Plan): string[] {
  return [...plan.changes.flatMap(changeLines), summary(plan)]
}

export function titleOf({ kind, action, id, name }: Pick<PlannedChange, 'kind' | 'action' | 'id' | 'name'>): string {
  return `${action} ${kind} ${JSON.stringify(name)} (${id})`
}

function changeLines(change: PlannedChange): string[] {
  return [titleOf(change), ...change.members.flatMap(memberLines), ...effects(change).map((effect) => `  ${effect}`)]
}

/** Lists show what is added and removed, and other members the old and the new value. */
function memberLines({ name, before, after }: MemberChange): string[] {
  if (!Array.isArray(before) || !Array.isArray(after)) return [`  ${name}: ${valueText(before)} → ${valueText(after)}`]
  const [old, now] = [before, after].map((list: unknown[]) => list.map((item) => JSON.stringify(item))) as [string[], string[]]
  const removed = old.filter((item) => !now.includes(item)).map((item) => `  ${name}: removes ${shorten(item, VALUE_AT_MOST)}`)
  const added = now.filter((item) => !old.includes(item)).map((item) => `  ${name}: adds ${shorten(item, VALUE_AT_MOST)}`)
  return removed.length + added.length > 0 ? [...removed, ...added] : [`  ${name}: ${valueText(before)} → ${valueText(after)}`]
}

function effects({ kind, newSecret, secretsImported, secretsRemoved, grantsEnded, warnings }: PlannedChange): string[] {
  return [
    ...(newSecret ? [`gets a ${kind} secret`] : []),
    ...(secretsImported > 0 ? [`keeps ${formatCount(secretsImported, `${kind} secret`)} of the file`] : []),
    ...(secretsRemoved > 0 ? [`${formatCount(secretsRemoved, 'client secret')} of it stop working`] : []),
    ...(grantsEnded ? [`ends ${grantsEnded.isMore ? 'more than ' : ''}${formatCount(grantsEnded.count, 'active grant')}`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ]
}

function summary({ changes, unchanged }: Plan): string {
  const count = (action: PlannedChange['action']) => changes.filter((change) => change.action === action).length
  return `Plan: ${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete, ${unchanged} unchanged.`
}

/** One object for each change, without the functions. */
export function planRecord({ changes, unchanged }: Plan) {
  return {
    changes: changes.map(
      ({ kind, action, id, name, members, newSecret, secretsImported, secretsRemoved, grantsEnded, warnings }) => ({
        kind,
        action,
        id,
        name,
        members,
        new_secret: newSecret,
        secrets_imported: secretsImported,
        secrets_removed: secretsRemoved,
        grants_ended: grantsEnded && { at_least: grantsEnded.count, is_more: grantsEnded.isMore },
        ...(warnings.length > 0 && { warnings }),
      }),
    ),
    unchanged,
  }
}

function valueText(value: unknown): string {
  return shorten(JSON.stringify(value), VALUE_AT_MOST)
}
