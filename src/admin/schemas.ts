/** The JSON Schemas of the admin API. Times are epoch seconds. */
import { type TSchema, Type } from 'typebox'
import { clientMembers, type Member, type MemberTable, resourceMembers, type Shape } from '../domain/configuration/members.ts'
import { OPERATOR_ROLES } from '../domain/model/records.ts'

const time = Type.Integer({ minimum: 0, description: 'Epoch seconds.' })
const timeOrNull = Type.Union([time, Type.Null()])
const uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
const uri = Type.String({ maxLength: 2000 })

/** The address of a wallet. Mixed case must be the EIP-55 form. */
export const walletSchema = Type.String({ pattern: '^0x[0-9A-Fa-f]{40}$', description: 'The address of a wallet (EIP-55).' })

/** The schemas that the document names; operations refer to them by `ref`. */
export const namedSchemas: TSchema[] = []

/** Adds a schema of responses to the named schemas of the document, and returns a reference to it. */
function addNamedSchema(name: string, schema: TSchema): TSchema {
  namedSchemas.push({ ...schema, $id: name })
  return { $ref: `${name}#` }
}

export const problemSchema = addNamedSchema(
  'Problem',
  Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer(),
      code: Type.String({ description: 'For programs.' }),
      detail: Type.String({ description: 'For people.' }),
      faults: Type.Optional(Type.Array(Type.String())),
      request_id: Type.String(),
    },
    { description: 'RFC 9457' },
  ),
)

export const parserRefusalSchema = Type.Object({ error: Type.String(), error_description: Type.String() })

/** A page of a list. */
export function pageOf(item: TSchema) {
  return Type.Object({
    items: Type.Array(item),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'The parameter `after` of the next page; null after the last page.',
    }),
  })
}

const LIMIT_AT_MOST = 100
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMIT_AT_MOST, description: 'The maximum number of items in a page; 50 unless given.' }),
  ),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'The member `next` of the previous page.' })),
}

export const idParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }, { additionalProperties: false })
export const uriParams = Type.Object(
  { id: Type.String({ minLength: 1, maxLength: 2000, description: 'The URI, percent-encoded.' }) },
  { additionalProperties: false },
)

const MEMBERS = { additionalProperties: false } as const

/** The members that a caller may send. A new record must have the required members, and a change must have at least one member. */
function givenSchema(table: MemberTable, excluded: readonly string[], purpose: 'create' | 'change') {
  const isNew = purpose === 'create'
  const members = Object.entries(table).filter(([name]) => !excluded.includes(name))
  const properties = members.map(([name, member]) => {
    const schema = schemaOf(member)
    return [name, isNew && member.required ? schema : Type.Optional(schema)] as const
  })
  return Type.Object(Object.fromEntries(properties), isNew ? MEMBERS : { ...MEMBERS, minProperties: 1 })
}

function storedSchema(table: MemberTable, others: Record<string, TSchema>) {
  const properties = Object.entries(table).map(([name, member]) => [name, schemaOf(member)] as const)
  return Type.Object({ ...Object.fromEntries(properties), ...others })
}

function schemaOf({ shape, nullable }: Member): TSchema {
  const schema = schemaOfShape(shape)
  return nullable ? Type.Union([schema, Type.Null()]) : schema
}

function schemaOfShape(shape: Shape): TSchema {
  switch (shape.kind) {
    case 'text':
      return shape.choices ? Type.Enum([...shape.choices]) : Type.String({ maxLength: 2000 })
    case 'texts':
      return Type.Array(shape.choices ? Type.Enum([...shape.choices]) : Type.String({ maxLength: 2000 }), { maxItems: 200 })
    case 'flag':
      return Type.Boolean()
    case 'key_set':
      return Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 20 }) })
    case 'scopes':
      return Type.Array(
        Type.Object({ name: Type.String({ maxLength: 64 }), description: Type.String({ maxLength: 200 }) }, MEMBERS),
        { maxItems: 100 },
      )
  }
}

