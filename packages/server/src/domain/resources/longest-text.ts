/** How long the text is that a wallet signs for a client, at most. Some hardware wallets sign no long text. */
import { DEVICE_CODE_GRANT } from '../../protocol/oauth/grant-types.ts'
import { withLongestPort } from '../../protocol/oauth/redirect-uri.ts'
import { STANDARD_SCOPES } from '../../protocol/oauth/standard-scopes.ts'
import { type ScopeLimit, writeLimitSentence } from '../../protocol/wallet/limit-words.ts'
import { type Capability, encodeRecap, translateRecap } from '../../protocol/wallet/recap.ts'
import { composeShortConsent, shortTemplateOf } from '../../protocol/wallet/short-consent.ts'
import { clientKindOf } from '../model/client-kind.ts'
import type { ServiceSettings } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { portRuleOf } from '../model/redirect-rules.ts'
import type { OpenResources, Resources } from '../model/resources.ts'
import { textIdOf } from '../model/text-id.ts'
import { type KnownResources, mayRequest, scopesAt } from './scopes-at.ts'

/** In bytes, which are also characters. Some hardware wallets sign no longer text. */
export const SIGNED_BY_EVERY_WALLET = 1024

export type TextFacts = {
  resources: Resources
  settings: KnownResources['settings'] & Pick<ServiceSettings, 'loginUrl' | 'chainIds' | 'lifetimes'>
}

/** One line if some wallets cannot sign the longest text of the client. */
export function textWarnings(facts: TextFacts, client: Client): string[] {
  const length = longestText(facts, client)
  if (length <= SIGNED_BY_EVERY_WALLET) return []
  const [long, limit] = [length, SIGNED_BY_EVERY_WALLET].map((bytes) => bytes.toLocaleString('en'))
  return [
    `The longest text that a wallet signs for this client has ${long} bytes. Some hardware wallets sign at most ${limit}. A request with fewer scopes or resources has a shorter text.`,
  ]
}

/**
 * The length of the longest text, in bytes: with every scope and resource that one request can name, with a key (RFC 9449), which any
 * request can name, and on another screen. A request names at most one scope with a limit. 0 for a client for which no wallet signs.
 */
export function longestText(facts: TextFacts, client: Client): number {
  const capability = largestLength(facts, client)
  if (capability === 0) return 0
  return Math.max(0, ...partiesOf(client).map((parties) => lengthWithout(facts, client, parties) + capability))
}

type PartyTexts = { redirectUri?: string; userCode?: string }

const USER_CODE = 'BBBB-BBBB'

function partiesOf(client: Client): PartyTexts[] {
  const uris = portRuleOf(client) === 'exact' ? client.redirectUris : client.redirectUris.map(withLongestPort)
  return [
    ...(client.grantTypes.includes('authorization_code')
      ? uris.flatMap((redirectUri) => [{ redirectUri }, { redirectUri, userCode: USER_CODE }])
      : []),
    ...(client.grantTypes.includes(DEVICE_CODE_GRANT) ? [{ userCode: USER_CODE }] : []),
  ]
}

const LEAST: Capability = { scopes: ['a'], resources: ['a:a'], abilities: 'joined' }

/** The length of a text except for its capability. */
function lengthWithout({ settings }: TextFacts, client: Client, parties: PartyTexts): number {
  const text = composeShortConsent({
    ...LEAST,
    ...parties,
    template: shortTemplateOf(parties) ?? 0,
    domain: new URL(settings.loginUrl).host,
    address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    chainId: Math.max(...settings.chainIds),
    nonce: 'a'.repeat(22),
    issuedAt: 0,
    until: 0,
    clientName: client.name,
    clientId: textIdOf(client.id),
    keyThumbprint: 'a'.repeat(43),
  })
  return (text?.length ?? 0) - lengthOf(LEAST)
}

/** With the sentence about the limit, and the space after this sentence. */
function lengthOf(capability: Capability): number {
  return sentencesOf(capability) + encodeRecap(capability).length
}

function sentencesOf(capability: Capability): number {
  const { limit } = capability
  return translateRecap(capability).length + (limit === undefined ? 0 : writeLimitSentence(limit).length + 1)
}

/** The same for all clients of a kind. A client that registers itself must not cause the work each time. */
const ofOpenResources = new WeakMap<OpenResources, number>()

