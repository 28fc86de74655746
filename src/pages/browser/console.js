/*
 * A page that shows live numbers or a job refreshes its main part every few seconds, while the page is visible. Without script a
 * <meta http-equiv="refresh"> in <noscript> does the same.
 */
const main = /** @type {HTMLElement} */ (document.querySelector('main[data-refresh]'))

async function refresh() {
  if (document.hidden || main.contains(document.activeElement)) return
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.querySelector('main')
  if (!answer.ok || !fresh) return location.reload()
  main.innerHTML = fresh.innerHTML
  if (!fresh.dataset.refresh) clearInterval(timer)
}

const timer = main ? setInterval(() => refresh().catch(() => {}), Number(main.dataset.refresh) * 1000) : 0
