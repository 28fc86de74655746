import { ask } from './login-server.js'
import { say } from './words.js'

/** @import { Ending } from './types.d.ts' */

const EVERY_MS = 3_000

/**
 * While the phone panel is visible, polls whether another device signed or continued the sign-in. Also enables the button that shows the
 * panel, and those that copy a link.
 *
 * @param {any} panel @param {any} toggle @param {string} loginChallenge
 * @param {{ ended: (kind: Ending) => void, leave: (to: string) => void }} outcomes
 */
export function watchPhone(panel, toggle, loginChallenge, { ended, leave }) {
  if (!panel) return
  const shown = panel.querySelector('#phone-status')

  /** A screen reader reads each change of the line. @param {string} word */
  const report = (word) => {
    const words = say(word)
    if (shown.textContent !== words) shown.textContent = words
  }
  const poll = async () => {
    if (!panel.offsetParent || document.hidden) return
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
  // The user comes back from the wallet app, or to the network
  document.addEventListener('visibilitychange', poll)
  addEventListener('online', poll)
  toggle.addEventListener('click', () => {
    toggle.ariaExpanded = String(toggle.ariaExpanded !== 'true')
    // The letters and the QR code in one view
    panel.scrollIntoView({ block: 'nearest' })
    void poll()
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
