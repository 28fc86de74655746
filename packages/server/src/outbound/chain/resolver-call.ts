/**
 * EVM code that finds the resolver of an ENS name and calls the resolver. `eth_call` runs the code without a recipient, as it runs the check
 * of a contract wallet (`packages/server/src/protocol/wallet/check-code.ts`).
 *
 * One call instead of two halves the time until a name is known. A resolver may revert, loop or refer to another server (ERC-3668): that
 * happens in an inner call. The code then returns nothing, whatever error the node would report.
 */
import { op, push, pushAddress, sizeOf } from '../../protocol/wallet/evm-code.ts'

/** Gas limit of the whole call: for both calls, and 200 for each byte of the result, as if the result were code. */
export const RESOLVER_CALL_GAS = 2_000_000
/** The registry reads one slot, or two. */
const REGISTRY_GAS = 100_000
/** Enough for a resolver that reads its own storage; little work for an endpoint that runs a hostile resolver. */
const RESOLVER_GAS = 700_000

/** Bytes. A name has at most a few hundred; a picture in a data URI may have as many as this. */
const RESULT_AT_MOST = 4_096

export type ResolverCall = {
  chainId: number
  registry: string
  /** the calldata for the registry, which returns the address of the resolver; in digits, like the next */
  findResolver: string
  /** the calldata for the resolver */
  question: string
}

/** Memory layout: the resolver's address in the first word, then both calldata. */
const resolverAt = 0
const textsAt = 32

/** Composes the init code, `0x` and digits. Its result is what the resolver returns. */
export function composeResolverCall({ chainId, registry, findResolver, question }: ResolverCall): string {
  const texts = findResolver + question
  const code = (start: number): string =>
    [
      push(2, sizeOf(texts)), //   the texts follow the instructions
      push(2, start),
      push(1, textsAt),
      op.codecopy,

      push(1, 32), //              room for the address
      push(1, resolverAt),
      push(2, sizeOf(findResolver)),
      push(1, textsAt),
      pushAddress(registry),
      push(3, REGISTRY_GAS),
      op.staticcall,
      op.pop, //                   a registry that fails leaves the zero address, which returns nothing

      push(1, 0), //               no room yet for the resolver's return data, whose size is not known
      push(1, 0),
      push(2, sizeOf(question)),
      push(2, textsAt + sizeOf(findResolver)),
      push(1, resolverAt),
      op.mload,
      push(3, RESOLVER_GAS),
      op.staticcall, //            1 when it succeeds

      op.chainid,
      push(7, chainId),
      op.eq,
      op.mul, //                   0 on another chain
      push(2, RESULT_AT_MOST + 1),
      op.returndatasize,
      op.lt,
      op.mul, //                   0 if the result is too long
      op.returndatasize,
      op.mul, //                   how much to return

      op.dup1,
      push(1, 0),
      push(1, 0),
      op.returndatacopy,
      push(1, 0),
      op.return,
    ].join('')
  return `0x${code(sizeOf(code(0)))}${texts}`
}
