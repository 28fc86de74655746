/** Helpers for tests of the console: a service with operators, and a browser that is signed in. */
import type { Page } from 'playwright-core'
import type { OperatorRole } from '../../../src/domain/model/records.ts'
import { setOperator } from '../../../src/domain/operators/operators.ts'
import type { Grantor } from '../../support/start.ts'
import { installWallet, type TestWallet, testWallet } from '../../support/wallet.ts'

export const OWNER = testWallet(0)
export const OTHER = testWallet(1)

export async function addOperator(grantor: Grantor, wallet: TestWallet, role: OperatorRole): Promise<void> {
  const outcome = await setOperator(grantor.store, { id: wallet.address, role, at: grantor.clock.now() })
  if (outcome.kind !== 'done') throw new Error(outcome.why)
}

/** Signs in to the console with a wallet in the browser. */
export async function signInToConsole(
  page: Page,
  grantor: Grantor,
  wallet: TestWallet = OWNER,
  path = '/console',
): Promise<void> {
  await installWallet(page, wallet)
  await page.goto(`${grantor.adminUrl}${path}`)
  await page.getByRole('link', { name: 'Sign in with your wallet' }).click()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.waitForURL((url) => url.origin === grantor.adminUrl)
}
