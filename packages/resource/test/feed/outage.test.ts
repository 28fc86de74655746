/** When a reader connects again after an outage. */
import { randomUUID } from 'node:crypto'
import { createTokenCheck } from '@grantor/resource'
import { afterAll, test as base, beforeAll, expect, vi } from 'vitest'
import { audience, wallet } from '../little-issuer.ts'
import { bearer } from '../refusal.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

const test = base
  // Vitest requires the pattern.
  // oxlint-disable-next-line no-empty-pattern
  .extend('server', async ({}, { onCleanup }) => {
    const server = await startFeedServer()
    onCleanup(() => server.close())
    return server
  })
  .extend('check', ({ server }, { onCleanup }) => {
    const introspection = { clientId: 'api:1', clientSecret: 'a secret' }
    const check = createTokenCheck({ issuer: server.issuer.url, audience, check: 'feed', introspection })
    onCleanup(() => check.close())
    return check
  })
  .extend('request', async ({ server }) => bearer(await server.token({ grant_id: randomUUID(), jti: randomUUID() })))

// Every random wait is as long as possible: 1, 2, 4 and 8 seconds after failures.
beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0.999))
afterAll(() => void vi.restoreAllMocks())

function cutConnections(server: FeedServer): void {
  server.instead = ({ response }) => response.destroy()
  for (const { response } of server.open) response.destroy()
}

test.concurrent('After an outage, the first answer of introspection shortens the wait for the next connection', async ({
  server,
  check,
  request,
}) => {
  await check.ready()
  cutConnections(server)
  await expect.poll(() => server.connections.length, { timeout: 30_000 }).toBe(4)
  server.instead = undefined
  const begun = performance.now()
  expect(await check(request)).toMatchObject({ wallet })
  await check.ready()
  expect(performance.now() - begun).toBeLessThan(6000)
})

test.concurrent('While introspection answers but the feed does not, an outage shortens one wait only', async ({
  server,
  check,
  request,
}) => {
  await check.ready()
  cutConnections(server)
  const until = performance.now() + 9000
  while (performance.now() < until) {
    expect(await check(request)).toMatchObject({ wallet })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(server.connections.length).toBeLessThanOrEqual(5)
})
