/** The number of bytes of the longest text to sign, which registration and doctor compare with what every wallet can sign. */

import type { Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readScopesAndResources } from '../../../src/domain/authorization/requested-scopes.ts'
import { USUAL_GUARANTEES } from '../../../src/domain/clients/client-guarantees.ts'
import { allowanceWith, clientOfMetadata } from '../../../src/domain/clients/client-metadata.ts'
import { registerClient } from '../../../src/domain/clients/register-client.ts'
import { type AuthorizationRequest, withScopes } from '../../../src/domain/model/authorization-request.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import { wordsOf } from '../../../src/domain/model/fault.ts'
import { CLIENT_KINDS, type Client, type Resource } from '../../../src/domain/model/records.ts'
import { portRuleOf } from '../../../src/domain/model/redirect-rules.ts'
import type { OpenResources } from '../../../src/domain/model/resources.ts'
import { textIdOf } from '../../../src/domain/model/text-id.ts'
import { longestText, type TextFacts, textWarnings } from '../../../src/domain/resources/longest-text.ts'
import { RegisteredResources } from '../../../src/domain/resources/registered-resources.ts'
import { DEVICE_CODE_GRANT, type GrantType } from '../../../src/protocol/oauth/grant-types.ts'
import { OAuthError } from '../../../src/protocol/oauth/oauth-error.ts'
import { redirectUriMatches } from '../../../src/protocol/oauth/redirect-uri.ts'
import type { ScopeLimit } from '../../../src/protocol/wallet/limit-words.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { composeShortConsent, shortTemplateOf } from '../../../src/protocol/wallet/short-consent.ts'
import {
  authorities,
  clientNames,
  drawnFrom,
  privateRedirectUris,
  resourceUris,
  scopeLists,
  webRedirectUris,
} from '../../protocol/wallet/arbitraries.ts'
import { longestOrdinary, shortFields, thumbprint, userCode } from '../../protocol/wallet/consent-example.ts'
import { anyLimit, largestLimit, usualLimit } from '../../protocol/wallet/limit-example.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { LIFETIMES } from '../../support/start.ts'

const SETTINGS = {
  authUrl: 'https://auth.example.com',
  loginUrl: 'https://login.example.com',
  defaultResource: 'https://api.example.com/',
  chainIds: [1, 8453],
  scopeDescriptions: {},
  lifetimes: LIFETIMES,
}

function factsWith(resources: readonly Resource[] = [], settings: Partial<typeof SETTINGS> = {}): TextFacts {
  const store = { resources: { listResources: async () => [...resources] } } as unknown as ConstructorParameters<
    typeof RegisteredResources
  >[0]
  return { resources: new RegisteredResources(store, resources), settings: { ...SETTINGS, ...settings } }
}

type Parties = { redirectUri?: string; userCode?: string; limit?: ScopeLimit | undefined }

/** The text that the service composes for a request, as `sign-in-text.ts` does. */
function composeFor(facts: TextFacts, client: Client, request: Record<string, unknown>, parties: Parties): string {
  const { scopes, resources, scopesByResource } = request as AuthorizationRequest
  const text = composeShortConsent({
    ...shortFields,
    ...parties,
    template: shortTemplateOf(parties) ?? 0,
    domain: new URL(facts.settings.loginUrl).host,
    chainId: facts.settings.chainIds.at(-1) ?? 1,
    clientName: transliterateName(client.name),
    clientId: textIdOf(client.id),
    scopes,
    resources,
    scopesByResource: scopesByResource ?? undefined,
    keyThumbprint: thumbprint,
    redirectUri: parties.redirectUri,
  })
  if (text === null) throw new Error('no text')
  return text
}

function registered(members: Partial<Parameters<typeof registerClient>[0]> = {}): Client {
  const usual = { name: 'MyApp', type: 'confidential' as const, redirectUris: ['https://app.example.net/callback'] }
  const outcome = registerClient({ ...usual, ...members }, 0)
  if (outcome.kind === 'faults') throw new Error(wordsOf(outcome.faults).join())
  return outcome.client
}

function unregistered(id: string, { name, type, redirectUris, authMethod, grantTypes }: Client, open: OpenResources): Client {
  const metadata = { name, type, redirectUris, authMethod, grantTypes, jwks: null, jwksUri: null, ...USUAL_GUARANTEES }
  return clientOfMetadata(id, metadata, allowanceWith(open))
}

