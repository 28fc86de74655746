/** An address as an operator types it. */
import { type Address, parseAddress } from '../wallet/address.ts'
import { UsageFailure } from './command.ts'

/** The EIP-55 form of what was typed, or undefined where nothing was. */
export function walletFrom(text: string | undefined): Address | undefined {
  if (text === undefined) return undefined
  const parsed = parseAddress(text)
  if (parsed.kind === 'address') return parsed.address
  throw new UsageFailure(
    parsed.kind === 'wrong_checksum'
      ? '--wallet has a wrong checksum (EIP-55): one of its characters is not what it was; or write it all in lower case'
      : '--wallet must be an address: 0x and 40 hexadecimal digits',
  )
}
