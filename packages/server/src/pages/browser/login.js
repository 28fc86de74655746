/** Connects the wallets of this browser, the sign-in and the page. */

import { watchPhone } from './phone.js'
import { SignIn } from './sign-in.js'
import { createWalletList } from './wallet-list.js'
import { watchWallets } from './wallets.js'
import { say, sayWith, shortAddress } from './words.js'

/** @import { View } from './types.d.ts' */

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id)
const login = at('login')
const loginChallenge = login.dataset.challenge
/** The switches of the scopes. @type {HTMLInputElement[]} */
const switches = Array.from(document.querySelectorAll('#scopes input'))
/** The numbers of the limit. @type {HTMLInputElement[]} */
const numbers = Array.from(document.querySelectorAll('#limit input'))

/** The name on the button that requests the signature; empty if the button sends a signature that exists. */
let signWith = ''
let hasLeft = false

/** @type {View} */
const view = {
  report: (word, names) => speak(sayWith(word, names), []),
  warn: (word, names) => speak([], sayWith(word, names)),

  choose() {
    const moved = at('choose').hidden
    speak([], [])
    show('choose')
    if (moved) at('choose-title').focus()
  },

  review({ wallet, accounts, address, message, translation }) {
    // textContent: the text is shown byte for byte, and never as markup
    at('message').textContent = message
    translate(translation)
    const several = accounts.length > 1
    at('account').replaceChildren(
      ...accounts.map((account) => new Option(shortAddress(account), account, false, account === address)),
    )
    at('account').hidden = !several
    at('account-name').textContent = several ? '' : shortAddress(address)
    const moved = at('review').hidden
    show('review')
    signWith = wallet.name
    nameSign()
    speak([], [])
    // The top of the page shows what the app may do, and the buttons
    if (moved) at('review-title').focus({ preventScroll: true })
    if (moved) scrollTo(0, 0)
  },

  lock(on) {
    switches.forEach((input) => (input.disabled = on || input.required))
    numbers.forEach((input) => (input.disabled = on))
  },

  keep() {
    signWith = ''
    at('sign').textContent = say('again')
  },

  end(kind) {
    signIn.stop()
    at('page').replaceChildren((at(`ended-${kind}`) ?? at('ended-already_used')).content.cloneNode(true))
    document.querySelector('h1')?.focus()
  },

  // The address works once, and another navigation would cancel the first, which the service may have answered
  leave(to) {
    if (!hasLeft) location.assign(to)
    hasLeft = true
  },
}

const { chainIds, signer } = login.dataset
const signIn = new SignIn({ view, loginChallenge, chainIds: chainIds.split(' ').map(Number), signer, chosen })

const phone = at('phone')
const showWallets = createWalletList(at('wallets'), (wallet) => signIn.connect(wallet))
watchWallets({
  legacyName: say('legacyWallet'),
  show(wallets) {
    const { classList } = document.documentElement
    const hasWallet = wallets.some(({ key }) => !key.startsWith('service:'))
    // A late wallet comes above the code, and the code stays: the user may be scanning it
    if (phone && hasWallet && !classList.contains('has-wallet')) at('use-phone').ariaExpanded = 'true'
    classList.toggle('has-wallet', hasWallet)
    // What the operator offers besides wallets of the browser comes after the code
    const after = phone && !hasWallet ? at('no-wallet') : at('choose-title').nextElementSibling
    if (after !== at('wallets') && after.previousElementSibling !== at('wallets')) after.before(at('wallets'))
    showWallets(wallets)
  },
})
watchPhone(phone, at('use-phone'), loginChallenge, { ended: view.end, leave: view.leave })

at('sign').addEventListener('click', () => signIn.sign())
at('account').addEventListener('change', () => signIn.again(at('account').value))
at('back').addEventListener('click', () => {
  signIn.stop()
  view.choose()
})
addEventListener('resize', nameSign)
for (const input of switches) {
  input.addEventListener('change', () => {
    if (chosenScope()) return signIn.again('', 'rechosen')
    input.checked = true
    view.warn('oneMustStay')
  })
}
for (const input of numbers) input.addEventListener('change', () => signIn.again('', 'rechosen'))
// What the user chose also applies to the forms by hand
document.addEventListener('formdata', ({ formData }) => {
  const { scope } = chosen()
  if (scope) formData.set('scope', scope)
  for (const { name, value } of numbers) formData.set(name, value)
})

const openUntil = at('open-until')
if (openUntil)
  openUntil.textContent = new Date(openUntil.dateTime).toLocaleTimeString(login.dataset.locale, { timeStyle: 'short' })
endInTime()
// A page that the browser restores from its cache may be outdated
addEventListener('pageshow', (event) => event.persisted && location.reload())

function chosenScope() {
  const on = switches.filter(({ checked }) => checked).map(({ value }) => value)
  return switches.length > 0 ? on.join(' ') : undefined
}

function chosen() {
  const limit = Object.fromEntries(numbers.map(({ name, value }) => [name.slice('limit_'.length), value.trim()]))
  return { scope: chosenScope(), limit: numbers.length > 0 ? limit : undefined }
}

/** The name of the wallet, unless the button would have three lines. */
function nameSign() {
  if (!signWith) return
  at('sign').replaceChildren(...sayWith('sign', { wallet: signWith }))
  const words = document.createRange()
  words.selectNodeContents(at('sign'))
  const lines = words.getBoundingClientRect().height / parseFloat(getComputedStyle(at('sign')).lineHeight)
  if (lines > 2.5) at('sign').textContent = say('signShort')
}

/** @param {(string | Node)[]} progress @param {(string | Node)[]} problem */
function speak(progress, problem) {
  at('progress').replaceChildren(...progress)
  at('problem').replaceChildren(...problem)
}

/** The page has no place for a translation if its language is English. @param {string[]} paragraphs */
function translate(paragraphs) {
  const place = at('translation')
  if (!place) return
  place.hidden = paragraphs.length === 0
  at('translated').replaceChildren(...paragraphs.map((text) => Object.assign(document.createElement('p'), { textContent: text })))
}

/** @param {'choose' | 'review'} section */
function show(section) {
  at('choose').hidden = section !== 'choose'
  at('other-ways').hidden = section !== 'choose'
  at('review').hidden = at('sign-actions').hidden = at('after-text').hidden = section !== 'review'
}

/** Uses the seconds left when the page was made, because the device's clock may be wrong. */
function endInTime() {
  const end = Date.now() + Number(login.dataset.secondsLeft) * 1000
  const endIfOver = () => {
    if (Date.now() >= end && login.isConnected) view.end('expired')
  }
  setTimeout(endIfOver, end - Date.now())
  // A sleeping device stops its timers
  document.addEventListener('visibilitychange', endIfOver)
}
