/**
 * One sign-in: fetches the text, requests the signature and sends it. Another wallet, another account or the end of the login
 * begins a new attempt and drops the results of the earlier one, so a signature is only sent with its own text.
 */

import { ask } from './login-server.js'
import { sayWait, shortAddress } from './words.js'

/** @import { Call, Ending, Failure, SignInOptions, Step, Wallet } from './types.d.ts' */

/** After this time, the wallet's window may be behind the browser's. */
const SLOW_MS = 12_000
/** Some wallets never respond to eth_chainId while they are locked. */
const CHAIN_MS = 2_000
/** A check that takes longer calls a chain. */
const LONG_CHECK_MS = 700

export class SignIn {
  /** @param {SignInOptions} options */
  constructor(options) {
    this.options = options
    this.view = options.view
    this.attempt = 0
    this.address = ''
    this.sending = false
    /** @type {Step | null} */
    this.step = null
    this.stopListening = () => {}
  }

  /** @param {Wallet} wallet */
  async connect(wallet) {
    this.stop()
    const result = await this.request(wallet, 'connecting', { method: 'eth_requestAccounts' })
    if (!result) return
    const accounts = readAccounts(result.value)
    if (accounts.length === 0) return this.view.warn('locked', { wallet: wallet.name })
    this.listen(wallet)
    // Only one account can sign an action
    const signer = accounts.find((each) => shortAddress(each.toLowerCase()) === this.options.signer)
    await this.prepare(wallet, accounts, signer ?? accounts[0])
  }

  /** Another account, or another choice, needs another text. */
  again(address = '', why = '') {
    const { step } = this
    if (step) void this.prepare(step.wallet, step.accounts, address || step.address, why)
  }

  /** Fetches the text for this account and shows it. @param {Wallet} wallet @param {string[]} accounts */
  async prepare(wallet, accounts, address = '', why = '') {
    const { view, loginChallenge, chainIds, chosen } = this.options
    const mine = ++this.attempt
    this.step = null
    this.address = address
    view.report('preparing')
    const chain_id = await chooseChain(wallet, chainIds)
    if (mine !== this.attempt) return
    const choice = chosen()
    const fields = { login_challenge: loginChallenge, address, chain_id, ...choice }
    const answer = await ask('/login/message', fields)
    if (mine !== this.attempt) return
    // The choice changed while the text was requested
    if (JSON.stringify(choice) !== JSON.stringify(chosen())) return void this.prepare(wallet, accounts, address, why)
    if (answer.kind !== 'answered') {
      view.choose()
      return this.refuse(answer, wallet, 'addressRefused')
    }
    this.step = { wallet, accounts, address, fields, message: answer.body.message, translation: answer.body.translation }
    view.review(this.step)
    if (why) view.report(why)
  }

  /**
   * Requests a signature over the text on the page, and sends it. A signature that could not be checked is kept for the next click:
   * several people may be needed to make it.
   */
  async sign() {
    const { step, view } = this
    if (!step || this.sending) return
    if (step.signature === undefined) {
      const call = { method: 'personal_sign', params: [toHex(step.message), step.address] }
      const result = await this.request(step.wallet, 'signing', call)
      if (!result) return
      step.signature = String(result.value)
    }
    const answer = await this.send(step)
    if (this.step !== step) return
    if (answer.kind === 'answered') {
      this.stop()
      view.report('done')
      return view.leave(answer.body.redirect_to)
    }
    if (answer.kind === 'unreachable' || answer.status === 429 || answer.status > 500) view.keep()
    else delete step.signature
    this.refuse(answer, step.wallet, 'walletFailed', 'couldNotCheck')
  }

  /** @param {Step} step */
  async send({ fields, signature }) {
    const { view } = this
    view.report('checking')
    view.lock((this.sending = true))
    const long = setTimeout(view.report, LONG_CHECK_MS, 'checkingLong')
    const answer = await ask('/login', { ...fields, signature })
    clearTimeout(long)
    view.lock((this.sending = false))
    return answer
  }

