// @ts-check

/** The login page's script: joins the wallets of this browser, the sign-in and what the person sees. */

import { createSignIn } from './sign-in.js'
import { createWalletList } from './wallet-list.js'
import { watchWallets } from './wallets.js'
import { say, shortAddress } from './words.js'

/** @param {string} id @returns {any} an element that the page always has */
const at = (id) => document.getElementById(id)
const login = at('login')

/** @type {import('./sign-in.js').View} */
const view = {
  tell: (word, names) => speak(say(word, names), ''),
  complain: (word, names) => speak('', say(word, names)),

  choose() {
    const moved = at('choose').hidden
    speak('', '')
    show('choose')
    if (moved) at('choose-title').focus()
  },

  review({ wallet, accounts, address, message }) {
    // textContent: the text is shown as it is, byte for byte, and never as markup
    at('message').textContent = message
    at('sign').textContent = say('sign', { wallet: wallet.name })
    const several = accounts.length > 1
    at('account').replaceChildren(
      ...accounts.map((account) => new Option(shortAddress(account), account, false, account === address)),
    )
    at('account').hidden = !several
    at('account-name').textContent = several ? '' : shortAddress(address)
    const moved = at('review').hidden
    show('review')
    speak('', '')
    if (moved) at('review-title').focus()
  },

  end(kind) {
    at('page').replaceChildren(at(`ended-${kind}`).content.cloneNode(true))
    document.querySelector('h1')?.focus()
  },

  leave: (to) => location.assign(to),
}

const signIn = createSignIn({
  view,
  loginChallenge: login.dataset.challenge,
  chainIds: login.dataset.chainIds.split(' ').map(Number),
})

const showWallets = createWalletList({ list: at('wallets'), choose: signIn.connect })
watchWallets({
  legacyName: say('legacyWallet'),
  show(wallets) {
    at('looking').hidden = true
    at('no-wallet').hidden = wallets.length > 0
    showWallets(wallets)
  },
})

at('sign').addEventListener('click', signIn.sign)
at('account').addEventListener('change', () => signIn.useAccount(at('account').value))
at('back').addEventListener('click', () => {
  signIn.stop()
  view.choose()
})

showLocalTime()
endInTime()
// A page brought back from the browser's memory may be long out of date
addEventListener('pageshow', (event) => event.persisted && location.reload())

/** @param {string} progress @param {string} problem */
function speak(progress, problem) {
  at('progress').textContent = progress
  at('problem').textContent = problem
}

/** @param {'choose' | 'review'} section */
function show(section) {
  at('choose').hidden = section !== 'choose'
  at('other-ways').hidden = section !== 'choose'
  at('review').hidden = section !== 'review'
}

function showLocalTime() {
  const time = at('open-until')
  if (time) time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}

/** By the seconds left when the page was made, not by the clock on the wall: it may be wrong. */
function endInTime() {
  const end = Date.now() + Number(login.dataset.secondsLeft) * 1000
  const look = () => {
    if (Date.now() < end || !login.isConnected) return
    signIn.stop()
    view.end('expired')
  }
  setTimeout(look, end - Date.now())
  // A sleeping device stops its timers
  document.addEventListener('visibilitychange', look)
}
