/** Form bodies (RFC 6749 appendix B), read as bytes: the only bodies that the endpoints accept. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Form, parseForm } from '../../protocol/oauth/form.ts'
import { invalidRequest, type OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { type ParameterFault, type Parameters, takeParameters } from '../../protocol/oauth/parameters.ts'
import type { ParameterName } from '../../protocol/oauth/reasons.ts'

/** Bytes; a larger body is refused with 413 before it is read. */
export const FORM_AT_MOST = 16 * 1024

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;\s*charset="?utf-8"?\s*)?$/i

export class UnsupportedMediaType extends Error {
  override readonly name = 'UnsupportedMediaType'
}

export function acceptForms(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(/^application\/x-www-form-urlencoded/i, { parseAs: 'buffer' }, (request, body, done) => {
    if (FORM_TYPE.test(request.headers['content-type'] ?? '')) done(null, parseForm(body))
    else done(new UnsupportedMediaType())
  })
}

/** The request's form; a missing body without a content type is not a form. */
export function formOf(request: FastifyRequest): Form {
  if (!(request.body instanceof Map)) throw new UnsupportedMediaType()
  return request.body as Form
}

/** The parameters of an endpoint. Throws the refusal of the first faulty parameter. */
export function formParameters<Single extends ParameterName, Many extends ParameterName = never>(
  request: FastifyRequest,
  single: readonly Single[],
  many: readonly Many[] = [],
): Parameters<Single, Many> {
  return parametersOf(formOf(request), single, many)
}

/** The same for a form that is already read, such as a query. */
export function parametersOf<Single extends ParameterName, Many extends ParameterName = never>(
  form: Form,
  single: readonly Single[],
  many: readonly Many[] = [],
): Parameters<Single, Many> {
  const { values, faults } = takeParameters(form, single, many)
  const [fault] = faults
  if (fault) throw parameterRefusal(fault)
  return values
}

export function requireParameter(value: string | null, parameter: ParameterName): string {
  if (value === null) throw invalidRequest(`${parameter}_missing`, `${parameter} is required.`)
  return value
}

function parameterRefusal({ parameter, reason }: ParameterFault<ParameterName>): OAuthError {
  return reason === 'parameter_repeated'
    ? invalidRequest(`${parameter}_repeated`, `${parameter} was sent more than once.`)
    : invalidRequest(`${parameter}_not_utf8`, `${parameter} is not UTF-8.`)
}
