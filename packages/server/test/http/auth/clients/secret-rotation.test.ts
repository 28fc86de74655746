import { afterEach, beforeEach, expect, test } from 'vitest'
import { rotateClientSecret } from '../../../../src/domain/clients/register-client.ts'
import type { Client } from '../../../../src/domain/model/records.ts'
import { type App, startApp } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'

const DAY = 86_400

let app: App
let client: Client

beforeEach(async () => {
  app = await startApp()
  client = app.client
})
afterEach(() => app.close())

/** Does what the command `clients rotate-secret` does, and returns the new secret. */
async function rotate(overlap: number): Promise<string> {
  const rotated = rotateClientSecret(client, overlap, app.grantor.clock.now())
  client = rotated.client
  await app.grantor.store.clients.replaceClient(client)
  await app.grantor.noticeChanges()
  return rotated.secret
}

async function expectAccepted(secret: string): Promise<void> {
  expect((await app.walk.introspect({ id: client.id, secret }, 'x')).status).toBe(200)
}

async function expectRefused(secret: string): Promise<void> {
  expectRefusal(await app.walk.introspect({ id: client.id, secret }, 'x'), 'invalid_client')
}

test('During a rotation the old and the new secret are both accepted, until the overlap of the old one ends', async () => {
  const next = await rotate(DAY)
  for (const secret of [app.client.secret, next]) await expectAccepted(secret)
  app.grantor.clock.advance(DAY - 1)
  await expectAccepted(app.client.secret)
  app.grantor.clock.advance(1)
  await expectRefused(app.client.secret)
  await expectAccepted(next)
})

test('A second rotation ends the oldest secret at once, so that at most two are valid', async () => {
  const second = await rotate(DAY)
  const third = await rotate(DAY)
  await expectRefused(app.client.secret)
  for (const secret of [second, third]) await expectAccepted(secret)
})

test('Without an overlap, a rotation ends the old secret at once', async () => {
  const next = await rotate(0)
  await expectRefused(app.client.secret)
  await expectAccepted(next)
})

test('After a rotation, a client can refresh its earlier tokens with the new secret', async () => {
  const tokens = await app.freshTokens()
  const secret = await rotate(0)
  expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_client')
  expect((await app.walk.refresh({ id: client.id, secret }, tokens.refresh_token)).status).toBe(200)
})
