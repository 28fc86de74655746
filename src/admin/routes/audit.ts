/** Searches the audit trail. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { searchAudit } from '../../domain/audit/search.ts'
import type { AuditLine } from '../../domain/model/audit-store.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { createPaging } from '../paging.ts'
import { auditLineRecord } from '../records.ts'
import { auditLineSchema, pageOf, pageQuery, walletSchema } from '../schemas.ts'
import { walletOf } from '../wallet.ts'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 2000, description }))
/** Until the year 9999. */
const LATEST = 253_402_300_799
const time = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: LATEST, description }))

const query = Type.Object(
  {
    wallet: Type.Optional(walletSchema),
    client_id: text('The client.'),
    grant_id: text('The grant.'),
    operator: text('Who acted: an address, a client id, or `cli:NAME` for a command.'),
    event: text('The kind of line, such as `client_deleted`.'),
    reason: text('The reason of a refusal or of an ending.'),
    since: time('Only lines of this second and later.'),
    until: time('Only lines before this second.'),
    ...pageQuery,
  },
  { additionalProperties: false },
)

export function auditRoutes(server: FastifyInstance, admin: Admin): void {
  const { store } = admin
  const page = createPaging<Pick<AuditLine, 'at' | 'seq'>>(admin, 'audit')

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/audit',
      id: 'searchAudit',
      tag: 'audit',
      summary: 'Searches the audit trail, newest first.',
      description: 'Several conditions must all hold. `grantor audit export` writes the whole trail with its hashes.',
      scope: 'admin.audit',
      query,
      answers: { 200: { description: 'A page of lines.', schema: pageOf(auditLineSchema) } },
    },
    async ({ query: { wallet, client_id: clientId, grant_id: grantId, limit, after, ...given } }) => {
      const filter = { ...given, clientId, grantId, ...(wallet !== undefined && { wallet: walletOf(wallet) }) }
      const { items, next } = await page(
        { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }) },
        (atMost, before) => searchAudit(store.audit, filter, { limit: atMost, before }),
        ({ at, seq }) => ({ at, seq }),
      )
      return { items: items.map(auditLineRecord), next }
    },
  )
}
