/**
 * One sign-in: fetches the text from the login server, requests the signature, and sends it.
 *
 * Another wallet, another account or the end of the login begins a new attempt. Results of earlier attempts are dropped, so
 * a signature is only sent with the text that it was made for.
 */

import { ask } from './login-server.js'
import { sayWait, shortAddress } from './words.js'

/** @import { Answer, SignInOptions, Step, Wallet } from './types.d.ts' */

/** After this time, the wallet's window may be behind the browser's. */
const SLOW_MS = 12_000
/** Some wallets never respond to eth_chainId while they are locked. */
const CHAIN_MS = 2_000
/** A check that takes longer calls a chain. */
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

  /** Requests the wallet's accounts. @param {Wallet} wallet */
  async function connect(wallet) {
    stop()
    const result = await request(wallet, 'connecting', { method: 'eth_requestAccounts' })
    if (!result) return
    const accounts = readAccounts(result.value)
    if (accounts.length === 0) return view.warn('locked', { wallet: wallet.name })
    listen(wallet)
    await prepare(wallet, accounts, accounts[0])
  }

  /** Another account, or another choice of scopes, needs another text. @param {string} [address] @param {string} [why] */
  function again(address, why) {
    if (step) void prepare(step.wallet, step.accounts, address ?? step.address, why)
  }

  /** Fetches the text for this account and shows it. @param {Wallet} wallet @param {string[]} accounts */
  async function prepare(wallet, accounts, address = '', why = '') {
    const mine = ++attempt
    step = null
    current = address
    view.report('preparing')
    const chainId = await chooseChain(wallet, chainIds)
    if (mine !== attempt) return
    const scope = chosenScope()
    const answer = await ask('/login/message', { login_challenge: loginChallenge, address, chain_id: chainId, scope })
    if (mine !== attempt) return
    // A switch changed while the text was requested
    if (scope !== chosenScope()) return prepare(wallet, accounts, address, why)
    if (answer.kind !== 'answered') {
      view.choose()
      return refuse(answer, wallet, 'addressRefused')
    }
    step = { wallet, accounts, address, chainId, scope, message: answer.body.message }
    view.review(step)
    if (why) view.report(why)
  }

  /**
   * Requests a signature over the text on the page and sends it. If it could not be checked, it is kept and the next
   * click sends it again: several people may be needed to make it.
   */
  async function sign() {
    const signing = step
    if (!signing || sending) return
    const { wallet, address, message, chainId, scope } = signing
    if (signing.signature === undefined) {
      const result = await request(wallet, 'signing', { method: 'personal_sign', params: [toHex(message), address] })
      if (!result) return
      signing.signature = String(result.value)
    }
    const { signature } = signing
    view.report('checking')
    view.lock((sending = true))
    const long = setTimeout(view.report, LONG_CHECK_MS, 'checkingLong')
    const answer = await ask('/login', { login_challenge: loginChallenge, address, chain_id: chainId, scope, signature })
    clearTimeout(long)
    view.lock((sending = false))
    if (step !== signing) return
    if (answer.kind === 'answered') {
      stop()
      view.report('done')
      return view.leave(answer.body.redirect_to)
    }
    if (answer.kind === 'unreachable' || answer.status === 429 || answer.status > 500) view.keep()
    else delete signing.signature
    refuse(answer, wallet, 'walletFailed', 'couldNotCheck')
  }

  /** Drops the current attempt. */
  function stop() {
    attempt++
    step = null
    stopListening?.()
    stopListening = undefined
  }

  /** The wallet may be locked, or switched to another account, while the user reads or signs. @param {Wallet} wallet */
  function listen(wallet) {
    const { provider } = wallet
    const accountsChanged = (/** @type {unknown} */ value) => {
      const accounts = readAccounts(value)
      if (sending || accounts[0]?.toLowerCase() === current.toLowerCase()) return
      if (accounts.length > 0) return void prepare(wallet, accounts, accounts[0], 'switched')
      stop()
      view.choose()
      view.warn('locked', { wallet: wallet.name })
    }
    try {
      provider.on?.('accountsChanged', accountsChanged)
    } catch {
      // Such a wallet can still sign; the server checks the account
    }
    stopListening = () => provider.removeListener?.('accountsChanged', accountsChanged)
  }

  /**
   * Sends a request to the wallet, and shows that it takes long or why it failed. Null also if the attempt was dropped.
   *
   * @param {Wallet} wallet @param {string} word @param {{ method: string, params?: unknown[] }} call
   */
  async function request(wallet, word, call) {
    const mine = ++attempt
    const names = { wallet: wallet.name }
    view.report(word, names)
    const slow = setTimeout(() => mine === attempt && view.report('slow', names), SLOW_MS)
    try {
      const value = await wallet.provider.request(call)
      return mine === attempt ? { value } : null
    } catch (error) {
      if (mine === attempt) view.warn(walletProblem(error), names)
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
    if (answer.kind === 'unreachable') return view.warn('offline')
    const { status, error, retryAfter } = answer
    if (status === 410) return view.end('expired')
    if (status === 409) return view.end(error === 'continued_elsewhere' ? error : 'already_used')
    const word = REFUSALS[error] ?? REFUSALS[status] ?? (status > 500 ? unavailable : malformed)
    view.warn(word, { wallet: wallet.name, account: shortAddress(current), wait: sayWait(retryAfter) })
  }
}

/** By the server's error code, otherwise by its status. @type {Record<string | number, string>} */
const REFUSALS = {
  not_proven: 'wrongAccount',
  address_not_allowed: 'addressNotAllowed',
  chain_not_allowed: 'chainNotAllowed',
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

/** As bytes, so that no wallet has to guess an encoding. @param {string} text */
function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
