/*
 * A page that shows live numbers or a job refreshes its main part every few seconds, while the page is visible. Without script a <meta
 * http-equiv="refresh"> in <noscript> does the same. Values that are often copied get a button. A list is updated while the operator types in its
 * search form; without script the form has a button.
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

/** @param {HTMLFormElement} form */
function follow(form) {
  let timer = 0
  let asked = new AbortController()
  const show = async () => {
    asked.abort()
    asked = new AbortController()
    const { signal } = asked
    const given = [...new FormData(form)].filter(([, value]) => typeof value === 'string' && value !== '')
    const address = `${form.action}?${new URLSearchParams(/** @type {[string, string][]} */ (given))}`
    const answer = await fetch(address, { headers: { accept: 'text/html' }, signal })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (signal.aborted) return
    const [count, results] = ['count', 'results'].map((id) => page.getElementById(id))
    // The session has ended.
    if (answer.status === 401) return location.assign(address)
    // A value that is not complete yet, such as half of an address.
    if (!answer.ok || !count || !results) return
    const [shownCount, shown] = ['count', 'results'].map((id) => /** @type {HTMLElement} */ (document.getElementById(id)))
    if (!shownCount || !shown) return
    shownCount.textContent = count.textContent
    shown.innerHTML = results.innerHTML
    history.replaceState(null, '', address)
  }
  form.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => show().catch(() => {}), 200)
  })
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll('form[data-live]'))) follow(form)
