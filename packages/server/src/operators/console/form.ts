/**
 * Forms of the console. A post is accepted only from a page of the console: browsers send the origin of the page, and the form contains a
 * sealed token that names the session and the address of the form. So a page of another site, another operator's form and a form for another
 * change are all refused.
 */
import type { FastifyRequest } from 'fastify'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import { type Form, parseForm } from '../../protocol/oauth/form.ts'
import type { Admin } from '../api/admin.ts'
import { Problem } from '../api/problem.ts'

type FormOf = { grantId: string; path: string }
const TOKEN: SealedFormat<FormOf> = sealedFormat('consoleForm')

export function formTokenOf({ deps }: Admin, form: FormOf): string {
  return TOKEN.seal(deps.keys, form)
}

/** A form that was sent from a page of this console. `grantId`: of the session to which the page was shown. */
export type SentForm = { fields: FormFields; grantId: string }

/** Throws unless the request is a form that `formTokenOf` made for this address. The session may be over by now. */
export function requireForm(admin: Admin, request: FastifyRequest, path: string): SentForm {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (origin !== admin.adminUrl || (site !== undefined && site !== 'same-origin'))
    throw new Problem('forbidden', 'The form did not come from a page of this console.')
  const fields = fieldsOf(request)
  const token = TOKEN.open(admin.deps.keys, fields.text('form_token'))
  if (token?.path !== path) throw ofAnother()
  return { fields, grantId: token.grantId }
}

/** Throws unless the request is a form that `formTokenOf` made for this session and this address. */
export function requirePost(admin: Admin, request: FastifyRequest, expected: FormOf): FormFields {
  const { fields, grantId } = requireForm(admin, request, expected.path)
  if (grantId !== expected.grantId) throw ofAnother()
  return fields
}

export function ofAnother(): Problem {
  return new Problem(
    'forbidden',
    'The form belongs to another session or to another page. Open the page again and repeat the change.',
  )
}

/** The fields of a form or of a query. A missing field is the empty text. */
export type FormFields = {
  text(name: string): string
  all(name: string): string[]
  names(): string[]
}

/** The fields as JSON: each name with its values. */
export type FieldEntries = readonly (readonly [name: string, values: readonly string[]])[]

export function entriesOf(fields: FormFields): FieldEntries {
  return fields.names().map((name) => [name, fields.all(name)])
}

export function fieldsOfEntries(entries: FieldEntries): FormFields {
  return fieldsIn(new Map(entries.map(([name, values]) => [name, values.map((text) => ({ text, encoded: '' }))])))
}

function fieldsOf(request: FastifyRequest): FormFields {
  if (!(request.body instanceof Map)) throw new Problem('unsupported_media_type', 'The body is not a form.')
  return fieldsIn(request.body as Form)
}

export function queryFieldsOf(request: FastifyRequest): FormFields {
  const [, query = ''] = request.url.split('?', 2)
  return fieldsIn(parseForm(query))
}

function fieldsIn(form: Form): FormFields {
  const all = (name: string): string[] => (form.get(name) ?? []).map(({ text }) => (text ?? '').replaceAll('\r\n', '\n'))
  return { all, text: (name) => (all(name)[0] ?? '').trim(), names: () => [...form.keys()] }
}
