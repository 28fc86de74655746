/**
 * A ReCap (ERC-5573): what a consent allows, once for machines as a URI and once for people as a sentence, each made from the same lists.
 *
 * Every resource gets every scope, as in OAuth, where `scope` and `resource` of a request are independent (RFC 8707 §2).
 */

import { checkForm, forms } from './message-grammar.ts'

/** The scopes are abilities in this namespace: `oauth/<scope>`. */
const namespace = 'oauth'

/** Each list at least one, in any order; both forms sort them and write each once. */
export type Capability = { scopes: readonly string[]; resources: readonly string[] }

/**
 * `urn:recap:` and the base64url, unpadded, of `{"att":{"<resource>":{"oauth/<scope>":[{}]}}}` (ERC-5573, "ReCap URI Scheme").
 *
 * `[{}]` is "no further restriction"; `[]` would be "no way to use it".
 *
 * @throws RangeError when a list is empty or holds something the text cannot.
 */
export function encodeRecap(capability: Capability): string {
  const { scopes, resources } = inOrder(capability)
  const abilities = Object.fromEntries(scopes.map((scope) => [`${namespace}/${scope}`, [{}]]))
  // JSON.stringify keeps this order: a key with a colon or a slash is never taken for an index.
  const details = { att: Object.fromEntries(resources.map((resource) => [resource, abilities])) }
  return `urn:recap:${base64url(JSON.stringify(details))}`
}

/**
 * The sentence that ERC-5573's translation algorithm makes of it.
 *
 * The algorithm's prose leaves out spaces that its own examples have; parsers and wallets follow the examples, and so does this.
 *
 * @throws RangeError as above.
 */
export function translateRecap(capability: Capability): string {
  const { scopes, resources } = inOrder(capability)
  const abilities = scopes.map((scope) => `'${scope}'`).join(', ')
  const entries = resources.map((resource, i) => ` (${i + 1}) '${namespace}': ${abilities} for '${resource}'.`)
  return `I further authorize the stated URI to perform the following actions on my behalf:${entries.join('')}`
}

/** ERC-5573: keys by byte value, a shorter one before its continuations, none twice. All are ASCII, so this is `sort()`. */
function inOrder({ scopes, resources }: Capability): Capability {
  // An object without abilities is no ReCap ("minProperties": 1), and a consent to nothing is no consent.
  if (scopes.length === 0) throw new RangeError('scopes are empty')
  if (resources.length === 0) throw new RangeError('resources are empty')
  return {
    scopes: [...new Set(scopes)].sort().map((scope) => checkForm('scope', scope, forms.scope)),
    resources: [...new Set(resources)].sort().map((resource) => checkForm('resource', resource, forms.resource)),
  }
}

/** RFC 4648 §5 without padding. The text is ASCII. */
function base64url(ascii: string): string {
  return btoa(ascii).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