const openTo = [...CLIENT_KINDS]
const asResource = (uri: string, scopes: readonly string[], limits: Readonly<Record<string, Limit>> = {}): Resource => ({
  uri,
  name: 'API',
  scopes: scopes.map((name) => ({ name, description: name, limit: limits[name] })),
  openTo,
  createdAt: 0,
})

describe('The longest text of a client', () => {
  test('The longest text of a client has every scope at every resource and a key, and is the text on another screen if this is longer', () => {
    const client = registered({ scopes: ['read', 'write'], resources: ['https://files.example.com/'] })
    const request = { scopes: ['read', 'write'], resources: ['https://files.example.com/', SETTINGS.defaultResource] }
    const [redirectUri = ''] = client.redirectUris
    const texts = [{ redirectUri }, { redirectUri, userCode }].map((parties) => composeFor(factsWith(), client, request, parties))
    expect(texts[1]?.length).toBeGreaterThan(texts[0]?.length ?? 0)
    expect(longestText(factsWith(), client)).toBe(texts[1]?.length)
  })

  test('The longest redirect URI counts, and a native client may request the longest port on loopback (RFC 8252 §7.3)', () => {
    const long = `https://app.example.net/${'a'.repeat(200)}`
    const [one, other] = [registered(), registered({ redirectUris: ['https://app.example.net/callback', long] })]
    const request = { scopes: one.scopes, resources: [SETTINGS.defaultResource] }
    expect(longestText(factsWith(), other)).toBe(composeFor(factsWith(), other, request, { redirectUri: long }).length)
    const native = registered({ type: 'native', redirectUris: ['http://127.0.0.1/'] })
    const parties = { redirectUri: 'http://127.0.0.1:65535/', userCode }
    expect(longestText(factsWith(), native)).toBe(composeFor(factsWith(), native, request, parties).length)
  })

  test('A registered resource counts with its own scopes, and a resource that the client may not request does not count', () => {
    const [files, notes] = ['https://files.example.com/', 'https://notes.example.com/']
    const client = registered({ scopes: ['files.read', 'notes.read'], resources: [files, notes] })
    const both = factsWith([asResource(files, ['files.read']), asResource(notes, ['notes.read'])])
    const closed = factsWith([asResource(files, ['files.read']), { ...asResource(notes, ['notes.read']), openTo: [] }])
    const lengths = [factsWith(), both, closed].map((facts) => longestText(facts, client))
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a))
    expect(new Set(lengths).size).toBe(3)
  })

  test('The text of a device counts for a client that may use device codes only (RFC 8628)', () => {
    const client = registered({ redirectUris: [], grantTypes: [DEVICE_CODE_GRANT] })
    const request = { scopes: client.scopes, resources: [SETTINGS.defaultResource] }
    expect(longestText(factsWith(), client)).toBe(composeFor(factsWith(), client, request, { userCode }).length)
  })

  test('The longest text has the limit that adds most, and no other scope with a limit', () => {
    const [files, notes] = ['https://files.example.com/', 'https://notes.example.com/']
    const client = registered({ scopes: ['read', 'pay', 'send'], resources: [files, notes] })
    const limits = { pay: usualLimit, send: largestLimit }
    const facts = factsWith([asResource(files, ['read']), asResource(notes, ['pay', 'send'], limits)])
    const parties = { redirectUri: client.redirectUris[0] ?? '', userCode }
    const [usual, largest] = (['pay', 'send'] as const).map((scope) => {
      const request = {
        scopes: ['read', scope],
        resources: [files, notes],
        scopesByResource: { [files]: ['read'], [notes]: [scope] },
      }
      return composeFor(facts, client, request, { ...parties, limit: { resource: notes, scope, limit: limits[scope] } }).length
    })
    expect(usual).toBeLessThan(largest ?? 0)
    expect(longestText(facts, client)).toBe(largest)
    const shared = factsWith([asResource(notes, ['read', 'pay', 'send'], limits)])
    const request = { scopes: ['read', 'send'], resources: [notes] }
    const limit = { resource: notes, scope: 'send', limit: largestLimit }
    expect(longestText(shared, client)).toBe(composeFor(shared, client, request, { ...parties, limit }).length)
  })

  test('A client for which no wallet signs has no text', () => {
    expect(longestText(factsWith(), registered({ redirectUris: [], grantTypes: ['client_credentials'] }))).toBe(0)
  })

  test('A warning has the number of bytes, from the 1,025th byte on', () => {
    const clientWith = (length: number) => registered({ redirectUris: [`https://app.example.net/${'a'.repeat(length)}`] })
    const length = 1024 - longestText(factsWith(), clientWith(200)) + 200
    expect(textWarnings(factsWith(), clientWith(length))).toEqual([])
    expect(textWarnings(factsWith(), clientWith(length + 1))).toEqual([
      'The longest text that a wallet signs for this client has 1,025 bytes. Some hardware wallets sign at most 1,024. A request with fewer scopes or resources has a shorter text.',
    ])
  })
})

