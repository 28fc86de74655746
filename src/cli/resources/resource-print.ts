/** Prints resources, for people and as JSON. */
import type { Resource } from '../../domain/model/records.ts'
import { columns, facts, time } from '../terminal/print.ts'

/** Times are epoch seconds. */
export function resourceRecord({ uri, name, scopes, openTo, createdAt }: Resource) {
  return { resource: uri, name, scopes, open_to: openTo, created_at: createdAt }
}

export function resourceFacts({ uri, name, scopes, openTo, createdAt }: Resource): string[] {
  return facts([
    ['resource', uri],
    ['name', name],
    ...scopes.map((scope) => ['scope', `${scope.name}: ${scope.description}`] as const),
    ['open to', openTo.join(' ') || 'no clients'],
    ['created', time(createdAt)],
  ])
}

export function resourceTable(resources: readonly Resource[]): string[] {
  return columns(
    ['RESOURCE', 'NAME', 'OPEN TO', 'SCOPES'],
    resources.map(({ uri, name, scopes, openTo }) => [
      uri,
      name,
      openTo.join(' ') || 'no clients',
      scopes.map((scope) => scope.name).join(' '),
    ]),
  )
}
