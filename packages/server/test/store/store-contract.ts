/**
 * The contract of a store: every operation of `domain/model/request-store.ts`, with its races. Each engine must pass all of
 * these tests. No test depends on the engine.
 */
import { afterEach, beforeEach, describe } from 'vitest'
import { activityContract } from './contract/activity.ts'
import { anyOrderContract } from './contract/any-order.ts'
import { answersContract, askingContract, usesContract } from './contract/approvals.ts'
import { auditContract } from './contract/audit.ts'
import { cleaningContract } from './contract/cleaning.ts'
import { clientsContract, keysContract } from './contract/clients-and-keys.ts'
import { codesContract } from './contract/codes.ts'
import { draftsContract } from './contract/drafts.ts'
import {
  cleaningOfDrawsContract,
  drawRacesContract,
  drawRuleContract,
  limitsContract,
  periodsContract,
  returnsContract,
} from './contract/draws.ts'
import { endingOrderContract } from './contract/ending-order.ts'
import { endingsContract } from './contract/endings.ts'
import { jobsContract } from './contract/jobs.ts'
import { listsContract } from './contract/lists.ts'
import { listsOfAllContract } from './contract/lists-of-all.ts'
import { nodesContract } from './contract/nodes.ts'
import { receiptsContract } from './contract/receipts.ts'
import { refreshContract } from './contract/refresh.ts'
import { resourcesContract } from './contract/resources.ts'
import { restorationsContract } from './contract/restorations.ts'
import { revokedTokensContract } from './contract/revoked-tokens.ts'
import { rotationContract } from './contract/rotation.ts'
import type { StoreUnderTest } from './contract/subject.ts'
import { unavailableContract } from './contract/unavailable.ts'
import { pushedRequestsContract, spentContract } from './contract/used-once.ts'
import { findWalletsContract, sessionsContract, walletsContract } from './contract/wallets-and-sessions.ts'
import { webhooksContract } from './contract/webhooks.ts'

export type { StoreUnderTest } from './contract/subject.ts'

/** Declares the contract's tests for one engine. `makeStore` must return an empty store; it is called before each test. */
export function storeContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let underTest: StoreUnderTest
    const subject = (): StoreUnderTest => underTest
    beforeEach(async () => {
      underTest = await makeStore()
    })
    afterEach(() => underTest.close())

    describe('Authorization codes', () => codesContract(subject))
    describe('Refresh tokens', () => refreshContract(subject))
    describe('The rule of a refresh', () => rotationContract(subject))
    describe('Ending and listing grants', () => endingsContract(subject))
    describe('Reading the endings', () => endingOrderContract(subject))
    describe('Revoked access tokens', () => revokedTokensContract(subject))
    describe('Wallets', () => walletsContract(subject))
    describe('Finding wallets', () => findWalletsContract(subject))
    describe('Sessions', () => sessionsContract(subject))
    describe('Receipts', () => receiptsContract(subject))
    describe('Clients', () => clientsContract(subject))
    describe('Resources', () => resourcesContract(subject))
    describe('Operators and jobs', () => listsContract(subject))
    describe('Long jobs', () => jobsContract(subject))
    describe('Keys', () => keysContract(subject))
    describe('Assertions and proofs that may be used once', () => spentContract(subject))
    describe('Pushed requests', () => pushedRequestsContract(subject))
    describe('Asking for approvals', () => askingContract(subject))
    describe('Answers to approvals', () => answersContract(subject))
    describe('Uses of approvals', () => usesContract(subject))
    describe('Limits and draws', () => limitsContract(subject))
    describe('Periods of limits', () => periodsContract(subject))
    describe('Returns of draws', () => returnsContract(subject))
    describe('Draws at once', () => drawRacesContract(subject))
    describe('The rule of a draw', () => drawRuleContract(subject))
    describe('Deleting draws', () => cleaningOfDrawsContract(subject))
    describe('Deleting expired rows', () => cleaningContract(subject))
    describe('Restorations from a backup', () => restorationsContract(subject))
    describe('The audit trail', () => auditContract(subject))
    describe('Webhooks', () => webhooksContract(subject))
    describe('Drafts of the console', () => draftsContract(subject))
    describe('Lists over all wallets', () => listsOfAllContract(subject))
    describe('The reports of the nodes', () => nodesContract(subject))
    describe('The activity of each day', () => activityContract(subject))
    describe('Arbitrary sequences of operations', () => anyOrderContract(subject))
    describe('A store that cannot be used', () => unavailableContract(subject))
  })
}
