/** The page contains the script's texts in a template. @param {string} key */
export function say(key) {
  const words = /** @type {HTMLTemplateElement} */ (document.getElementById('words'))
  return words.content.querySelector(`[data-word="${key}"]`)?.textContent ?? ''
}

/**
 * A text with names, as nodes. Each name is isolated, so that its direction cannot reorder the sentence.
 *
 * @param {string} key @param {Record<string, string>} [names]
 */
export function sayWith(key, names = {}) {
  return say(key)
    .split(/\{([a-z]+)\}/)
    .map((part, i) => (i % 2 ? isolate(names[part] ?? '') : part))
}

/** @param {string} name */
function isolate(name) {
  const isolated = document.createElement('bdi')
  isolated.textContent = name
  return isolated
}

/** "20 seconds", "3 minutes", in the language of the page. @param {number} seconds */
export function sayWait(seconds) {
  const [unit, count] = seconds < 60 ? ['second', Math.max(1, Math.ceil(seconds))] : ['minute', Math.ceil(seconds / 60)]
  const locale = document.getElementById('login')?.dataset.locale
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}

/** `0xf39F…2266`. @param {string} address */
export function shortAddress(address) {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}
