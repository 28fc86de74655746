/** Helpers for tests of the account page: sign in to it, and connect an app. */
import type { Page } from 'playwright-core'
import type { Grantor, TestClient } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { installWallet, type TestWallet } from '../support/wallet.ts'

/** Signs in at the account page with a wallet in the browser. Returns the texts that the wallet signs. */
export async function openAccount(page: Page, grantor: Grantor, wallet: TestWallet): Promise<string[]> {
  const { signed } = await installWallet(page, wallet)
  await page.goto(`${grantor.authUrl}/account`)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.waitForURL(`${grantor.authUrl}/account`)
  return signed
}

export type ConnectedApp = { walk: Walk; accessToken: string; refreshToken: string; isActive(): Promise<boolean> }

/** Signs in to an app in another browser and redeems the code, so that the app has a grant. */
export async function connectApp(grantor: Grantor, client: TestClient, wallet: TestWallet): Promise<ConnectedApp> {
  const walk = new Walk(grantor, wallet)
  const { code } = await walk.signIn(requestOf(client))
  const { access_token: accessToken, refresh_token: refreshToken } = (await walk.exchange(client, code)).json()
  return {
    walk,
    accessToken: String(accessToken),
    refreshToken: String(refreshToken),
    isActive: async () => (await walk.introspect(client, String(accessToken))).json().active === true,
  }
}

/** The part of the account page that is about one app. */
export function appOnPage(page: Page, name: string) {
  return page.locator('tbody').filter({ has: page.getByRole('heading', { name, exact: true, level: 3 }) })
}

/** Ends the access of an app, by keyboard. */
export async function endOnPage(page: Page, name: string) {
  await appOnPage(page, name).getByText('End access', { exact: true }).press('Enter')
  await page.getByRole('button', { name: `End access of ${name}` }).press('Enter')
  await page.getByRole('status').waitFor()
}
