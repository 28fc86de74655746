/** What one person signs with: an ordinary wallet for ever, or a contract for as long as the service will ask about it. */
import type { RecordedChain, Wallet } from './recorded-chain.ts'

/** A node asks the chain about one contract's sign-ins 30 times a minute at most: well before that it is another contract. */
const PROOFS_OF_A_CONTRACT = 12

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

  /** The wallet to prove in a new session. */
  async next(): Promise<Wallet> {
    if (this.isContract && this.#proofs >= PROOFS_OF_A_CONTRACT) {
      this.#wallet = await this.#chain.deploy()
      this.#proofs = 0
    }
    this.noteProof()
    return this.#wallet
  }

  /** It is asked to prove itself, in a session that is there. */
  noteProof(): void {
    this.#proofs++
  }

  /** The contract gets another owner, who signs from then on. */
  async handOver(): Promise<void> {
    this.#wallet = await this.#chain.handOver(this.#wallet)
  }
}
