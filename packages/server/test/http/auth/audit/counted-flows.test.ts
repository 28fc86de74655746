/** The metrics of whole flows. */
import { expect } from 'vitest'
import { createMetrics } from '../../../../src/observability/metrics/metrics.ts'
import { tokensOf } from '../../../support/app.ts'
import { startMetadataClient } from '../../../support/client-host.ts'
import { test as base, FILE, started } from '../../../support/fixtures.ts'
import { CODE_VERIFIER, PKCE, requestOf, Walk } from '../../../support/walk.ts'

const metrics = createMetrics()
const test = base
  .extend('options', FILE, () => ({ metrics, clientMetadata: true }))
  .extend(
    'agent',
    FILE,
    started(startMetadataClient, (agent) => agent.close()),
  )

/** The value of a series; 0 if it does not exist. */
async function read(series: string): Promise<number> {
  const line = (await metrics.render()).split('\n').find((each) => each.startsWith(`${series} `))
  return Number(line?.split(' ').at(-1) ?? 0)
}

test('A sign-in, its consent, its grant and its token responses are counted under the id of the registered client', async ({
  grantor,
  client,
}) => {
  const walk = new Walk(grantor)
  const tokens = tokensOf(await walk.exchange(client, (await walk.signIn(requestOf(client))).code))
  await walk.refresh(client, tokens.refresh_token)
  const by = `client="${client.id}"`
  expect(await read(`grantor_sign_ins_total{method="signature",${by}}`)).toBe(1)
  expect(await read(`grantor_consents_total{result="signed",${by}}`)).toBe(1)
  expect(await read(`grantor_grants_created_total{${by}}`)).toBe(1)
  expect(await read(`grantor_tokens_issued_total{grant_type="authorization_code",${by}}`)).toBe(1)
  expect(await read(`grantor_tokens_issued_total{grant_type="refresh_token",${by}}`)).toBe(1)
})

test('All clients that no operator registered are counted under one value, which is not their URL', async ({
  grantor,
  agent,
}) => {
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(agent.client, PKCE))
  const tokens = tokensOf(await walk.exchange(agent.client, code, { code_verifier: CODE_VERIFIER }))
  await walk.refresh(agent.client, tokens.refresh_token)
  expect(await read('grantor_tokens_issued_total{grant_type="refresh_token",client="unregistered"}')).toBe(1)
  expect(await read('grantor_sign_ins_total{method="signature",client="unregistered"}')).toBe(1)
  expect(await metrics.render()).not.toContain(agent.client.id)
})

test('A grant that ends because of a replay is counted by its reason and its client', async ({ app }) => {
  const by = `client="${app.client.id}"`
  const first = await app.freshTokens()
  const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
  await app.walk.refresh(app.client, second.refresh_token)
  await app.walk.refresh(app.client, first.refresh_token)
  expect(await read(`grantor_endings_total{event="grant_ended",reason="refresh_replayed",${by}}`)).toBe(1)
  const revoked = await app.freshTokens()
  await app.walk.revoke(app.client, revoked.refresh_token)
  expect(await read(`grantor_endings_total{event="grant_ended",reason="revoked",${by}}`)).toBe(1)
})

test('A refused token request is counted as a refusal, and not as a token response', async ({ app }) => {
  const before = await read(`grantor_tokens_issued_total{grant_type="refresh_token",client="${app.client.id}"}`)
  await app.walk.refresh(app.client, 'grr.unknown')
  expect(await read(`grantor_tokens_issued_total{grant_type="refresh_token",client="${app.client.id}"}`)).toBe(before)
  expect(await read('grantor_refusals_total{error="invalid_grant",reason="refresh_token_unknown"}')).toBe(1)
})

test('The metrics have the time at which each key was made, and the time at which it must be replaced', async ({ grantor }) => {
  const createdAt = await read('grantor_key_created_timestamp_seconds{kind="sign"}')
  expect(createdAt).toBe(grantor.clock.now())
  expect(await read('grantor_key_due_timestamp_seconds{kind="sign"}')).toBe(createdAt + 90 * 86_400)
})
