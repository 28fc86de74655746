/** Scopes (RFC 6749 §3.3, OpenID Connect Core §14): space-delimited, case-sensitive, in no particular order. */

// scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/** The scopes of a `scope` parameter without duplicates, or null if the parameter does not match the grammar. */
export function parseScope(text: string): string[] | null {
  return SCOPE.test(text) ? [...new Set(text.split(' '))] : null
}

/** Whether a scope of this name can be registered: a signed text must be able to contain it. A colon is not part of an ability's name (ERC-5573). */
export function isScopeName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name)
}

export function isSubset(wanted: readonly string[], allowed: readonly string[]): boolean {
  return wanted.every((each) => allowed.includes(each))
}
