/**
 * Whether a signature proves an address: as the key of the address itself, or as the contract at the address.
 *
 * The plain way comes first and asks nobody. The contract way is for the one home chain, and closed for ever to an
 * address that once proved itself the plain way: its key still works, whatever code it points to today (EIP-7702).
 */
import { tooManyContractChecks, walletUnavailable } from '../oauth/oauth-error.ts'
import type { Address } from '../wallet/address.ts'
import { verifyPlainSignature } from '../wallet/signature.ts'
import type { Deps } from './deps.ts'
import { LoginError } from './login-error.ts'
import type { WalletKind } from './model.ts'
import type { Wallet } from './ports.ts'

export type ClaimedProof = {
  message: string
  signature: string
  address: Address
  chainId: number
  wallet: Wallet
  /** throws if the caller may cause no more calls to a chain */
  admitContractCheck: () => void
}

export async function proveWallet(deps: Deps, { wallet, admitContractCheck, ...signed }: ClaimedProof): Promise<WalletKind> {
  const plain = verifyPlainSignature(signed.message, signed.signature, signed.address)
  if (plain.kind === 'valid') return 'ordinary'
  const { contractWallets } = deps
  if (!contractWallets || wallet.provedItself || signed.chainId !== contractWallets.homeChainId) throw refusalOf(plain.kind)
  // The network first: a caller over its limit must not use up the checks of an address.
  admitContractCheck()
  const admitted = contractWallets.admit(signed.address)
  if (!admitted.allowed) throw tooManyContractChecks(admitted.retryAfter)
  const verdict = await contractWallets.check(signed)
  if (verdict.kind === 'valid') return 'contract'
  // Never "wrong signature": the challenge stays good, and the person tries again.
  if (verdict.kind === 'could_not_check') throw walletUnavailable(verdict.why)
  throw refusalOf(verdict.kind)
}

function refusalOf(kind: 'malformed' | 'not_proven'): LoginError {
  return kind === 'malformed'
    ? new LoginError('invalid_request', 'signature_malformed')
    : new LoginError('not_proven', 'signature_of_another')
}
