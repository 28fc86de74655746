// @ts-check

/**
 * One sign-in: the chosen wallet's account, the text from the login server, the signature, and back to the login server.
 *
 * Every step belongs to an attempt. Choosing again, switching the account or the end of time begins another, and whatever
 * still comes back for an earlier one is dropped: a signature is only ever sent with the text it was made for.
 */

import { post } from './login-server.js'
import { sayWait, shortAddress } from './words.js'

/**
 * @typedef {import('./wallets.js').Wallet} Wallet
 * @typedef {{
 *   tell(word: string, names?: Record<string, string>): void,
 *   complain(word: string, names?: Record<string, string>): void,
 *   choose(): void,
 *   review(step: { wallet: Wallet, accounts: string[], address: string, message: string }): void,
 *   end(kind: 'expired' | 'already_used'): void,
 *   leave(to: string): void,
 * }} View  what the person sees; `login.js` makes it
 */

/** A wallet that does not answer for so long may be waiting behind the window. */
const SLOW_MS = 12_000
/** Some wallets never answer eth_chainId while locked; the text only needs some allowed chain. */
const CHAIN_MS = 2_000

/** @param {{ view: View, loginChallenge: string, chainIds: number[] }} options */
export function createSignIn({ view, loginChallenge, chainIds }) {
  let attempt = 0
  let current = ''
  let sending = false
  /** @type {{ wallet: Wallet, accounts: string[], address: string, chainId: number, message: string } | null} */
  let step = null
  /** @type {(() => void) | undefined} */
  let stopListening

  return { connect, useAccount, sign, stop }

  /** A click on a wallet: asks it for its accounts. @param {Wallet} wallet */
  async function connect(wallet) {
    stop()
    const asked = await ask(wallet, 'connecting', { method: 'eth_requestAccounts' })
    if (!asked) return
    const accounts = readAccounts(asked.value)
    if (accounts.length === 0) return view.complain('locked', { wallet: wallet.name })
    listen(wallet)
    await prepare(wallet, accounts, accounts[0])
  }

  /** Another of the wallet's accounts means another text. @param {string} address */
  function useAccount(address) {
    if (step) void prepare(step.wallet, step.accounts, address)
  }

  /** Fetches the text for this account and shows it. @param {Wallet} wallet @param {string[]} accounts */
  async function prepare(wallet, accounts, address = '', switched = false) {
    const mine = ++attempt
    step = null
    current = address
    view.tell('preparing')
    const chainId = await chooseChain(wallet, chainIds)
    if (mine !== attempt) return
    const answer = await post('/login/message', { login_challenge: loginChallenge, address, chain_id: chainId })
    if (mine !== attempt) return
    if (answer.kind !== 'answered') {
      view.choose()
      return refuse(answer, wallet, 'addressRefused')
    }
    const { message } = answer.body
    step = { wallet, accounts, address, chainId, message }
    view.review(step)
    if (switched) view.tell('switched')
  }

  /** A click on "Sign": asks for a signature over the text that is on the page, and takes it to the login server. */
  async function sign() {
    if (!step || sending) return
    const { wallet, address, chainId, message } = step
    const asked = await ask(wallet, 'signing', { method: 'personal_sign', params: [toHex(message), address] })
    if (!asked) return
    view.tell('checking')
    sending = true
    const body = { login_challenge: loginChallenge, address, chain_id: chainId, signature: String(asked.value) }
    const answer = await post('/login', body)
    sending = false
    if (answer.kind !== 'answered') return refuse(answer, wallet, 'walletFailed')
    stop()
    view.tell('done')
    view.leave(answer.body.redirect_to)
  }

  /** Drops whatever is under way. */
  function stop() {
    attempt++
    step = null
    stopListening?.()
    stopListening = undefined
  }

  /** While the person reads or signs, the wallet may be switched to another account, or locked. @param {Wallet} wallet */
  function listen({ provider, ...wallet }) {
    const accountsChanged = (/** @type {unknown} */ value) => {
      const accounts = readAccounts(value)
      if (sending || accounts[0]?.toLowerCase() === current.toLowerCase()) return
      if (accounts.length > 0) void prepare({ provider, ...wallet }, accounts, accounts[0], true)
      else {
        stop()
        view.choose()
        view.complain('locked', { wallet: wallet.name })
      }
    }
    try {
      provider.on?.('accountsChanged', accountsChanged)
    } catch {
      // A wallet that cannot be listened to can still sign; the server checks the account anyway
    }
    stopListening = () => provider.removeListener?.('accountsChanged', accountsChanged)
  }

  /**
   * Asks the wallet; says so when it takes long, and in plain words why it would not. Null also when nobody waits any more.
   *
   * @param {Wallet} wallet
   * @param {string} word what the person has to do in the wallet
   * @param {{ method: string, params?: unknown[] }} call
   */
  async function ask(wallet, word, call) {
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
   * @param {Exclude<import('./login-server.js').Answer, { kind: 'answered' }>} answer
   * @param {Wallet} wallet
   * @param {string} malformed the word for a 400: which of the things we sent could not be read
   */
  function refuse(answer, wallet, malformed) {
    if (answer.kind === 'unreachable') return view.complain('offline')
    const { status, error, retryAfter } = answer
    if (status === 409 || status === 410) {
      stop()
      return view.end(status === 410 ? 'expired' : 'already_used')
    }
    const word = REFUSALS[error] ?? REFUSALS[status] ?? malformed
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
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

/**
 * The wallet's chain where it is allowed, else the first allowed one: personal_sign works on any.
 *
 * @param {Wallet} wallet
 * @param {number[]} chainIds
 */
async function chooseChain({ provider }, chainIds) {
  const asked = (async () => provider.request({ method: 'eth_chainId' }))().catch(() => null)
  const chainId = Number(await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, CHAIN_MS, null))]))
  return chainIds.includes(chainId) ? chainId : (chainIds[0] ?? 1)
}

/** The codes of EIP-1193 and EIP-1474, in our words. @param {any} error @returns {string} */
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

/** personal_sign takes bytes: the text's UTF-8, in hex, so that no wallet guesses an encoding. @param {string} text */
function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
