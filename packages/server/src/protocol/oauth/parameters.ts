/**
 * Reads the parameters of an endpoint from a form.
 *
 * RFC 6749 §3.1 and §3.2: "Parameters sent without a value MUST be treated as if they were omitted", "Request and
 * response parameters MUST NOT be included more than once". Unknown parameters are ignored, even if they are repeated
 * (OpenID Connect Core §3.1.2.2).
 */
import type { Form, FormValue } from './form.ts'

export type Parameters<Single extends string, Many extends string = never> = { [name in Single]: string | null } & {
  [name in Many]: string[]
}

export type ParameterFault<Name extends string = string> = {
  reason: 'parameter_repeated' | 'parameter_not_utf8'
  parameter: Name
}

export type TakenParameters<Single extends string, Many extends string> = {
  /** the faults, in the order of `single` and then `many`; a parameter with a fault has the value null */
  faults: ParameterFault<Single | Many>[]
  values: Parameters<Single, Many>
}

/** Names in `single` may occur once, names in `many` (`resource`, RFC 8707 §2) any number of times. */
export function takeParameters<Single extends string, Many extends string = never>(
  form: Form,
  single: readonly Single[],
  many: readonly Many[] = [],
): TakenParameters<Single, Many> {
  const faults: ParameterFault<Single | Many>[] = []
  const values: Record<string, string | null | string[]> = {}
  for (const name of single) {
    const sent = form.get(name) ?? []
    if (sent.length > 1) faults.push({ reason: 'parameter_repeated', parameter: name })
    values[name] = sent.length === 1 ? textOf(sent[0], name, faults) : null
  }
  for (const name of many) {
    values[name] = (form.get(name) ?? []).map((value) => textOf(value, name, faults)).filter((text) => text !== null)
  }
  return { faults, values: values as Parameters<Single, Many> }
}

function textOf<Name extends string>(
  value: FormValue | undefined,
  parameter: Name,
  faults: ParameterFault<Name>[],
): string | null {
  if (!value || value.text === '') return null
  if (value.text === null) faults.push({ reason: 'parameter_not_utf8', parameter })
  return value.text
}
