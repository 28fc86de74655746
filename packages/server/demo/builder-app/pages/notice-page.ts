import { html } from './html.ts'
import { layout } from './layout.ts'

/** A page with a message and one link, for example after an error. */
export function noticePage(
  title: string,
  words: string,
  way: { href: string; label: string } = { href: '/', label: 'Back to the start' },
): string {
  return layout({
    title: `${title} · Demo builder app`,
    content: html`<section class="alone">
<h1>${title}</h1>
<p class="lead" id="notice">${words}</p>
<p><a class="button" id="way-on" href="${way.href}">${way.label}</a></p>
</section>`,
  })
}
