/**
 * Whether an `Accept` field names a media type itself, with a weight above zero (RFC 9110 §12.5.1). Ranges such as
 * `*\/*` do not count. The function reads the field once from left to right.
 */
export function namesMediaType(accept: string | undefined, type: string): boolean {
  // Most callers name another type; their field is not parsed.
  if (!accept?.toLowerCase().includes(type)) return false
  return accept.split(',').some((range) => {
    const [named, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return named === type && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}
