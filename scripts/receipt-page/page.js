// @ts-check

/** The script of docs/verify-receipt.html: reads a receipt from a file, a drop or a paste, and shows the verdict. It sends no request. */

import { checkReceipt } from '../../packages/server/src/protocol/wallet/receipt.ts'
import { describeVerdict } from '../../packages/server/src/protocol/wallet/receipt-words.ts'

const form = find(document, '#form', HTMLFormElement)
const file = find(document, '#file', HTMLInputElement)
const pasted = find(document, '#pasted', HTMLTextAreaElement)
const drop = find(document, '#drop', HTMLElement)
const verdict = find(document, '#verdict', HTMLElement)
const said = find(document, '#said', HTMLElement)
const slip = find(document, '#shown', HTMLTemplateElement)

/** In bytes; a receipt has about two thousand, and up to 1,400,000 with 10,000 uses of a limit. */
const LONGEST = 2_000_000

/** Only the verdict on the latest receipt may be shown, even if an earlier file is read later. */
let latest = 0

/** @param {string} source the source of the receipt, in words @param {() => Promise<string>} read */
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

/** @param {import('../../packages/server/src/protocol/wallet/receipt.ts').ReceiptVerdict} found @returns {keyof typeof MARKS} */
function lookOf(found) {
  if (found.kind === 'holds') return found.expired ? 'over' : 'holds'
  return found.kind === 'could_not_check' ? 'unknown' : 'refused'
}

/**
 * Texts are set as textContent, so no part of a receipt becomes markup. If the receipt is not genuine, no part of it is shown.
 *
 * @param {string} source @param {import('../../packages/server/src/protocol/wallet/receipt.ts').ReceiptVerdict} found @param {unknown} receipt
 */
function show(source, found, receipt) {
  const words = describeVerdict(found, { callsChain: false })
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
    const { notSigned } = words
    find(body, '.not-signed', HTMLElement).hidden = notSigned === undefined
    if (notSigned) {
      find(body, '.not-signed > p', HTMLElement).textContent = notSigned.title
      find(body, '.not-signed > dl', HTMLElement).append(...notSigned.facts.map(fact))
    }
  }
  verdict.replaceChildren(shown)
  // A screen reader reads the verdict at once. The user can read the rest later.
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
 * An element that the page always has.
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
  // A name may contain anything, so it is shown as text and shortened.
  const name = [...chosen.name.replace(/[\p{Cc}\p{Cf}\p{DI}\u2800]/gu, '')].slice(0, 60).join('')
  void check(`The file ${name}`, () => (chosen.size > LONGEST ? Promise.resolve('') : chosen.text()))
}

file.addEventListener('change', () => {
  checkFile(file.files?.[0])
  // The input is cleared, so that the same file, changed meanwhile, can be chosen again.
  file.value = ''
})

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void check('What you pasted', () => Promise.resolve(pasted.value))
})

// A paste checks the receipt at once, so that the user need not press the button.
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