/** The length of the largest capability that a request of the client can name; 0 if there is none. */
function largestLength(facts: TextFacts, client: Client): number {
  const { resources, settings } = facts
  const kind = clientKindOf(client)
  if (kind === 'registered') return lengthOfPairs(facts, client, [settings.defaultResource, ...client.resources])
  const open = resources.openTo(kind)
  const length =
    ofOpenResources.get(open) ?? lengthOfPairs(facts, client, [settings.authUrl, ...open.resources.map(({ uri }) => uri)])
  ofOpenResources.set(open, length)
  return length
}

function lengthOfPairs(facts: TextFacts, client: Client, uris: readonly string[]): number {
  const pairs = uris
    .filter((uri) => mayRequest(facts, client, uri))
    .map((uri) => [uri, scopesAt(facts, client, uri, scopesToAsk(facts, client, uri))] as const)
    .filter(([, scopes]) => scopes.length > 0)
  return lengthOfLargest(facts, Object.fromEntries(pairs))
}

type Pairs = Record<string, readonly string[]>

/**
 * The length with every scope that has no limit, and with the limit that adds most. The limits of resources that have other scopes too, and of
 * resources that the limit adds to the text, are compared separately, because only the first kind shares its resource. All the work is linear
 * in the number of scopes.
 */
function lengthOfLargest({ resources }: TextFacts, pairs: Pairs): number {
  const all = Object.entries(pairs)
  const without = Object.fromEntries(
    all
      .map(([uri, scopes]) => [uri, scopes.filter((scope) => resources.limitOf(uri, scope) === undefined)] as const)
      .filter(([, scopes]) => scopes.length > 0),
  )
  const limits = all.flatMap(([resource, scopes]) =>
    scopes.flatMap((scope) => {
      const limit = resources.limitOf(resource, scope)
      return limit === undefined ? [] : [{ resource, scope, limit }]
    }),
  )
  const [shared, added] = [
    limits.filter(({ resource }) => without[resource]),
    limits.filter(({ resource }) => !without[resource]),
  ]
  const largest = [undefined, largestOf(shared, without), largestOf(added, without)]
  return Math.max(...largest.map((limit, index) => (index > 0 && limit === undefined ? 0 : lengthOfAll(without, limit))))
}

/** The limit that adds most to the text; undefined if there is none. */
function largestOf(limits: readonly ScopeLimit[], without: Pairs): ScopeLimit | undefined {
  let [largest, most]: [ScopeLimit | undefined, number] = [undefined, 0]
  for (const limit of limits) {
    // One of the other scopes of the resource is enough to compare: the limit adds the same to all of them.
    const other = without[limit.resource]?.slice(0, 1)
    const [whole, part] = [{ [limit.resource]: [...(other ?? []), limit.scope] }, other && { [limit.resource]: other }]
    const added = exactLength(capabilityOf(whole, limit)) - (part ? exactLength(capabilityOf(part)) : 0)
    if (added > most) [largest, most] = [limit, added]
  }
  return largest
}

function lengthOfAll(without: Pairs, limit: ScopeLimit | undefined): number {
  const pairs = limit ? { ...without, [limit.resource]: [...(without[limit.resource] ?? []), limit.scope] } : without
  return Object.keys(pairs).length === 0 ? 0 : lengthOf(capabilityOf(pairs, limit))
}

function capabilityOf(pairs: Pairs, limit?: ScopeLimit): Capability {
  return { ...LEAST, resources: Object.keys(pairs), scopesByResource: pairs, limit }
}

const RECAP_PREFIX = 'urn:recap:'.length

/** Without the rounding of base64url, so that differences can be added: three bytes become four characters. */
function exactLength(capability: Capability): number {
  const bytes = Math.floor(((encodeRecap(capability).length - RECAP_PREFIX) * 3) / 4)
  return sentencesOf(capability) + (bytes * 4) / 3
}

/** The list of all open scopes is long, so only those of the resource are examined for a client that is not registered. */
function scopesToAsk({ resources }: TextFacts, client: Client, uri: string): readonly string[] {
  if (clientKindOf(client) === 'registered') return client.scopes
  return [...STANDARD_SCOPES, ...(resources.find(uri)?.scopes ?? []).map(({ name }) => name)]
}
