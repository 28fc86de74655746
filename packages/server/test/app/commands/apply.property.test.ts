/** What `grantor export` writes, `grantor apply` reads: for arbitrary clients and resources. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClientRegistration, registerClient } from '../../../src/domain/clients/register-client.ts'
import { type Client, OPERATOR_ROLES, type Resource } from '../../../src/domain/model/records.ts'
import { operatorIdOf, setOperator } from '../../../src/domain/operators/operators.ts'
import { resourceFaults } from '../../../src/domain/resources/resource-faults.ts'
import { DEVICE_CODE_GRANT } from '../../../src/protocol/oauth/grant-types.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newClientKey } from '../../support/client-key.ts'
import { runs } from '../../support/runs.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const NOW = 1_800_000_000

/** Texts that YAML reads as something else if they are not in quotes. */
const name = fc.oneof(
  fc.constantFrom(
    'yes',
    'null',
    '1.50',
    '0x10',
    '- a',
    'a: b',
    '# c',
    '&a',
    '*a',
    '!t',
    '"q"',
    "it's",
    '{}',
    '[',
    '2026-11-23',
    'ü ✓',
    '%',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
)
const host = fc.constantFrom('a', 'b', 'c').map((label) => `https://${label}.example.com`)
const uri = fc.tuple(host, fc.constantFrom('/cb', '/cb?x=1&y=2', '/a:b')).map((parts) => parts.join(''))
const uris = fc.uniqueArray(uri, { maxLength: 3 })
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const client: fc.Arbitrary<Client> = fc
  .record({
    name,
    type: fc.constantFrom('confidential', 'confidential', 'public', 'native'),
    redirectUris: fc.uniqueArray(uri, { minLength: 1, maxLength: 3 }),
    scopes: optional(fc.uniqueArray(fc.constantFrom('enhancement', 'openid', 'no', '1e3', 'null'), { minLength: 1 })),
    resources: optional(uris),
    resourceServer: optional(uri),
    consent: optional(fc.constantFrom('session', 'signed')),
    requirePkce: optional(fc.boolean()),
    authMethod: optional(fc.constantFrom('client_secret_basic', 'client_secret_post', 'private_key_jwt')),
    grantTypes: optional(fc.constantFrom(['authorization_code'], ['authorization_code', 'refresh_token'], [DEVICE_CODE_GRANT])),
    profile: optional(fc.constantFrom('default', 'fapi2')),
    jwks: optional(fc.constant({ keys: [newClientKey().jwk] })),
    requestObjectSigned: optional(fc.boolean()),
    dpopBound: optional(fc.boolean()),
    idTokenAlgorithm: optional(fc.constantFrom('ES256', 'EdDSA', 'RS256')),
    introspectionSigned: optional(fc.constantFrom('ES256', 'EdDSA')),
    responseModes: optional(fc.constantFrom(['query'], ['form_post', 'query'])),
    postLogoutRedirectUris: optional(uris),
    backchannelLogoutUri: optional(fc.constant('https://a.example.com/logout')),
  })
  .map((registration) => registerClient(registration as ClientRegistration, NOW))
  .filter((outcome) => outcome.kind === 'registered')
  .map((outcome) => (outcome as { client: Client }).client)
  .chain((registered) =>
    fc.boolean().map((isDisabled) => ({ ...registered, id: randomUUID(), disabledAt: isDisabled ? NOW : null })),
  )

const resource: fc.Arbitrary<Resource> = fc
  .record({
    uri: fc.tuple(host, fc.constantFrom('/', '/mcp', '/v1')).map((parts) => parts.join('')),
    name: name.map((each) => each.trim()),
    scopes: fc.uniqueArray(
      fc.record({ name: fc.constantFrom('read', 'write', 'true', '007'), description: name.map((each) => each.trim()) }),
      { minLength: 1, maxLength: 3, selector: (scope) => scope.name },
    ),
    openTo: fc.subarray(['registered', 'metadata', 'dynamic'] as const).map((kinds) => [...kinds]),
    createdAt: fc.constant(NOW),
  })
  .filter((each) => resourceFaults(each).length === 0)

const operator = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd').map((digit) => operatorIdOf(`0x${digit.repeat(40)}`) ?? ''),
  role: fc.constantFrom(...OPERATOR_ROLES),
})

test('An exported store is applied to an empty store, exports the same text again, and applying it to either store changes nothing', async () => {
  const file = join(newFolder(), 'grantor.yaml')
  await fc.assert(
    fc.asyncProperty(
      fc.array(client, { maxLength: 4 }),
      fc.uniqueArray(resource, { maxLength: 3, selector: ({ uri }) => uri }),
      fc.uniqueArray(operator, { maxLength: 3, selector: ({ id }) => id }),
      fc.constantFrom([], ['--json']),
      async (clients, resources, operators, format) => {
        const [one, other] = [await newDatabase(), await newDatabase()]
        const store = openSqliteStore(one.path)
        for (const each of clients) await store.clients.insertClient(each)
        for (const each of resources) await store.resources.insertResource(each)
        for (const [index, each] of operators.entries())
          await setOperator(store, { ...each, role: index === 0 ? 'owner' : each.role, at: NOW })
        await store.close()
        const { out: text } = await run(['export', ...format], one.env)
        writeFileSync(file, text)
        const applied = await run(['apply', file, '--yes'], other.env)
        expect([applied.exit, applied.err]).toEqual([0, ''])
        expect((await run(['export', ...format], other.env)).out).toBe(text)
        for (const { env } of [one, other])
          expect((await run(['apply', file, '--yes', '--prune'], env)).out).toMatch(/^Nothing to change/)
      },
    ),
    { numRuns: Math.max(1, Math.floor(runs / 4)) },
  )
})
