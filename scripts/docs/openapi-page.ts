/** The OpenAPI document of the admin API, as the admin server serves it, and a page with its operations. */

import { version } from '../../packages/server/src/app/compose/version.ts'
import { createLogger } from '../../packages/server/src/observability/log/logger.ts'
import type { Admin } from '../../packages/server/src/operators/api/admin.ts'
import { createAdminServer } from '../../packages/server/src/operators/api/server.ts'
import { table } from './errors-page.ts'

type Schema = {
  $ref?: string
  type?: string
  description?: string
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: readonly string[]
}
type Content = Record<string, { schema: Schema }>
type Operation = {
  summary: string
  description?: string
  tags: readonly string[]
  security: readonly { oauth: readonly string[] }[]
  parameters?: readonly { name: string; in: string; required?: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
export type OpenapiDocument = {
  info: { title: string; version: string; description: string }
  tags: readonly { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** The document names example origins. No operation runs, so the server needs no store. */
export async function openapiDocument(): Promise<OpenapiDocument> {
  const admin = {
    adminUrl: 'https://admin.example.com',
    deps: { settings: { authUrl: 'https://auth.example.com' } },
    version: version(),
    logger: createLogger({ level: 'silent' }),
    settings: [],
    loginSecrets: [],
    trustedProxies: [],
  } as unknown as Admin
  const server = createAdminServer(admin, () => undefined)
  const answer = await server.inject({ url: '/openapi.json' })
  await server.close()
  return answer.json<OpenapiDocument>()
}

export function openapiPage({ info, tags, paths, components }: OpenapiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, ...operation })),
  )
  return [
    '# The operations of the admin API',
    `${info.description} This page is made from the OpenAPI document of version ${info.version}: [admin-openapi.json](admin-openapi.json).`,
    ...tags.flatMap(({ name, description }) => [
      `## ${capitalized(name)}`,
      `${description}.`,
      ...operations.filter((operation) => operation.tags.includes(name)).flatMap(operationSection),
    ]),
    '## Schemas',
    ...Object.entries(components.schemas).flatMap(([name, schema]) => [`### ${name}`, ...textOf(schema), ...members(schema)]),
  ]
    .join('\n\n')
    .concat('\n')
}

function operationSection({
  title,
  summary,
  description,
  security,
  parameters = [],
  requestBody,
  responses,
}: Operation & { title: string }) {
  const body = requestBody?.content['application/json']?.schema
  return [
    `### \`${title}\``,
    [summary, description].filter(Boolean).join(' '),
    `Scope: ${security.flatMap(({ oauth }) => oauth.map((scope) => `\`${scope}\``)).join(', ')}`,
    ...(parameters.length === 0
      ? []
      : [
          table(
            ['parameter', 'in', 'type', 'meaning'],
            parameters.map((each) => [named(each.name, each.required), each.in, typeOf(each.schema), cell(each.description)]),
          ),
        ]),
    ...(body ? ['The body has these members:', ...members(body)] : []),
    table(
      ['status', 'response', 'body'],
      Object.entries(responses).map(([status, { description: means, content = {} }]) => [
        status,
        cell(means),
        Object.values(content)
          .map(({ schema }) => typeOf(schema))
          .join(', '),
      ]),
    ),
  ]
}

function members({ properties = {}, required = [] }: Schema): string[] {
  const rows = Object.entries(properties)
  if (rows.length === 0) return []
  const cells = rows.map(([name, schema]) => [named(name, required.includes(name)), typeOf(schema), cell(schema.description)])
  return [table(['member', 'type', 'meaning'], cells)]
}

/** The type in one cell: a schema of its own is a link to its section. */
function typeOf({ $ref, type = 'any', enum: values, anyOf, items, properties }: Schema): string {
  const reference = $ref?.split('/').at(-1)
  if (reference !== undefined) return `[${reference}](#${reference.toLowerCase()})`
  if (values) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (anyOf) return anyOf.map(typeOf).join(' or ')
  if (items) return `array of ${typeOf(items)}`
  if (properties)
    return `object: ${Object.entries(properties)
      .map(([name, each]) => `\`${name}\` (${typeOf(each)})`)
      .join(', ')}`
  return type
}

const named = (name: string, isRequired = false): string => `\`${name}\`${isRequired ? '' : ' (optional)'}`
const textOf = ({ description }: Schema): string[] => (description === undefined ? [] : [description])
const cell = (text = ''): string => text.replaceAll('|', '\\|')
const capitalized = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`
