/**
 * The grammar of the fields of a text to sign: the ABNF of ERC-4361, narrowed to the values that the service uses.
 *
 * None of these forms allows a line break, so no field can add a line.
 */

// RFC 3986, with its names.
const unreserved = 'A-Za-z0-9._~\\-'
const subDelims = `!$&'()*+,;=`
const pctEncoded = '%[0-9A-Fa-f]{2}'
const pchar = `(?:[${unreserved}${subDelims}:@]|${pctEncoded})`
const ipLiteral = '\\[[0-9A-Fa-f:.]{2,45}\\]'
const regName = `(?:[${unreserved}${subDelims}]|${pctEncoded})+`
const port = '(?::[0-9]{0,5})?'
const segments = `(?:/${pchar}*)*`
// Native apps have redirect URIs such as `com.example.app:///callback`, with an empty authority.
const hierPart = `(?://(?:(?:${ipLiteral}|${regName})(?::[0-9]*)?${segments}|/${pchar}*${segments})|/?${pchar}+${segments}|/)`
const more = `(?:${pchar}|[/?])*`

export const forms = {
  /** RFC 3986 §3.2 without user information, which a reader could mistake for the host. */
  authority: new RegExp(`^(?:${ipLiteral}|[A-Za-z0-9._-]+)${port}$`),
  /** RFC 3986 §3 without user information. */
  uri: new RegExp(`^[A-Za-z][A-Za-z0-9+.-]*:${hierPart}(?:\\?${more})?(?:#${more})?$`),
  /** RFC 3986 §4.3 without user information: a URI without a fragment. */
  absoluteUri: new RegExp(`^[A-Za-z][A-Za-z0-9+.-]*:${hierPart}(?:\\?${more})?$`),
  /** ERC-4361: `1*( reserved / unreserved / " " )`: no quotes, percent signs, angle brackets or line breaks. */
  statement: new RegExp(`^[${unreserved}${subDelims}:/?#[\\]@ ]+$`),
  chainId: /^[1-9][0-9]{0,15}$/,
  /** 22 letters and digits are the minimum for 128 random bits. */
  nonce: /^[A-Za-z0-9]{22,}$/,
  requestId: new RegExp(`^[${unreserved}]+$`),
  scope: /^[A-Za-z0-9._-]{1,64}$/,
  /** An absolute URI (RFC 8707 §2) between single quotes in a statement, so without quotes, percent signs and brackets. */
  resource: /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?@!$&()*+,;=]+$/,
  /** RFC 9562 §4 */
  uuid: /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/,
  /** base64url of 32 bytes, unpadded */
  sha256: /^[A-Za-z0-9_-]{43}$/,
  /** As screens show a code (RFC 8628 §6.1): `WDJB-MJHT`. */
  userCode: /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/,
}

/**
 * @throws RangeError that names the field and never its content, because the error is logged.
 */
export function checkForm(field: string, text: string, form: RegExp): string {
  if (!form.test(text)) throw new RangeError(`${field} does not fit the text to sign (ERC-4361)`)
  return text
}

/**
 * Whether a text to sign can contain this URI, which registration requires of a redirect URI. RFC 3986 without user
 * information.
 */
export function isSignableUri(text: string): boolean {
  return forms.uri.test(text)
}
