/** The login page's script: finds wallets, gets a signature over the auth service's text, and follows the redirect of the response. */
/* oxlint-disable typescript/no-unsafe-argument, typescript/no-unsafe-assignment, typescript/no-unsafe-call */
/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-return, typescript/no-misused-promises */

const at = (id) => document.getElementById(id)
const { challenge, chainIds } = at('wallets').dataset
const allowed = chainIds.split(' ').map(Number)

function say(words) {
  at('status').textContent = words
}

class Refused extends Error {}

/** POSTs to the login server. Throws `Refused` with the description of an error response. */
async function post(path, fields) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login_challenge: challenge, ...fields }),
    signal: AbortSignal.timeout(25_000),
  })
  const answer = await response.json()
  if (!response.ok) throw new Refused(answer.error_description)
  return answer
}

/** The scopes that the user left on, separated by spaces; undefined, which means all, if the user has no choice. */
function chosenScope() {
  const boxes = [...document.querySelectorAll('#scopes input:enabled')]
  return boxes.length > 0
    ? boxes
        .filter((box) => box.checked)
        .map((box) => box.value)
        .join(' ')
    : undefined
}

async function signIn(provider) {
  say('Answer your wallet.')
  const [address] = await provider.request({ method: 'eth_requestAccounts' })
  const chain = Number(await provider.request({ method: 'eth_chainId' }))
  // personal_sign works on any chain. The text must name an accepted chain.
  const claim = { address, chain_id: allowed.includes(chain) ? chain : allowed[0], scope: chosenScope() }
  const { message } = await post('/login/message', claim)
  at('message').textContent = message
  at('message').hidden = false
  say('Your wallet shows you this text. If it shows anything else, refuse.')
  const hex = Array.from(new TextEncoder().encode(message), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const signature = await provider.request({ method: 'personal_sign', params: [`0x${hex}`, address] })
  say('Checking …')
  return post('/login', { ...claim, signature })
}

/** Runs one attempt, with all buttons disabled. After a failure, shows the reason and enables the buttons. */
async function attempt(run) {
  const buttons = document.querySelectorAll('button')
  for (const button of buttons) button.disabled = true
  try {
    const { redirect_to: to } = await run()
    return location.assign(to)
  } catch (error) {
    if (error instanceof Refused) say(error.message)
    else if (error?.code === 4001) say('You refused in your wallet. Nothing was signed.')
    else if (error?.code === -32002) say('Your wallet has an earlier request open. Answer that one first.')
    else say('That did not work. Unlock your wallet, check your connection, and try again.')
  }
  for (const button of buttons) button.disabled = false
}

function offer(label, provider) {
  const button = document.createElement('button')
  button.textContent = label
  button.addEventListener('click', () => attempt(() => signIn(provider)))
  at('wallets').append(button)
  at('no-wallet').hidden = true
}

at('cancel').addEventListener('click', () => attempt(() => post('/login/cancel')))
at('vouch')?.addEventListener('click', () => attempt(() => post('/login/vouch', { chain_id: allowed[0], scope: chosenScope() })))

// EIP-6963: each wallet announces itself. A wallet may do so late, or twice.
const announced = new Set()
addEventListener('eip6963:announceProvider', ({ detail: { info, provider } }) => {
  if (announced.has(info.uuid)) return
  announced.add(info.uuid)
  offer(`Sign in with ${String(info.name).slice(0, 40)}`, provider)
})
dispatchEvent(new Event('eip6963:requestProvider'))
setTimeout(() => {
  if (announced.size > 0) return
  if (window.ethereum) offer('Sign in with the wallet in this browser', window.ethereum)
  else at('no-wallet').hidden = false
}, 500)
