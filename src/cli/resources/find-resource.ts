/** Finds the resource that an operator named, or reports in one line that it does not exist. */
import type { Resource } from '../../domain/model/records.ts'
import { CommandError } from '../terminal/command.ts'

export const RESOURCE_OPERAND = { name: 'RESOURCE', words: 'The URI of the resource, from grantor resources list.' } as const

export function requireFound(resource: Resource | null, uri: string): Resource {
  if (resource) return resource
  throw new CommandError(`no resource is registered as ${JSON.stringify(uri)}; see: grantor resources list`)
}
