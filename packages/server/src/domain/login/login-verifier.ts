/** The login verifier: the sealed result of a sign-in, which the browser carries from the login server to `/login/complete`. */
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { LoginMethod, SignedLimit, WalletKind } from '../model/records.ts'

/** The sealed contents of `login_verifier`, for `/login/complete`. */
export type LoginVerifier = {
  nonce: string
  /** binds the verifier to one browser: the nonce alone is the same on each device that continues the login */
  browserHash: string
  elsewhere: boolean
  /**
   * true for a cross-device login. One device can have a challenge of each kind with the same nonce, and only the text of this kind names the
   * code that the user compared
   */
  crossDevice: boolean
  expiresAt: number
  proof: ProvenWallet | 'denied'
}

export const LOGIN_VERIFIER = sealedFormat<LoginVerifier>('loginVerifier')

export type ProvenWallet = {
  wallet: Address
  walletKind: WalletKind
  chainId: number
  method: LoginMethod
  epoch: number
  /** epoch seconds */
  provedAt: number
  scopes: string[]
  receiptId: string | null
  /** absent if the wallet signed no limit */
  limit?: SignedLimit
}
