import type { Page } from 'playwright-core'
import { createBuilderApp } from '../../demo/builder-app/index.ts'
import { createResourceApi } from '../../demo/resource-api/index.ts'
import { freePorts } from '../support/free-ports.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import { startGrantor } from '../support/start.ts'

export type Demo = {
  grantor: Grantor
  appUrl: string
  apiUrl: string
  /** the demo app's own record */
  client: TestClient
  close(): Promise<void>
}

/** Starts in the test's process what `grantor start` runs: Grantor, the demo builder app and the demo resource API. */
export async function startDemo(): Promise<Demo> {
  const [appPort, apiPort] = await freePorts(2)
  const [appUrl, apiUrl] = [`http://localhost:${appPort}`, `http://localhost:${apiPort}`]
  const grantor = await startGrantor({ settings: { defaultResource: apiUrl } })
  const client = await grantor.createClient({
    name: 'Demo builder app',
    redirectUris: [`${appUrl}/callback`],
    scopes: ['enhancement', 'profile'],
    resources: [apiUrl],
  })
  const api = await grantor.createClient({ name: 'Demo resource API', redirectUris: [], resourceServer: apiUrl })

  const { authUrl: issuer, clock } = grantor
  const app = createBuilderApp({
    issuer,
    clientId: client.id,
    clientSecret: client.secret,
    baseUrl: appUrl,
    apiUrl,
    now: clock.now,
  })
  const resource = createResourceApi({ issuer, audience: apiUrl, clientId: api.id, clientSecret: api.secret, now: clock.now })
  await app.listen({ host: '127.0.0.1', port: appPort ?? 0 })
  await resource.listen({ host: '127.0.0.1', port: apiPort ?? 0 })
  return {
    grantor,
    appUrl,
    apiUrl,
    client,
    async close() {
      await Promise.all([app.close(), resource.close(), grantor.close()])
    },
  }
}

/** On the login page, chooses the only installed wallet, and signs. */
export async function signInWithWallet(page: Page): Promise<void> {
  await page.locator('#wallets button').click()
  await page.locator('#sign').click()
}