const registries = fc
  .array(
    fc.tuple(
      resourceUris,
      scopeLists.filter((scopes) => scopes.length > 0),
      fc.subarray(openTo),
      fc.dictionary(fc.nat({ max: 5 }).map(String), anyLimit, { maxKeys: 4 }),
    ),
    { maxLength: 3 },
  )
  .map((list) =>
    list.map(([uri, scopes, kinds, limits]) => {
      const ofScopes = Object.entries(limits).flatMap(([index, limit]) => {
        const scope = scopes[Number(index)]
        return scope === undefined ? [] : [[scope, limit] as const]
      })
      return { ...asResource(uri, scopes, Object.fromEntries(ofScopes)), openTo: kinds }
    }),
  )

/** The request with at most one scope that has a limit, which only the resource of the limit has. */
function withOneLimit(
  facts: TextFacts,
  request: Requested,
  choice: number,
): { request: Requested; limit: ScopeLimit | undefined } {
  const { scopes, resources, scopesByResource } = request
  const pairs = resources.map((uri) => [uri, scopesByResource?.[uri] ?? scopes] as const)
  const limits = pairs.flatMap(([resource, own]) =>
    own.flatMap((scope) => {
      const limit = facts.resources.limitOf(resource, scope)
      return limit === undefined ? [] : [{ resource, scope, limit }]
    }),
  )
  const limit = limits[choice % limits.length]
  if (limit === undefined) return { request, limit }
  const kept = pairs
    .map(([uri, own]) => {
      const without = own.filter((scope) => scope !== limit.scope && facts.resources.limitOf(uri, scope) === undefined)
      return [uri, uri === limit.resource ? [...without, limit.scope] : without] as const
    })
    .filter(([, own]) => own.length > 0)
  const all = [...new Set(kept.flatMap(([, own]) => own))]
  return { request: { scopes: all, resources: kept.map(([uri]) => uri), scopesByResource: Object.fromEntries(kept) }, limit }
}

type Requested = Pick<AuthorizationRequest, 'scopes' | 'resources' | 'scopesByResource'>

/** Any client that can be registered, or that needs no registration, with the registry of resources. */
const clients = fc
  .record({
    registry: registries,
    name: clientNames,
    type: fc.constantFrom('confidential' as const, 'public' as const, 'native' as const),
    redirectUris: fc.array(fc.oneof(webRedirectUris, privateRedirectUris), { maxLength: 3 }),
    ownScopes: scopeLists,
    ownResources: fc.array(resourceUris, { maxLength: 3 }),
    grantTypes: fc.constantFrom<GrantType[]>(
      ['authorization_code'],
      [DEVICE_CODE_GRANT],
      ['authorization_code', DEVICE_CODE_GRANT],
    ),
    id: fc.oneof(
      fc.constant(null),
      fc.domain().map((host) => `https://${host}/client.json`),
      fc.constant('grd.1234567890.sealed'),
    ),
    loginUrl: authorities.map((host) => `http://${host}`).filter((url) => URL.canParse(url)),
    chainIds: fc.array(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { minLength: 1, maxLength: 2 }),
  })
  .map(({ registry, ownScopes, ownResources, id, loginUrl, chainIds, ...members }) => {
    const facts = factsWith(registry, { loginUrl, chainIds })
    const ofRegistry = {
      scopes: registry.flatMap(({ scopes }) => scopes.map(({ name }) => name)),
      uris: registry.map(({ uri }) => uri),
    }
    const scopes = ['openid', ...ofRegistry.scopes, ...ownScopes]
    const outcome = registerClient({ ...members, scopes, resources: [...ofRegistry.uris, ...ownResources] }, 0)
    if (outcome.kind === 'faults') return null
    if (id === null) return { facts, client: outcome.client }
    const kind = id.startsWith('grd.') ? 'dynamic' : 'metadata'
    return { facts, client: unregistered(id, outcome.client, facts.resources.openTo(kind)) }
  })
  .filter((drawn) => drawn !== null)

