/**
 * A real Grantor for the tests of an app, and a wallet for the browser.
 * @module @grantor/testing
 */

export type { TokenResponse } from 'grantor/private'
export type { TestClock } from './clock.ts'
export type { Faults, FaultyEndpoint } from './faults.ts'
export type { InstalledTestWallet, PlaywrightPage, TestWalletOptions, WalletAnswer } from './install-test-wallet.ts'
export { installTestWallet } from './install-test-wallet.ts'
export type { ClientEntry, ResourceEntry, TestClient } from './records.ts'
export { startTestGrantor } from './start.ts'
export type { TestGrantor, TestGrantorOptions, TokenRequest } from './test-grantor.ts'
export type { TestWallet } from './wallets.ts'
