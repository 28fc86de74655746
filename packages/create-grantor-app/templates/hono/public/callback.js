import { handleCallback } from '@grantor/connect'

const TEXTS = {
  sent: 'You can close this window.',
  no_page_waits: 'The page that you came from is gone. Open it again.',
}

try {
  const outcome = await handleCallback()
  // After a redirect, the page signs in silently: the browser has a session now.
  if (outcome.kind === 'signed_in') location.replace('/')
  else document.querySelector('#outcome').textContent = TEXTS[outcome.kind]
} catch (error) {
  document.querySelector('#outcome').textContent = `You are not signed in: ${error.message}`
}
