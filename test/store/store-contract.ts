/**
 * What every store promises the domain, each move of `domain/model/request-store.ts` with its races. An engine passes by running
 * this one function over itself; nothing in it knows which engine it is.
 */
import { afterEach, beforeEach, describe } from 'vitest'
import { anyOrderContract } from './contract/any-order.ts'
import { cleaningContract } from './contract/cleaning.ts'
import { clientsContract, keysContract } from './contract/clients-and-keys.ts'
import { codesContract } from './contract/codes.ts'
import { endingsContract } from './contract/endings.ts'
import { receiptsContract } from './contract/receipts.ts'
import { refreshContract } from './contract/refresh.ts'
import { resourcesContract } from './contract/resources.ts'
import { restorationsContract } from './contract/restorations.ts'
import { revokedTokensContract } from './contract/revoked-tokens.ts'
import type { StoreUnderTest } from './contract/subject.ts'
import { unavailableContract } from './contract/unavailable.ts'
import { pushedRequestsContract, spentContract } from './contract/used-once.ts'
import { sessionsContract, walletsContract } from './contract/wallets-and-sessions.ts'

export type { StoreUnderTest } from './contract/subject.ts'

/** Declares the contract's tests for one engine; `makeStore` is asked for empty data before each of them. */
export function storeContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let underTest: StoreUnderTest
    const subject = (): StoreUnderTest => underTest
    beforeEach(async () => {
      underTest = await makeStore()
    })
    afterEach(() => underTest.close())

    describe('codes', () => codesContract(subject))
    describe('refresh tokens', () => refreshContract(subject))
    describe('endings', () => endingsContract(subject))
    describe('revoked access tokens', () => revokedTokensContract(subject))
    describe('wallets', () => walletsContract(subject))
    describe('sessions', () => sessionsContract(subject))
    describe('receipts', () => receiptsContract(subject))
    describe('clients', () => clientsContract(subject))
    describe('resources', () => resourcesContract(subject))
    describe('keys', () => keysContract(subject))
    describe('what is used once', () => spentContract(subject))
    describe('pushed requests', () => pushedRequestsContract(subject))
    describe('cleaning', () => cleaningContract(subject))
    describe('restorations', () => restorationsContract(subject))
    describe('moves in any order', () => anyOrderContract(subject))
    describe('trouble', () => unavailableContract(subject))
  })
}
