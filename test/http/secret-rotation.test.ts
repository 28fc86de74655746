import { afterEach, beforeEach, expect, test } from 'vitest'
import { rotateClientSecret } from '../../src/domain/clients/register-client.ts'
import type { Client } from '../../src/domain/model/records.ts'
import { type App, startApp } from '../support/app.ts'
import { expectRefusal } from '../support/refusals.ts'

const DAY = 86_400

let app: App
let client: Client

beforeEach(async () => {
  app = await startApp()
  client = app.client
})
afterEach(() => app.close())

/** What `clients rotate-secret` does; the new secret. */
async function rotate(overlap: number): Promise<string> {
  const rotated = rotateClientSecret(client, overlap, app.grantor.clock.now())
  client = rotated.client
  await app.grantor.store.clients.replaceClient(client)
  await app.grantor.noticeChanges()
  return rotated.secret
}

async function expectTaken(secret: string): Promise<void> {
  expect((await app.walk.introspect({ id: client.id, secret }, 'x')).status).toBe(200)
}

async function expectRefused(secret: string): Promise<void> {
  expectRefusal(await app.walk.introspect({ id: client.id, secret }, 'x'), 'invalid_client')
}

test('during a rotation the old and the new secret are both taken, the old one to its end', async () => {
  const next = await rotate(DAY)
  for (const secret of [app.client.secret, next]) await expectTaken(secret)
  app.grantor.clock.advance(DAY - 1)
  await expectTaken(app.client.secret)
  app.grantor.clock.advance(1)
  await expectRefused(app.client.secret)
  await expectTaken(next)
})

test('a second rotation ends the oldest at once: two are valid, never three', async () => {
  const second = await rotate(DAY)
  const third = await rotate(DAY)
  await expectRefused(app.client.secret)
  for (const secret of [second, third]) await expectTaken(secret)
})

test('without an overlap the old secret ends at once', async () => {
  const next = await rotate(0)
  await expectRefused(app.client.secret)
  await expectTaken(next)
})

test('tokens and grants go on under the new secret', async () => {
  const tokens = await app.freshTokens()
  const secret = await rotate(0)
  expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_client')
  expect((await app.walk.refresh({ id: client.id, secret }, tokens.refresh_token)).status).toBe(200)
})