export const newClientSchema = givenSchema(clientMembers, ['client_id', 'disabled'], 'create')
export const clientChangesSchema = givenSchema(clientMembers, ['client_id', 'type'], 'change')
export const clientSchema = addNamedSchema(
  'Client',
  storedSchema(clientMembers, {
    client_id: uuid,
    secrets: Type.Array(Type.Object({ expires_at: timeOrNull }), {
      description: 'The secrets that are valid, without the secrets themselves.',
    }),
    created_at: time,
    disabled_at: timeOrNull,
  }),
)
export const createdClientSchema = Type.Object({
  client: clientSchema,
  client_secret: Type.Union([Type.String(), Type.Null()], {
    description: 'Sent once, never stored. Null for a client without a secret.',
  }),
})
export const shownClientSchema = Type.Object({
  client: clientSchema,
  unended_grants: Type.Integer({ description: 'The grants that have not ended, counted up to 10,000.' }),
})
export const rotationSchema = Type.Object(
  {
    overlap: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_592_000,
        description: 'Seconds for which the present secret stays valid; 86400 unless given.',
      }),
    ),
  },
  MEMBERS,
)

export const newResourceSchema = givenSchema(resourceMembers, [], 'create')
export const resourceChangesSchema = givenSchema(resourceMembers, ['resource'], 'change')
export const resourceSchema = addNamedSchema('Resource', storedSchema(resourceMembers, { created_at: time }))

export const operatorSchema = addNamedSchema(
  'Operator',
  Type.Object({
    operator: Type.String({ description: 'The address of a wallet, or a client id.' }),
    role: Type.Enum([...OPERATOR_ROLES]),
    created_at: time,
  }),
)
export const roleSchema = Type.Object({ role: Type.Enum([...OPERATOR_ROLES]) }, MEMBERS)

export const grantSchema = addNamedSchema(
  'Grant',
  Type.Object({
    grant_id: Type.String(),
    client_id: Type.String(),
    wallet: walletSchema,
    scopes: Type.Array(Type.String()),
    resources: Type.Array(uri),
    scopes_by_resource: Type.Union([Type.Record(Type.String(), Type.Array(Type.String())), Type.Null()], {
      description: 'The scopes of each resource; null if every resource has every scope.',
    }),
    state: Type.Enum(['active', 'expired', 'ended']),
    created_at: time,
    refreshed_at: time,
    expires_at: time,
    ended_at: timeOrNull,
    end_reason: Type.Union([Type.String(), Type.Null()]),
  }),
)
export const receiptSchema = addNamedSchema(
  'Receipt',
  Type.Object({
    receipt_id: Type.String(),
    wallet: walletSchema,
    client_id: Type.String(),
    issued_at: time,
    expires_at: time,
    withdrawn_at: timeOrNull,
    message: Type.String({ description: 'The text that the wallet signed.' }),
    signature: Type.String(),
  }),
)
export const sessionSchema = addNamedSchema(
  'Session',
  Type.Object({
    session_id: Type.String({ description: 'Identifies the session for this API. The id gives no access to the session.' }),
    wallet: walletSchema,
    method: Type.String({ description: 'How the wallet signed in.' }),
    signed_in_at: time,
    last_seen_at: time,
    expires_at: time,
  }),
)
export const endedSchema = Type.Object({ grants_ended: Type.Integer() })

export const KEY_KINDS = ['sign', 'sign_es256', 'sign_rs256', 'sign_eddsa', 'seal', 'mac'] as const
export const keySchema = addNamedSchema(
  'Key',
  Type.Object({
    key_id: Type.String(),
    kind: Type.Enum([...KEY_KINDS]),
    algorithm: Type.String(),
    state: Type.Enum(['announced', 'makes', 'opens', 'retired']),
    created_at: time,
    starts_at: time,
    opens_until: timeOrNull,
    retired_at: timeOrNull,
  }),
)

export const jobSchema = addNamedSchema(
  'Job',
  Type.Object({
    job_id: uuid,
    kind: Type.Enum(['end_grants_of_client', 'delete_client']),
    client_id: Type.String(),
    started_by: Type.String(),
    created_at: time,
    grants_ended: Type.Integer(),
    done_at: timeOrNull,
  }),
)

const auditText = Type.Optional(Type.String())
export const auditLineSchema = addNamedSchema(
  'AuditLine',
  Type.Object(
    {
      seq: Type.Integer({ description: 'The number of the line, without gaps.' }),
      id: Type.String(),
      at: time,
      event: Type.String(),
      result: Type.Enum(['done', 'refused']),
      reason: auditText,
      operator: auditText,
      client_id: auditText,
      grant_id: auditText,
      wallet: Type.Optional(Type.String({ description: 'Shortened.' })),
      key_id: auditText,
      resource: auditText,
      request_id: auditText,
      network: Type.Optional(Type.String({ description: "The first part of the caller's address." })),
      details: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
      hash: Type.String({ description: 'SHA-256 over the hash of the line before and this line, base64url.' }),
    },
    { description: 'A line of the audit trail. A member without a value is absent.' },
  ),
)
