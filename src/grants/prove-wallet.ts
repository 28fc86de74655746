/**
 * Checks whether a signature proves an address: as the key of the address itself, or as the contract at the address.
 *
 * The own key is checked first and needs no chain. A contract is accepted only on the home chain, and never at an address that has
 * once proved itself by its own key: that key still works, whatever code the address points to today (EIP-7702).
 */
import { walletUnavailable } from '../oauth/oauth-error.ts'
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
  admitContractCheck: AdmitContractCheck
}

/** Throws if the caller may cause no more calls to a chain for this address. Returns the network of the caller, or null if it is not known. */
export type AdmitContractCheck = (address: Address) => string | null

export async function proveWallet(deps: Deps, { wallet, admitContractCheck, ...signed }: ClaimedProof): Promise<WalletKind> {
  const plain = verifyPlainSignature(signed.message, signed.signature, signed.address)
  if (plain.kind === 'valid') return 'ordinary'
  const { contractWallets } = deps
  if (signed.chainId !== contractWallets?.homeChainId) throw refusalOf(plain.kind)
  const network = admitContractCheck(signed.address)
  const verdict = await contractWallets.check({ ...signed, network })
  // The chain is also called for an address that has proved itself by its own key, although the answer can no longer help it. A failed
  // proof would otherwise show, by its status, its delay and its count, whether the owner of the address has ever signed in here.
  if (verdict.kind === 'valid') {
    if (wallet.provedItself) throw refusalOf('not_proven')
    return 'contract'
  }
  // Never "wrong signature": the challenge stays valid, and the user can try again.
  if (verdict.kind === 'could_not_check') throw walletUnavailable(verdict.why)
  throw refusalOf(verdict.kind)
}

function refusalOf(kind: 'malformed' | 'not_proven'): LoginError {
  return kind === 'malformed'
    ? new LoginError('invalid_request', 'signature_malformed')
    : new LoginError('not_proven', 'signature_of_another')
}
