import { ask } from './login-server.js'
import { say } from './words.js'

/** @import { Ending } from './types.d.ts' */

const EVERY_MS = 3_000

/**
 * While the phone panel is open, polls whether another device signed or continued the sign-in. Also enables the buttons that
 * copy a link.
 *
 * @param {any} panel @param {string} loginChallenge
 * @param {{ ended: (kind: Ending) => void, leave: (to: string) => void }} outcomes
 */
export function watchPhone(panel, loginChallenge, { ended, leave }) {
  if (!panel) return
  const shown = panel.querySelector('#phone-status')

  /** A screen reader reads each change of the line. @param {string} word */
  const report = (word) => {
    const words = say(word)
    if (shown.textContent !== words) shown.textContent = words
  }
  const poll = async () => {
    if (!panel.open || !panel.offsetParent || document.hidden) return
    const answer = await ask(`/login/status?login_challenge=${encodeURIComponent(loginChallenge)}`)
    if (!panel.isConnected) return
    if (answer.kind !== 'answered') return report('waitingOffline')
    const { status, redirect_to: to } = answer.body
    if (status === 'open') return report('waiting')
    if (!to) return ended(status)
    report('done')
    leave(to)
  }
  const repeat = async () => {
    await poll()
    if (panel.isConnected) setTimeout(repeat, EVERY_MS)
  }
  void repeat()
  panel.addEventListener('toggle', poll)
  // The user comes back from the wallet app, or to the network
  document.addEventListener('visibilitychange', poll)
  addEventListener('online', poll)
  // The letters and the QR code in one view
  panel.querySelector('summary').addEventListener('click', () => {
    requestAnimationFrame(() => panel.scrollIntoView({ block: 'nearest' }))
  })

  for (const copy of panel.querySelectorAll('[data-copies]')) {
    copy.hidden = !navigator.clipboard
    copy.addEventListener('click', async () => {
      const link = panel.querySelector(`#${copy.dataset.copies}`)
      link.select()
      await navigator.clipboard.writeText(link.value)
      copy.textContent = say('copied')
    })
  }
}
