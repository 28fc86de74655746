import { ask } from './login-server.js'
import { say } from './words.js'

/** @import { Ending } from './types.d.ts' */

const EVERY_MS = 3_000

/**
 * While the phone panel is open, polls whether the sign-in continued on another device. Also enables the button that
 * copies the link.
 *
 * @param {Record<string, any>} elements @param {string} loginChallenge @param {(kind: Ending) => void} ended
 */
export function watchPhone({ panel, link, copy }, loginChallenge, ended) {
  if (!panel) return

  const poll = async () => {
    if (panel.open && panel.offsetParent && !document.hidden) {
      const answer = await ask(`/login/status?login_challenge=${encodeURIComponent(loginChallenge)}`)
      const status = answer.kind === 'answered' && answer.body.status
      if (status && status !== 'open' && panel.isConnected) return ended(status)
    }
    if (panel.isConnected) setTimeout(poll, EVERY_MS)
  }
  void poll()

  copy.hidden = !navigator.clipboard
  copy.addEventListener('click', async () => {
    link.select()
    await navigator.clipboard.writeText(link.value)
    copy.textContent = say('copied')
  })
}
