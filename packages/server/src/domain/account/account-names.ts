/**
 * The public names of accounts, kept in memory.
 *
 * Other servers are called only for accounts that have signed in. No request waits longer than 300 milliseconds: the account is then shown
 * without a name, and the answer is kept for the next request.
 *
 * A name has no effect: sessions, grants and `sub` belong to the address (ERC-4361).
 */
import type { Address } from '../../protocol/wallet/address.ts'
import type { AccountName, AccountNames, NameAnswer, SignedInAccount } from '../model/deps.ts'
import { AnswerCache, type CachedAnswer } from './answer-cache.ts'
import { Avatars, type AvatarsOptions } from './avatars.ts'

export type AccountNamesOptions = AvatarsOptions & {
  /** the chain that has the names */
  chainId: number
  /** does not throw */
  readName: (wallet: Address) => Promise<NameAnswer>
  /** in milliseconds */
  pause: (milliseconds: number) => Promise<unknown>
}

const WAIT_AT_MOST_MS = 300

/** Seconds. A failed look-up is repeated soon, but not by each request of the account. */
const FRESH_FOR = { name: 3_600, none: 600, unavailable: 60 }
const NAMES_AT_MOST = 20_000
/** Characters of all names and avatar records. */
const CHARACTERS_AT_MOST = 8_000_000
const LOOK_UPS_AT_ONCE = 16

export function createAccountNames({ chainId, readName, pause, ...options }: AccountNamesOptions): AccountNames {
  const { now } = options
  const names = new AnswerCache<AccountName | null>({
    entriesAtMost: NAMES_AT_MOST,
    sizeAtMost: CHARACTERS_AT_MOST,
    atOnce: LOOK_UPS_AT_ONCE,
    now,
  })
  const avatars = new Avatars(options)

  /**
   * A key is the same on every chain. A contract on another chain can have another owner, and the platform may have vouched for a contract
   * (ENSIP-19: names of Ethereum are not for the accounts of other chains).
   */
  function mayHaveName(account: SignedInAccount): boolean {
    return account.chainId === chainId || (account.walletKind === 'ordinary' && account.receiptId !== null)
  }

  async function lookUp(wallet: Address): Promise<AccountName | null> {
    return (await names.read(wallet, async () => answerOf(await readName(wallet)))) ?? null
  }

  async function lookUpPicture(wallet: Address) {
    const avatar = (await lookUp(wallet))?.avatar
    return avatar ? avatars.find(avatar) : null
  }

  function withinWait<Value>(answer: Promise<Value | null>): Promise<Value | null> {
    return Promise.race([answer, pause(WAIT_AT_MOST_MS).then(() => null)])
  }

  return {
    mayHaveName,
    prepare(account) {
      if (mayHaveName(account)) void lookUp(account.wallet)
    },
    find: async (account) => (mayHaveName(account) ? ((await withinWait(lookUp(account.wallet)))?.name ?? null) : null),
    findPicture: (wallet) => withinWait(lookUpPicture(wallet)),
  }
}

function answerOf(answer: NameAnswer): CachedAnswer<AccountName | null> {
  const freshFor = FRESH_FOR[answer.kind]
  if (answer.kind !== 'name') return { value: null, freshFor, size: 0 }
  const { name, avatar } = answer
  return { value: { name, avatar }, freshFor, size: name.length + (avatar?.length ?? 0) }
}
