/** The page contains the script's texts in a template. @param {string} key @param {Record<string, string>} [names] */
export function say(key, names = {}) {
  const words = /** @type {HTMLTemplateElement} */ (document.getElementById('words'))
  const sentence = words.content.querySelector(`[data-word="${key}"]`)?.textContent ?? ''
  return sentence.replace(/\{([a-z]+)\}/g, (_, name) => names[name] ?? '')
}

/** "20 seconds", "3 minutes". @param {number} seconds */
export function sayWait(seconds) {
  if (seconds < 60) return say('seconds', { n: String(Math.max(1, Math.ceil(seconds))) })
  const minutes = Math.ceil(seconds / 60)
  return minutes === 1 ? say('minute') : say('minutes', { n: String(minutes) })
}

/** `0xf39F…2266`. @param {string} address */
export function shortAddress(address) {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}
