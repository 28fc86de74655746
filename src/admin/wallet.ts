/** The address of a wallet in a request. */
import { type Address, parseAddress } from '../wallet/address.ts'
import { Problem } from './problem.ts'

/** Throws unless the text is an address. Mixed case must be the EIP-55 form. */
export function walletOf(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed.kind === 'address') return parsed.address
  throw new Problem('invalid_request', 'The request has faults.', ['wallet is not an address with the right checksum (EIP-55).'])
}
