/**
 * The primary ENS name of an address, read from the contracts of Ethereum.
 *
 * Any account can claim any name in its reverse record. A name counts only if the name also resolves to the address (ENSIP-3). A name that
 * is not shown is not resolved, so no text of a contract leaves this file unchecked.
 */
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import type { ChainReader } from '../../protocol/wallet/contract-signature.ts'
import { hashName, hashOfReverseName, isShownName } from '../../protocol/wallet/ens-name.ts'
import { encodeBytes, writeWord } from '../../protocol/wallet/wrapped-signature.ts'
import { composeResolverCall, RESOLVER_CALL_GAS } from './resolver-call.ts'

/** ENS works on this chain only: contracts at the same addresses of other chains have other owners. */
export const ENS_CHAIN = 1

/**
 * - `none`: the address has no name that can be shown.
 * - `unavailable`: an RPC endpoint did not respond, or two endpoints contradict each other.
 */
export type PrimaryName =
  | { kind: 'name'; name: string; avatar: string | null }
  | { kind: 'none' }
  | { kind: 'unavailable'; why: string }

/** Reads the name through every reader. All of them must agree: one endpoint alone could give any account any name. */
export async function readPrimaryName(readers: readonly ChainReader[], address: Address): Promise<PrimaryName> {
  const names = await Promise.all(readers.map((reader) => readThrough(reader, address)))
  const [first] = names
  if (first === undefined) return { kind: 'none' }
  const failed = names.find(({ kind }) => kind === 'unavailable')
  if (failed) return failed
  const isSame = names.every((each) => JSON.stringify(each) === JSON.stringify(first))
  return isSame ? first : { kind: 'unavailable', why: 'chains_disagree' }
}

async function readThrough(reader: ChainReader, address: Address): Promise<PrimaryName> {
  try {
    // 1. The name that the address gives itself (ENSIP-3).
    const name = decodeText(await askResolver(reader, hashOfReverseName(address), SELECTORS.name))

    // 2. Only a name that is normalised has a meaningful hash (ENSIP-1, ENSIP-15).
    if (name === null || !isShownName(name)) return { kind: 'none' }

    // 3. The address that the name resolves to, and the picture of the name (ENSIP-12).
    const node = hashName(name)
    const [owner, avatar] = await Promise.all([
      askResolver(reader, node, SELECTORS.addr),
      askResolver(reader, node, SELECTORS.text, AVATAR_KEY),
    ])
    return owner === encodeAddress(address) ? { kind: 'name', name, avatar: decodeText(avatar) || null } : { kind: 'none' }
  } catch (error) {
    if (error instanceof NameUnavailable) return { kind: 'unavailable', why: error.message }
    throw error
  }
}

export type NamedAddress = { kind: 'address'; address: Address } | { kind: 'none' } | { kind: 'unavailable'; why: string }

/** The address that a name resolves to. All readers must agree. A name that is not shown is not resolved. */
export async function readAddressOf(readers: readonly ChainReader[], name: string): Promise<NamedAddress> {
  if (!isShownName(name)) return { kind: 'none' }
  try {
    const answers = await Promise.all(readers.map((reader) => askResolver(reader, hashName(name), SELECTORS.addr)))
    const [first] = answers
    if (answers.some((answer) => answer !== first)) return { kind: 'unavailable', why: 'chains_disagree' }
    const [, digits = ''] = /^0x0{24}([0-9a-f]{40})$/.exec(first ?? '') ?? []
    const parsed = parseAddress(`0x${digits}`)
    // A resolver that has no address for the name returns zeros.
    return parsed.kind === 'address' && /[1-9a-f]/i.test(digits) ? parsed : { kind: 'none' }
  } catch (error) {
    if (error instanceof NameUnavailable) return { kind: 'unavailable', why: error.message }
    throw error
  }
}

class NameUnavailable extends Error {}

/** What the resolver of a node returns; `0x` if there is no resolver, or if the resolver refuses. */
async function askResolver(reader: ChainReader, node: string, selector: string, argument = ''): Promise<string> {
  const digits = node.slice(2)
  const findResolver = SELECTORS.resolver + digits
  const data = composeResolverCall({
    chainId: ENS_CHAIN,
    registry: REGISTRY,
    findResolver,
    question: selector + digits + argument,
  })
  const answer = await reader.call({ data, gas: RESOLVER_CALL_GAS })
  if (answer.kind === 'unavailable') throw new NameUnavailable(answer.why)
  return answer.data
}

/** The registry of ENS, at the same address since 2020. */
const REGISTRY = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e'

/** The first four bytes of the hashes of the functions' signatures. */
const SELECTORS = {
  /** `resolver(bytes32)` of the registry (ENSIP-1) */
  resolver: '0178b8bf',
  /** `name(bytes32)` (ENSIP-3) */
  name: '691f3431',
  /** `addr(bytes32)` (ENSIP-1) */
  addr: '3b3b57de',
  /** `text(bytes32,string)` (ENSIP-5) */
  text: '59d1d43c',
}

/** The second argument of `text`, which begins after two words. */
const AVATAR_KEY = writeWord(64) + encodeBytes('617661746172')

/** An ABI `address` as the only result. */
function encodeAddress(address: Address): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/**
 * An ABI `string` as the only result. Each byte becomes one character, so a text that is not ASCII is never mistaken for one that is. Null
 * for anything else.
 */
function decodeText(data: string): string | null {
  const [, length = '', digits = ''] = /^0x0{62}20(0{60}[0-9a-f]{4})((?:[0-9a-f]{2})*)$/.exec(data) ?? []
  const size = Number.parseInt(length, 16)
  return size * 2 <= digits.length ? Buffer.from(digits.slice(0, size * 2), 'hex').toString('latin1') : null
}