  /** Drops the current attempt. */
  stop() {
    this.attempt++
    this.step = null
    this.stopListening()
  }

  /** The wallet may be locked, or switched to another account, at any time. @param {Wallet} wallet */
  listen(wallet) {
    const changed = (/** @type {unknown} */ value) => {
      const accounts = readAccounts(value)
      if (this.sending || accounts[0]?.toLowerCase() === this.address.toLowerCase()) return
      if (accounts.length > 0) return void this.prepare(wallet, accounts, accounts[0], 'switched')
      this.stop()
      this.view.choose()
      this.view.warn('locked', { wallet: wallet.name })
    }
    try {
      wallet.provider.on?.('accountsChanged', changed)
    } catch {
      // Such a wallet can still sign; the server checks the account
    }
    this.stopListening = () => wallet.provider.removeListener?.('accountsChanged', changed)
  }

  /** Null if the call failed, or if its attempt was dropped. @param {Wallet} wallet @param {string} word @param {Call} call */
  async request(wallet, word, call) {
    const { view } = this
    const mine = ++this.attempt
    const names = { wallet: wallet.name }
    view.report(word, names)
    const slow = setTimeout(() => mine === this.attempt && view.report('slow', names), SLOW_MS)
    try {
      const value = await wallet.provider.request(call)
      return mine === this.attempt ? { value } : null
    } catch (error) {
      if (mine === this.attempt) view.warn(walletProblem(error), names)
      return null
    } finally {
      clearTimeout(slow)
    }
  }

  /** @param {Failure} answer @param {Wallet} wallet @param {string} malformed the word for a 400 */
  refuse(answer, wallet, malformed, unavailable = 'unavailable') {
    const { view } = this
    if (answer.kind === 'unreachable') return view.warn('offline')
    const { status, error, retryAfter } = answer
    if (status === 410) return view.end('expired')
    if (status === 409) return view.end(/** @type {Ending} */ (error))
    const word = REFUSALS[error] ?? REFUSALS[status] ?? (status > 500 ? unavailable : malformed)
    view.warn(word, { wallet: wallet.name, account: shortAddress(this.address), wait: sayWait(retryAfter) })
  }
}

/** By the server's error code, otherwise by its status. @type {Record<string | number, string>} */
const REFUSALS = {
  not_proven: 'wrongAccount',
  another_wallet: 'anotherWallet',
  address_not_allowed: 'addressNotAllowed',
  chain_not_allowed: 'chainNotAllowed',
  limit_refused: 'limitRefused',
  403: 'defect',
  429: 'tooMany',
  500: 'defect',
}

/**
 * The wallet's chain, or the first allowed chain: personal_sign works on any. @param {Wallet} wallet @param {number[]}
 * chainIds
 */
async function chooseChain({ provider }, chainIds) {
  const response = (async () => provider.request({ method: 'eth_chainId' }))().catch(() => null)
  const chainId = Number(await Promise.race([response, new Promise((resolve) => setTimeout(resolve, CHAIN_MS, null))]))
  return chainIds.includes(chainId) ? chainId : (chainIds[0] ?? 1)
}

/** The text for an error of EIP-1193 and EIP-1474. @param {any} error */
function walletProblem(error) {
  const { code, message } = error ?? {}
  return WALLET_PROBLEMS[code] ?? (/reject|denied|cancel/i.test(message) ? 'rejected' : 'walletFailed')
}

/** Codes in words are of WalletConnect only. @type {Record<string | number, string>} */
const WALLET_PROBLEMS = {
  4001: 'rejected',
  4100: 'locked',
  4900: 'disconnected',
  4901: 'disconnected',
  [-32002]: 'pending',
  not_loaded: 'offline',
  relay_away: 'relayAway',
  wallet_silent: 'walletSilent',
  cannot_sign: 'cannotSign',
}

/** @param {unknown} value @returns {string[]} */
function readAccounts(value) {
  return Array.isArray(value) ? value.filter((account) => typeof account === 'string') : []
}

/** As bytes, so that no wallet has to guess an encoding. @param {string} text */
function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
