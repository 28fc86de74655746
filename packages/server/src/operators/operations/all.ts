/** Every operation. The order is that of the OpenAPI document. */
import { audit } from './audit.ts'
import { clients } from './clients.ts'
import { deliveries } from './deliveries.ts'
import { draws } from './draws.ts'
import { grants } from './grants.ts'
import { jobs } from './jobs.ts'
import { keys } from './keys.ts'
import type { Operation, Subject } from './operation.ts'
import { operators } from './operators.ts'
import { resources } from './resources.ts'
import { sessions } from './sessions.ts'
import { settings } from './settings.ts'
import { status } from './status.ts'
import type { SubjectName } from './subject-name.ts'
import { totals } from './totals.ts'
import { wallets } from './wallets.ts'
import { webhooks } from './webhooks.ts'

export const subjects: readonly Subject[] = [
  clients,
  resources,
  operators,
  grants,
  draws,
  sessions,
  wallets,
  keys,
  jobs,
  audit,
  webhooks,
  deliveries,
  settings,
  totals,
  status,
]

export const operations: readonly Operation[] = subjects.flatMap((subject) => subject.operations)

export function subjectOf(name: SubjectName): Subject {
  const found = subjects.find((subject) => subject.name === name)
  if (!found) throw new Error(`there is no subject ${name}`)
  return found
}
