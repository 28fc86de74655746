/** Every operation. The order is that of the OpenAPI document. */
import { audit, auditLineSchema } from './audit.ts'
import { clientSchema, clients } from './clients.ts'
import { grantSchema, grants, receiptSchema } from './grants.ts'
import { jobSchema, jobs } from './jobs.ts'
import { keySchema, keys } from './keys.ts'
import type { Operation, Subject } from './operation.ts'
import { operatorSchema, operators } from './operators.ts'
import { resourceSchema, resources } from './resources.ts'
import { sessionSchema, sessions } from './sessions.ts'
import type { SubjectName } from './subject-name.ts'
import { webhookSchema, webhooks } from './webhooks.ts'

export const subjects: readonly Subject[] = [clients, resources, operators, grants, sessions, keys, jobs, audit, webhooks]

/** The schemas that the document names. */
export const recordSchemas = [
  clientSchema,
  resourceSchema,
  operatorSchema,
  grantSchema,
  receiptSchema,
  sessionSchema,
  keySchema,
  jobSchema,
  auditLineSchema,
  webhookSchema,
]

export const operations: readonly Operation[] = subjects.flatMap((subject) => subject.operations)

export function subjectOf(name: SubjectName): Subject {
  const found = subjects.find((subject) => subject.name === name)
  if (!found) throw new Error(`there is no subject ${name}`)
  return found
}
