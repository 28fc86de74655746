/** An address as an operator types it. */
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import { UsageError } from './command.ts'

/** The EIP-55 form of the given address, or undefined if none was given. */
export function walletFrom(text: string | undefined): Address | undefined {
  if (text === undefined) return undefined
  const parsed = parseAddress(text)
  if (parsed.kind === 'address') return parsed.address
  throw new UsageError(
    parsed.kind === 'wrong_checksum'
      ? '--wallet has a wrong checksum (EIP-55), so it contains a typing error; or write it completely in lower case'
      : '--wallet must be an address: 0x and 40 hexadecimal digits',
  )
}
