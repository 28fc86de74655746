/*
 * A page that shows live numbers or a job refreshes its main part every few seconds, while the page is visible. Without script a
 * <meta http-equiv="refresh"> in <noscript> does the same. Values that are often copied get a button.
 */
const main = /** @type {HTMLElement} */ (document.querySelector('main'))

async function refresh() {
  if (document.hidden || main.contains(document.activeElement)) return
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.querySelector('main')
  if (!answer.ok || !fresh) return location.reload()
  main.innerHTML = fresh.innerHTML
  addCopyButtons()
  if (!fresh.dataset.refresh) clearInterval(timer)
}

const timer = main.dataset.refresh ? setInterval(() => refresh().catch(() => {}), Number(main.dataset.refresh) * 1000) : 0

function addCopyButtons() {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (main.querySelectorAll('[data-copy]'))) {
    const value = /** @type {HTMLElement} */ (box.firstElementChild)
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'button quiet small'
    button.textContent = 'Copy'
    button.setAttribute('aria-label', `Copy ${box.dataset.copy}`)
    const done = document.createElement('span')
    done.className = 'hint'
    done.setAttribute('role', 'status')
    button.addEventListener('click', () => copy(value, done))
    box.append(button, done)
  }
}

/** @param {HTMLElement} value @param {HTMLElement} done */
async function copy(value, done) {
  try {
    await navigator.clipboard.writeText(value.textContent ?? '')
    done.textContent = 'Copied'
  } catch {
    getSelection()?.selectAllChildren(value)
    done.textContent = 'Selected: press Ctrl+C'
  }
}

addCopyButtons()
