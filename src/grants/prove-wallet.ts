/**
 * Whether a signature proves an address: as the key of the address itself, or as the contract at the address.
 *
 * The plain way comes first and asks nobody. The contract way is for the one home chain, and closed for ever to an
 * address that once proved itself the plain way: its key still works, whatever code it points to today (EIP-7702).
 */
import type { Address } from '../wallet/address.ts'
import { verifyPlainSignature } from '../wallet/signature.ts'
import type { Deps } from './deps.ts'
import { LoginError } from './login-error.ts'
import type { WalletKind } from './model.ts'
import type { Wallet } from './ports.ts'

export type SignedText = { message: string; signature: string; address: Address; chainId: number }

export async function proveWallet(deps: Deps, signed: SignedText, wallet: Wallet): Promise<WalletKind> {
  const plain = verifyPlainSignature(signed.message, signed.signature, signed.address)
  if (plain.kind === 'valid') return 'ordinary'
  const { contractWallets } = deps
  if (!isHexBytes(signed.signature)) throw new LoginError('invalid_request', 'signature_malformed')
  if (!contractWallets || wallet.provedItself || signed.chainId !== contractWallets.homeChainId) {
    if (plain.kind === 'malformed') throw new LoginError('invalid_request', 'signature_malformed')
    throw new LoginError('not_proven', 'signature_of_another')
  }
  const verdict = await contractWallets.check(signed)
  switch (verdict.kind) {
    case 'valid':
      return 'contract'
    case 'not_proven':
      throw new LoginError('not_proven', 'contract_refuses')
    case 'too_many':
      throw new LoginError('too_many_failures', 'contract_checks', verdict.retryAfter)
    case 'could_not_check':
      // Never "wrong signature": the challenge stays good, and the person tries again.
      throw new LoginError('temporarily_unavailable', `contract_${verdict.why}`, 5)
  }
}

function isHexBytes(signature: string): boolean {
  return /^0x(?:[0-9a-fA-F]{2})+$/.test(signature)
}
