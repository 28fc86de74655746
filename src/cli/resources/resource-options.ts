/** The options that describe a resource, shared by `resources create` and `resources update`. */
import { CLIENT_KINDS, type ClientKind, type Resource, type ResourceScope } from '../../domain/model/records.ts'
import { resourceFaults } from '../../domain/resources/resource-faults.ts'
import { type OptionSpec, UsageError } from '../terminal/command.ts'

export const resourceOptions = {
  scope: {
    value: 'NAME=DESCRIPTION',
    repeatable: true,
    words:
      'A scope of the resource, and what an app with the scope may do: the end of the sentence "The app may …", which users read before they sign.',
  },
  'open-to': {
    value: 'KIND',
    repeatable: true,
    choices: CLIENT_KINDS,
    words:
      'A kind of clients that may request the resource; registered unless given. registered: clients of this service that list the resource (clients create --resource). metadata: every client whose id is the URL of a metadata document, if GRANTOR_CLIENT_METADATA is on. dynamic: every client of dynamic registration (RFC 7591).',
  },
} as const satisfies Record<string, OptionSpec>

export type GivenScopes = { scope: string[]; 'open-to': string[] }

export function scopesFrom({ scope }: GivenScopes): ResourceScope[] {
  return scope.map((text) => {
    const at = text.indexOf('=')
    if (at < 1)
      throw new UsageError(`--scope must be NAME=DESCRIPTION, as in --scope "notes.read=read your notes", not "${text}"`)
    return { name: text.slice(0, at), description: text.slice(at + 1).trim() }
  })
}

export function kindsFrom(options: GivenScopes): ClientKind[] {
  return CLIENT_KINDS.filter((kind) => options['open-to'].includes(kind))
}

export function requireValid(resource: Resource, refusal: string): Resource {
  const faults = resourceFaults(resource)
  if (faults.length > 0) throw new UsageError([refusal, ...faults.map((fault) => `- ${fault}`)])
  return resource
}
