/**
 * One sign-in: the wallet's account, the text from the login server, the signature, and back to the login server.
 *
 * Choosing again, switching the account or the end of time begins another attempt, and whatever still comes back for an
 * earlier one is dropped: a signature is only ever sent with the text it was made for.
 */

import { ask } from './login-server.js'
import { sayWait, shortAddress } from './words.js'

/** @import { Answer, SignInOptions, Step, Wallet } from './types.d.ts' */

/** A wallet that does not answer for so long may be waiting behind the window. */
const SLOW_MS = 12_000
/** Some wallets never answer eth_chainId while locked. */
const CHAIN_MS = 2_000
/** A check that takes so long asks a chain. */
const LONG_CHECK_MS = 700

/** @param {SignInOptions} options */
export function createSignIn({ view, loginChallenge, chainIds, chosenScope }) {
  let attempt = 0
  let current = ''
  let sending = false
  /** @type {Step | null} */
  let step = null
  /** @type {(() => void) | undefined} */
  let stopListening

  return { connect, again, sign, stop }

  /** A click on a wallet: asks it for its accounts. @param {Wallet} wallet */
  async function connect(wallet) {
    stop()
    const asked = await request(wallet, 'connecting', { method: 'eth_requestAccounts' })
    if (!asked) return
    const accounts = readAccounts(asked.value)
    if (accounts.length === 0) return view.complain('locked', { wallet: wallet.name })
    listen(wallet)
    await prepare(wallet, accounts, accounts[0])
  }

  /** Another account, or another choice of scopes, means another text. @param {string} [address] @param {string} [why] */
  function again(address, why) {
    if (step) void prepare(step.wallet, step.accounts, address ?? step.address, why)
  }

  /** Fetches the text for this account and shows it. @param {Wallet} wallet @param {string[]} accounts */
  async function prepare(wallet, accounts, address = '', why = '') {
    const mine = ++attempt
    step = null
    current = address
    view.tell('preparing')
    const chainId = await chooseChain(wallet, chainIds)
    if (mine !== attempt) return
    const scope = chosenScope()
    const answer = await ask('/login/message', { login_challenge: loginChallenge, address, chain_id: chainId, scope })
    if (mine !== attempt) return
    // Switched while the text was on its way
    if (scope !== chosenScope()) return prepare(wallet, accounts, address, why)
    if (answer.kind !== 'answered') {
      view.choose()
      return refuse(answer, wallet, 'addressRefused')
    }
    step = { wallet, accounts, address, chainId, scope, message: answer.body.message }
    view.review(step)
    if (why) view.tell(why)
  }

  /**
   * A click on "Sign": asks for a signature over the text on the page, and takes it to the login server. One that could not
   * be checked is kept, and the next click sends it again: some take several people to make.
   */
  async function sign() {
    const signing = step
    if (!signing || sending) return
    const { wallet, address, message, chainId, scope } = signing
    if (signing.signature === undefined) {
      const asked = await request(wallet, 'signing', { method: 'personal_sign', params: [toHex(message), address] })
      if (!asked) return
      signing.signature = String(asked.value)
    }
    const { signature } = signing
    view.tell('checking')
    view.lock((sending = true))
    const long = setTimeout(view.tell, LONG_CHECK_MS, 'checkingLong')
    const answer = await ask('/login', { login_challenge: loginChallenge, address, chain_id: chainId, scope, signature })
    clearTimeout(long)
    view.lock((sending = false))
    if (step !== signing) return
    if (answer.kind === 'answered') {
      stop()
      view.tell('done')
      return view.leave(answer.body.redirect_to)
    }
    if (answer.kind === 'unreachable' || answer.status === 429 || answer.status > 500) view.keep()
    else delete signing.signature
    refuse(answer, wallet, 'walletFailed', 'couldNotCheck')
  }

  /** Drops whatever is under way. */
  function stop() {
    attempt++
    step = null
    stopListening?.()
    stopListening = undefined
  }

  /** While the person reads or signs, the wallet may be switched to another account, or locked. @param {Wallet} wallet */
  function listen(wallet) {
    const { provider } = wallet
    const accountsChanged = (/** @type {unknown} */ value) => {
      const accounts = readAccounts(value)
      if (sending || accounts[0]?.toLowerCase() === current.toLowerCase()) return
      if (accounts.length > 0) return void prepare(wallet, accounts, accounts[0], 'switched')
      stop()
      view.choose()
      view.complain('locked', { wallet: wallet.name })
    }
    try {
      provider.on?.('accountsChanged', accountsChanged)
    } catch {
      // Such a wallet can still sign; the server checks the account anyway
    }
    stopListening = () => provider.removeListener?.('accountsChanged', accountsChanged)
  }

  /**
   * Asks the wallet; says so when it takes long, and why it would not. Null also when nobody waits any more.
   *
   * @param {Wallet} wallet @param {string} word @param {{ method: string, params?: unknown[] }} call
   */
  async function request(wallet, word, call) {
    const mine = ++attempt
    const names = { wallet: wallet.name }
    view.tell(word, names)
    const slow = setTimeout(() => mine === attempt && view.tell('slow', names), SLOW_MS)
    try {
      const value = await wallet.provider.request(call)
      return mine === attempt ? { value } : null
    } catch (error) {
      if (mine === attempt) view.complain(walletProblem(error), names)
      return null
    } finally {
      clearTimeout(slow)
    }
  }

  /**
   * @param {Exclude<Answer, { kind: 'answered' }>} answer
   * @param {Wallet} wallet
   * @param {string} malformed the word for a 400
   */
  function refuse(answer, wallet, malformed, unavailable = 'unavailable') {
    if (answer.kind === 'unreachable') return view.complain('offline')
    const { status, error, retryAfter } = answer
    if (status === 410) return view.end('expired')
    if (status === 409) return view.end(error === 'continued_elsewhere' ? error : 'already_used')
    const word = REFUSALS[error] ?? REFUSALS[status] ?? (status > 500 ? unavailable : malformed)
    view.complain(word, { wallet: wallet.name, account: shortAddress(current), wait: sayWait(retryAfter) })
  }
}

/** By the server's error code, else by its status. @type {Record<string | number, string>} */
const REFUSALS = {
  not_proven: 'wrongAccount',
  address_not_allowed: 'addressNotAllowed',
  chain_not_allowed: 'chainNotAllowed',
  403: 'defect',
  429: 'tooMany',
  500: 'defect',
}

/** The wallet's chain, or the first allowed: personal_sign works on any. @param {Wallet} wallet @param {number[]} chainIds */
async function chooseChain({ provider }, chainIds) {
  const asked = (async () => provider.request({ method: 'eth_chainId' }))().catch(() => null)
  const chainId = Number(await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, CHAIN_MS, null))]))
  return chainIds.includes(chainId) ? chainId : (chainIds[0] ?? 1)
}

/** EIP-1193 and EIP-1474 in our words. @param {any} error */
function walletProblem(error) {
  const code = error?.code
  if (code === 4001 || /reject|denied|cancel/i.test(error?.message)) return 'rejected'
  if (code === -32002) return 'pending'
  if (code === 4100) return 'locked'
  return code === 4900 || code === 4901 ? 'disconnected' : 'walletFailed'
}

/** @param {unknown} value @returns {string[]} */
function readAccounts(value) {
  return Array.isArray(value) ? value.filter((account) => typeof account === 'string') : []
}

/** As bytes, so that no wallet guesses an encoding. @param {string} text */
function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
