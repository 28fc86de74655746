/**
 * A ReCap (ERC-5573): the permissions of a consent, as a URI for programs and as a sentence for people, both made from
 * the same lists.
 *
 * Every resource gets every scope, because the parameters `scope` and `resource` are independent (RFC 8707 §2), unless
 * the scopes belong to single resources.
 */

import { limitRestriction, type ScopeLimit } from './limit-words.ts'
import { checkForm, forms } from './message-grammar.ts'

/** The scopes are abilities in this namespace: `oauth/<scope>`. */
const namespace = 'oauth'

/** Each list has at least one entry, in any order. Both forms sort the entries and remove duplicates. */
export type Capability = {
  scopes: readonly string[]
  resources: readonly string[]
  /** The scopes of each resource, if they differ. */
  scopesByResource?: Readonly<Record<string, readonly string[]>> | undefined
  /** `joined`: the scopes of a resource are one ability, `oauth/read+write`. A scope cannot contain `+`, and an ability can. */
  abilities?: 'joined' | undefined
  /** The limit of one scope at one resource. The scope is an ability of its own there, restricted to the limit (ERC-5573, "nota bene"). */
  limit?: ScopeLimit | undefined
  /** Limits every ability to one action: base64url of its SHA-256 (ERC-5573, "nota bene"). The sentence does not contain it. */
  digest?: string | undefined
}

/**
 * `urn:recap:` and the base64url, unpadded, of `{"att":{"<resource>":{"oauth/<scope>":[{}]}}}` (ERC-5573, "ReCap URI
 * Scheme").
 *
 * `[{}]` means "no further restriction"; `[]` would mean "cannot be used". With a digest, it is `[{"digest":"<digest>"}]`, and the ability of a
 * limit has `[{"limit":{"uses":20}}]`.
 *
 * @throws RangeError if a list is empty or contains an entry that the text cannot contain.
 */
export function encodeRecap(capability: Capability): string {
  const { digest, limit } = capability
  const usual = digest === undefined ? {} : { digest: checkForm('digest', digest, forms.sha256) }
  const entriesOf = (resource: string, names: readonly string[]) =>
    Object.fromEntries(
      names.map((name) => {
        const isLimited = limit !== undefined && limit.resource === resource && limit.scope === name
        return [`${namespace}/${name}`, [isLimited ? limitRestriction(limit.limit) : usual]]
      }),
    )
  // JSON.stringify keeps this order: a key with a colon or a slash is never treated as an array index.
  const details = {
    att: Object.fromEntries(inOrder(capability).map(([resource, names]) => [resource, entriesOf(resource, names)])),
  }
  return `urn:recap:${base64url(JSON.stringify(details))}`
}

/** Reads loosely the digest in a ReCap; '' if there is none. */
export function digestInRecap(uri: string): string {
  const [, payload = ''] = /^urn:recap:([A-Za-z0-9_-]*)$/.exec(uri) ?? []
  // Four characters are a byte triple. A length that no bytes have makes `atob` throw.
  if (payload.length % 4 === 1) return ''
  const json = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
  return /"digest":"([A-Za-z0-9_-]{43})"/.exec(json)?.[1] ?? ''
}

/**
 * The sentence that ERC-5573's translation algorithm gives.
 *
 * The algorithm's prose leaves out spaces that its examples contain. Parsers and wallets follow the examples, and so
 * does this function.
 *
 * @throws RangeError as `encodeRecap` does.
 */
export function translateRecap(capability: Capability): string {
  const entries = inOrder(capability).map(
    ([resource, names], i) => ` (${i + 1}) '${namespace}': ${names.map((name) => `'${name}'`).join(', ')} for '${resource}'.`,
  )
  return `I further authorize the stated URI to perform the following actions on my behalf:${entries.join('')}`
}

/**
 * ERC-5573: keys sorted by byte value, a shorter key before its continuations, no duplicates. All keys are ASCII, so
 * `sort()` gives this order.
 */
function inOrder(capability: Capability): [resource: string, abilities: string[]][] {
  const { scopes, resources, scopesByResource, abilities, limit } = capability
  if (resources.length === 0) throw new RangeError('resources are empty')
  return [...new Set(resources)].sort().map((resource) => {
    const own = scopesByResource === undefined ? scopes : (scopesByResource[resource] ?? [])
    // An object without abilities is not a ReCap ("minProperties": 1), and a consent to nothing is not a consent.
    if (own.length === 0) throw new RangeError('scopes are empty')
    const sorted = [...new Set(own)].sort().map((scope) => checkForm('scope', scope, forms.scope))
    const names = abilities === 'joined' ? joinScopes(sorted, limit?.resource === resource ? limit.scope : undefined) : sorted
    return [checkForm('resource', resource, forms.resource), names]
  })
}

/** One ability for all scopes, and one for the limited scope. Takes and returns a sorted list. */
function joinScopes(scopes: readonly string[], limited: string | undefined): string[] {
  const [own, others] = [scopes.filter((scope) => scope === limited), scopes.filter((scope) => scope !== limited)]
  return [...own, ...(others.length === 0 ? [] : [others.join('+')])].sort()
}

/** RFC 4648 §5 without padding. The text is ASCII. */
function base64url(ascii: string): string {
  return btoa(ascii).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
