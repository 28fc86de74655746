/**
 * What the fields of a text to sign may be: the ABNF of ERC-4361, narrowed to what we ever put there.
 *
 * None of these forms holds a line break, so no field can write another one.
 */

// RFC 3986, by its own names.
const unreserved = 'A-Za-z0-9._~\\-'
const subDelims = `!$&'()*+,;=`
const pctEncoded = '%[0-9A-Fa-f]{2}'
const pchar = `(?:[${unreserved}${subDelims}:@]|${pctEncoded})`
const ipLiteral = '\\[[0-9A-Fa-f:.]{2,45}\\]'
const regName = `(?:[${unreserved}${subDelims}]|${pctEncoded})+`
const port = '(?::[0-9]{0,5})?'
const segments = `(?:/${pchar}*)*`
const hierPart = `(?://(?:${ipLiteral}|${regName})${port}${segments}|/?${pchar}+${segments}|/)`
const more = `(?:${pchar}|[/?])*`

export const forms = {
  /** RFC 3986 §3.2 without user information, which could pass for the host. */
  authority: new RegExp(`^(?:${ipLiteral}|[A-Za-z0-9._-]+)${port}$`),
  /** RFC 3986 §3 without user information. */
  uri: new RegExp(`^[A-Za-z][A-Za-z0-9+.-]*:${hierPart}(?:\\?${more})?(?:#${more})?$`),
  chainId: /^[1-9][0-9]{0,15}$/,
  /** 22 letters and digits are the fewest that can hold 128 random bits. */
  nonce: /^[A-Za-z0-9]{22,}$/,
  requestId: new RegExp(`^[${unreserved}]+$`),
  scope: /^[A-Za-z0-9._-]{1,64}$/,
}

/** @throws RangeError naming the field, never its content: a log is no place for what a challenge holds. */
export function checkForm(field: string, text: string, form: RegExp): string {
  if (!form.test(text)) throw new RangeError(`${field} does not fit the text to sign (ERC-4361)`)
  return text
}