test('No text of any client is longer than its longest text, whatever the request and the choices of the user are', () => {
  let composed = 0
  fc.assert(
    fc.property(clients, fc.gen(), fc.boolean(), fc.integer({ min: 1, max: 65_535 }), ({ facts, client }, gen, onOther, port) => {
      const uris = [facts.settings.defaultResource, facts.settings.authUrl, ...client.resources]
      const parameters = {
        scope: gen(
          fc.option,
          fc.subarray(client.scopes, { minLength: 1 }).map((scopes) => scopes.join(' ')),
        ),
        resource: gen(fc.subarray, uris),
        response_type: 'code',
      }
      let request: ReturnType<typeof readScopesAndResources>
      try {
        request = readScopesAndResources(facts as unknown as Deps, client, parameters)
      } catch (error) {
        expect(error).toBeInstanceOf(OAuthError)
        return
      }
      const chosen = withScopes(request as AuthorizationRequest, gen(fc.subarray, request.scopes, { minLength: 1 }))
      const { request: left, limit } = withOneLimit(facts, chosen, gen(fc.nat))
      const most = longestText(facts, client)
      for (const registeredUri of client.redirectUris) {
        const elsewhere = registeredUri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d+)?(?=[/?]|$)/, `$1:${port}`)
        const uri = redirectUriMatches([registeredUri], elsewhere, portRuleOf(client)) ? elsewhere : registeredUri
        if (!client.grantTypes.includes('authorization_code')) continue
        composed += 1
        const parties = { redirectUri: uri, limit, ...(onOther && { userCode }) }
        expect(composeFor(facts, client, left, parties).length).toBeLessThanOrEqual(most)
      }
      if (client.grantTypes.includes(DEVICE_CODE_GRANT) && left.scopesByResource === null)
        expect(composeFor(facts, client, left, { userCode, limit }).length).toBeLessThanOrEqual(most)
    }),
    // Making a failing client smaller takes minutes.
    { numRuns: runs * 3, endOnFailure: true },
  )
  expect(composed).toBeGreaterThan(runs / 4)
})

test('Every client with at most four scopes at two resources, and with names of ordinary length, has no warning', () => {
  const { domain, name, host, redirectUri, scopes, resource, chainId } = longestOrdinary
  const text = (most: number) => drawnFrom('nm', 1, most)
  const hostName = (most: number) => text(most - '.example'.length).map((label) => `${label}.example`)
  const ordinary = fc.record({
    loginUrl: hostName(domain).map((at) => `https://${at}`),
    name: text(name),
    place: fc.tuple(
      hostName(host),
      fc.constant('').chain(() => text(redirectUri)),
    ),
    scopes: fc.uniqueArray(text(scopes / 4), { minLength: 1, maxLength: 4 }),
    resources: fc.uniqueArray(
      text(resource - 'https://'.length).map((at) => `https://${at}`),
      { minLength: 1, maxLength: 2 },
    ),
    grantTypes: fc.constantFrom([], [DEVICE_CODE_GRANT]),
  })
  forAll(ordinary, ({ loginUrl, place: [at, path], resources: [first = '', ...others], grantTypes, ...members }) => {
    const client = registered({
      ...members,
      redirectUris: [`https://${at}/${path}`.slice(0, redirectUri)],
      resources: others,
      grantTypes: ['authorization_code', ...grantTypes],
    })
    const facts = factsWith([], { loginUrl, chainIds: [chainId], defaultResource: first })
    expect(textWarnings(facts, client)).toEqual([])
  })
})

test('The work for a client that registers itself does not grow with the number of open resources', () => {
  const resources = Array.from({ length: 1000 }, (_, i) =>
    asResource(
      `https://api.example.com/${i}`,
      Array.from({ length: 100 }, (__, scope) => `scope-${scope}-of-${i}`),
      { [`scope-1-of-${i}`]: usualLimit, [`scope-2-of-${i}`]: largestLimit },
    ),
  )
  const facts = factsWith(resources)
  const client = unregistered('grd.1234567890.sealed', registered(), facts.resources.openTo('dynamic'))
  expect(longestText(facts, client)).toBeGreaterThan(1_000_000)
  expect(processorMs(() => Array.from({ length: 1000 }, () => longestText(facts, client)))).toBeLessThan(1_000)
})
