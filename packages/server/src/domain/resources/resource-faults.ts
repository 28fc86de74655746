/** Checks a resource before it is registered or changed. Each fault names a member of the resource, and is one line. */

import { isScopeName } from '@grantor/protocol/scope'
import { limitFaults } from '../../protocol/oauth/limit-faults.ts'
import { isSignableResourceUri } from '../../protocol/oauth/resource-uri.ts'
import { isStandardScope } from '../../protocol/oauth/standard-scopes.ts'
import { hasInvisible, visibleText } from '../../protocol/oauth/visible-text.ts'
import type { Fault } from '../model/fault.ts'
import type { Resource } from '../model/records.ts'
import { wordsFaults } from './scope-words.ts'

const SCOPES_AT_MOST = 100
/** In characters. Each node keeps all descriptions in memory, and pages show them on one or two lines. */
const DESCRIPTION_AT_MOST = 200
const NAME_AT_MOST = 80

export type ResourceFault = Fault<keyof Resource>

export function resourceFaults({ uri, name, scopes }: Resource): ResourceFault[] {
  const faults: ResourceFault[] = []
  if (!isSignableResourceUri(uri))
    faults.push(
      fault(
        'uri',
        `Resource ${JSON.stringify(uri)} is not an absolute URI without fragment, quotes and percent signs (RFC 8707 section 2).`,
      ),
    )
  if (!isReadable(name, NAME_AT_MOST))
    faults.push(fault('name', `A resource needs a name of at most ${NAME_AT_MOST} characters, none of them invisible.`))
  if (scopes.length === 0) faults.push(fault('scopes', 'A resource needs at least one scope.'))
  if (scopes.length > SCOPES_AT_MOST) faults.push(fault('scopes', `A resource has at most ${SCOPES_AT_MOST} scopes.`))
  const names = scopes.map((scope) => scope.name)
  for (const twice of new Set(names.filter((each, index) => names.indexOf(each) !== index)))
    faults.push(fault('scopes', `Scope ${JSON.stringify(twice)} is given more than once.`))
  return [
    ...faults,
    ...scopes
      .slice(0, SCOPES_AT_MOST)
      .flatMap(scopeFaults)
      .map((words) => fault('scopes', words)),
  ]
}

function fault(member: keyof Resource, words: string): ResourceFault {
  return { member, words }
}

function scopeFaults({ name, description, limit }: Resource['scopes'][number]): string[] {
  const shown = JSON.stringify(name)
  if (!isScopeName(name)) return [`Scope ${shown} is not 1 to 64 of A-Z a-z 0-9 . _ -`]
  if (isStandardScope(name)) return [`Scope ${shown} is defined by the service and belongs to every resource.`]
  if (!isReadable(description, DESCRIPTION_AT_MOST))
    return [`Scope ${shown} needs a description of 1 to ${DESCRIPTION_AT_MOST} characters, none of them invisible.`]
  const faults = [...wordsFaults(description), ...(limit === undefined ? [] : limitFaults(limit).map(({ words }) => words))]
  return faults.map((words) => `The limit of scope ${shown} is refused: ${words}`)
}

/** Users read names and descriptions before they sign, so an invisible character could change what they read. */
function isReadable(text: string, atMost: number): boolean {
  return visibleText(text) !== '' && [...text].length <= atMost && !hasInvisible(text)
}
