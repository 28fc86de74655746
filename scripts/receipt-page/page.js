// @ts-check

/** The script of docs/verify-receipt.html: takes a receipt by file, drop or paste, and shows the verdict. It reaches for nothing else. */

import { checkReceipt } from '../../src/wallet/receipt.ts'
import { describeVerdict } from '../../src/wallet/receipt-words.ts'

const form = find(document, '#form', HTMLFormElement)
const file = find(document, '#file', HTMLInputElement)
const pasted = find(document, '#pasted', HTMLTextAreaElement)
const drop = find(document, '#drop', HTMLElement)
const verdict = find(document, '#verdict', HTMLElement)
const said = find(document, '#said', HTMLElement)
const slip = find(document, '#shown', HTMLTemplateElement)

/** In bytes; a receipt has about two thousand. */
const LONGEST = 1_000_000

/** Only the latest receipt's verdict may be shown, whichever is read first. */
let latest = 0

/** @param {string} source where it came from, in words @param {() => Promise<string>} read */
async function check(source, read) {
  const own = ++latest
  const text = await read().catch(() => '')
  const receipt = parse(text)
  const found = await checkReceipt(receipt, { now: Math.floor(Date.now() / 1000) })
  if (own === latest) show(source, found, receipt)
}

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const MARKS = {
  holds: 'm8 12.4 2.7 2.7L16.2 9.4',
  over: 'M12 7v5.2l3.2 2',
  unknown: 'M12 7.5v5.5M12 16.4v.1',
  refused: 'm8.8 8.8 6.4 6.4m0-6.4-6.4 6.4',
}

/** @param {import('../../src/wallet/receipt.ts').ReceiptVerdict} found @returns {keyof typeof MARKS} */
function lookOf(found) {
  if (found.kind === 'holds') return found.expired ? 'over' : 'holds'
  return found.kind === 'could_not_check' ? 'unknown' : 'refused'
}

/**
 * Words go in as textContent only, so nothing in a receipt is ever markup; and of a receipt that does not hold, nothing goes in at all.
 *
 * @param {string} source @param {import('../../src/wallet/receipt.ts').ReceiptVerdict} found @param {unknown} receipt
 */
function show(source, found, receipt) {
  const words = describeVerdict(found, false)
  const shown = document.importNode(slip.content, true)
  const body = find(shown, '.slip-body', HTMLElement)
  find(shown, '.slip', HTMLElement).classList.add(lookOf(found))
  find(shown, '.mark', SVGPathElement).setAttribute('d', MARKS[lookOf(found)])
  find(shown, '.title', HTMLElement).textContent = words.title
  find(shown, '.source', HTMLElement).textContent = source
  find(shown, '.remarks', HTMLElement).append(...words.remarks.map((remark) => element('p', remark)))
  body.hidden = found.kind !== 'holds'
  if (found.kind === 'holds') {
    find(body, '.facts', HTMLElement).append(...words.facts.map(fact))
    find(body, '.paper', HTMLElement).textContent = /** @type {{ message: string }} */ (receipt).message
  }
  verdict.replaceChildren(shown)
  // Heard at once; the rest is there to be read.
  said.textContent = [words.title, ...words.remarks].join(' ')
  verdict.scrollIntoView({ block: 'nearest' })
}

/** @param {[name: string, value: string]} pair */
function fact([name, value]) {
  const row = element('div', '')
  row.append(element('dt', name), element('dd', value))
  return row
}

/** @param {string} tag @param {string} text */
function element(tag, text) {
  const made = document.createElement(tag)
  made.textContent = text
  return made
}

/**
 * What the page always has.
 *
 * @template {Element} T @param {ParentNode} within @param {string} selector @param {new () => T} kind @returns {T}
 */
function find(within, selector, kind) {
  const found = within.querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`)
  return found
}

/** @param {File | null | undefined} chosen */
function checkFile(chosen) {
  if (!chosen) return
  // A name is shown as text, and short: it may be anything.
  const name = [...chosen.name.replace(/[\p{Cc}\p{Cf}\p{DI}\u2800]/gu, '')].slice(0, 60).join('')
  void check(`The file ${name}`, () => (chosen.size > LONGEST ? Promise.resolve('') : chosen.text()))
}

file.addEventListener('change', () => {
  checkFile(file.files?.[0])
  // So that the same file, changed meanwhile, can be chosen again.
  file.value = ''
})

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void check('What you pasted', () => Promise.resolve(pasted.value))
})

// Pasting is all there is to do, so nobody has to press the button as well.
pasted.addEventListener('paste', () => setTimeout(() => form.requestSubmit()))

for (const name of ['dragenter', 'dragover']) {
  document.addEventListener(name, (event) => {
    event.preventDefault()
    drop.classList.add('over')
  })
}
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (relatedTarget === null) drop.classList.remove('over')
})
document.addEventListener('drop', (event) => {
  // Otherwise the browser leaves this page and opens the file.
  event.preventDefault()
  drop.classList.remove('over')
  checkFile(event.dataTransfer?.files[0])
})
