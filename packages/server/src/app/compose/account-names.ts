/** The public names of accounts: from the chains of the settings, if one of them is Ethereum. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Chain } from '../../config/chains.ts'
import { createAccountNames } from '../../domain/account/account-names.ts'
import type { AccountNames, FetchFromClient } from '../../domain/model/deps.ts'
import type { Limited } from '../../http/auth/service.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Logger } from '../../observability/log/logger.ts'
import { createChainReader } from '../../outbound/chain/chain-reader.ts'
import type { CallWith } from '../../outbound/chain/json-rpc.ts'
import {
  ENS_CHAIN,
  type NamedAddress,
  type PrimaryName,
  readAddressOf,
  readPrimaryName,
} from '../../outbound/chain/primary-name.ts'
import type { Address } from '../../protocol/wallet/address.ts'

type ReadName = (wallet: Address) => Promise<PrimaryName>
export type Names = { readName: ReadName; findName: (name: string) => Promise<NamedAddress> }

/** Null if no endpoint of Ethereum is configured. The readers are separate, so that names cannot use up the calls for contract wallets. */
export function connectNames(chains: readonly Chain[], callWith?: CallWith): Names | null {
  const rpc = chains.find(({ chainId }) => chainId === ENS_CHAIN)?.rpc
  const readers = rpc?.map((url) => createChainReader({ url, callWith }))
  if (!readers) return null
  return { readName: async (wallet) => readPrimaryName(readers, wallet), findName: async (name) => readAddressOf(readers, name) }
}

type AccountNamesOptions = {
  names: Names | null
  fetch: FetchFromClient
  limits: Pick<RateLimit<Limited>, 'count'>
  logger: Pick<Logger, 'warn'>
  now: () => number
}

export function composeAccountNames({ names, fetch, limits, logger, now }: AccountNamesOptions): AccountNames | null {
  if (names === null) return null
  return createAccountNames({
    chainId: ENS_CHAIN,
    readName: noteFailures(names.readName, logger, now),
    fetch,
    // Not the budget of clients: the owner of a name must not be able to use up the fetches of a client's host.
    countFetch: (host) => limits.count('host_fetches', `avatar ${host}`).allowed,
    now,
    pause: (milliseconds) => pauseFor(milliseconds, undefined, { ref: false }),
  })
}

/** Seconds between two lines of the log: while an endpoint fails, each account that signs in causes a failure. */
const NOTED_EVERY = 60

function noteFailures(readName: ReadName, logger: AccountNamesOptions['logger'], now: AccountNamesOptions['now']): ReadName {
  let notedAt = Number.NEGATIVE_INFINITY
  return async (wallet) => {
    const answer = await readName(wallet)
    if (answer.kind === 'unavailable' && Math.abs(now() - notedAt) >= NOTED_EVERY) {
      notedAt = now()
      logger.warn({ problem: answer.why }, 'names unavailable')
    }
    return answer
  }
}
