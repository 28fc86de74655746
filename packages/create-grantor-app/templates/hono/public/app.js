import { SignInError, signInSilently, signInWithPopup, signInWithRedirect, signOut } from '@grantor/connect'

const { issuer, clientId, api } = await (await fetch('/settings.json')).json()
const connection = { issuer, clientId, redirectUri: '/callback.html', scope: 'openid wallet notes.read', resource: api }
const find = (id) => document.querySelector(id)
let user = null

find('#sign-in').onclick = async () => {
  try {
    find('#error').textContent = ''
    await show(await signInWithPopup(connection))
  } catch (error) {
    if (!(error instanceof SignInError) || error.reason === 'cancelled') return
    // Browsers inside wallets open no second window.
    if (error.reason === 'popup_blocked') await signInWithRedirect(connection)
    else find('#error').textContent = `You are not signed in: ${error.message}`
  }
}

find('#sign-out').onclick = async () => {
  const leaving = user
  await show(null)
  await signOut(connection, leaving)
}

await show(await signInSilently(connection).catch(() => null))

async function show(signedIn) {
  user = signedIn
  find('#signed-out').hidden = signedIn !== null
  find('#signed-in').hidden = signedIn === null
  if (signedIn === null) return
  find('#wallet').textContent = signedIn.wallet
  const answer = await fetch('/api/notes', { headers: { authorization: `Bearer ${signedIn.accessToken}` } })
  const { notes } = answer.ok ? await answer.json() : { notes: ['The notes could not be read.'] }
  find('#notes').replaceChildren(...notes.map((note) => Object.assign(document.createElement('li'), { textContent: note })))
}
