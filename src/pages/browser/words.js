// @ts-check

/** The page's words for the script: they come with the page, in `<template id="words">`, so that they are translated with it. */

/**
 * @param {string} key
 * @param {Record<string, string>} [names] what stands for `{wallet}` and the like
 * @returns {string}
 */
export function say(key, names = {}) {
  const words = /** @type {HTMLTemplateElement} */ (document.getElementById('words'))
  const sentence = words.content.querySelector(`[data-word="${key}"]`)?.textContent ?? ''
  return sentence.replace(/\{([a-z]+)\}/g, (_, name) => names[name] ?? '')
}

/**
 * @param {number} seconds
 * @returns {string} "20 seconds", "3 minutes"
 */
export function sayWait(seconds) {
  if (seconds < 60) return say('seconds', { n: String(Math.max(1, Math.ceil(seconds))) })
  const minutes = Math.ceil(seconds / 60)
  return minutes === 1 ? say('minute') : say('minutes', { n: String(minutes) })
}

/**
 * @param {string} address
 * @returns {string} `0xf39F…2266`
 */
export function shortAddress(address) {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}
