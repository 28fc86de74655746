/**
 * Checks whether a signature proves an address: a signature by the key of the address, or one that the contract at the address accepts.
 *
 * The key is checked first, without calling the chain, unless the operator has turned on the check whether the account has switched its key off.
 * A contract is accepted only on the home chain, which the text must name (ERC-4361), and only if the address has never signed with its key: that
 * key still works, whatever code the address points to today (EIP-7702).
 */
import { walletUnavailable } from '../../protocol/oauth/oauth-error.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { verifyPlainSignature } from '../../protocol/wallet/signature.ts'
import type { ContractWallets, Deps } from '../model/deps.ts'
import type { WalletKind } from '../model/records.ts'
import type { WalletState } from '../model/request-store.ts'
import { LoginError } from './login-error.ts'

export type ClaimedProof = {
  message: string
  signature: string
  address: Address
  chainId: number
  wallet: WalletState
  admitContractCheck: AdmitContractCheck
}

/** Throws if the caller has reached the limit of chain calls. Returns the network of the caller, or null if the network is unknown. */
export type AdmitContractCheck = (address: Address) => string | null

export async function proveWallet(deps: Deps, { wallet, admitContractCheck, ...signed }: ClaimedProof): Promise<WalletKind> {
  const plain = verifyPlainSignature(signed.message, signed.signature, signed.address)
  const { contractWallets } = deps
  if (plain.kind === 'valid') {
    if (contractWallets?.checkOwnKey) await refuseSwitchedOff(contractWallets.checkOwnKey, signed.address, admitContractCheck)
    return 'ordinary'
  }
  if (signed.chainId !== contractWallets?.homeChainId) throw refusalOf(plain.kind)
  const network = admitContractCheck(signed.address)
  const verdict = await contractWallets.check({ ...signed, network })
  // The chain is called even if the address has signed with its own key, although the result cannot be accepted. Otherwise the status,
  // the delay and the number of calls of a failed proof would show whether the owner of the address has ever signed in here.
  if (verdict.kind === 'valid') {
    if (wallet.provedItself) throw refusalOf('not_proven')
    return 'contract'
  }
  // This is not an invalid signature: the challenge stays valid, and the user can try again.
  if (verdict.kind === 'could_not_check') throw walletUnavailable(verdict.why)
  throw refusalOf(verdict.kind)
}

/**
 * The home chain decides, whatever chain the text names: the address is the same on every chain, and an attacker with the old key would
 * name a chain on which the key still counts.
 */
async function refuseSwitchedOff(
  check: NonNullable<ContractWallets['checkOwnKey']>,
  address: Address,
  admitContractCheck: AdmitContractCheck,
): Promise<void> {
  const verdict = await check({ address, network: admitContractCheck(address) })
  if (verdict.kind === 'could_not_check') throw walletUnavailable(verdict.why)
  if (verdict.kind !== 'valid') throw new LoginError('not_proven', 'key_switched_off')
}

function refusalOf(kind: 'malformed' | 'not_proven'): LoginError {
  return kind === 'malformed'
    ? new LoginError('invalid_request', 'signature_malformed')
    : new LoginError('not_proven', 'signature_of_another')
}
