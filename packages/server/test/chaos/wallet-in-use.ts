/** The wallet of one user: the same ordinary wallet for the whole run, or a contract that is replaced after some proofs. */
import type { RecordedChain, Wallet } from './recorded-chain.ts'

/** A node checks one contract at most 30 times a minute, so the user changes to another contract well before. */
const MAX_PROOFS_OF_A_CONTRACT = 12

export class WalletInUse {
  readonly #chain: RecordedChain
  #wallet: Wallet
  #proofs = 0

  constructor(chain: RecordedChain, wallet: Wallet) {
    this.#chain = chain
    this.#wallet = wallet
  }

  get isContract(): boolean {
    return this.#wallet.kind === 'contract'
  }

  /** Whether the wallet must be replaced before the next proof. */
  get isUsedUp(): boolean {
    return this.isContract && this.#proofs >= MAX_PROOFS_OF_A_CONTRACT
  }

  /** The wallet for the next login. */
  async next(): Promise<Wallet> {
    if (this.isUsedUp) {
      this.#wallet = await this.#chain.deploy()
      this.#proofs = 0
    }
    this.noteProof()
    return this.#wallet
  }

  /** Counts a proof outside of a login. */
  noteProof(): void {
    this.#proofs++
  }

  /** Transfers the contract to a new owner, who signs from then on. */
  async transfer(): Promise<void> {
    this.#wallet = await this.#chain.transfer(this.#wallet)
  }
}
