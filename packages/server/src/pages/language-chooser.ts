import { parseForm, queryOf } from '../protocol/oauth/form.ts'
import { type Html, html } from './html.ts'
import { languages, type Reader } from './languages.ts'

/**
 * Requests the same page in another language: a form with the parameters of the page and one button per language, so that it needs no
 * script. Absent if the request cannot be repeated.
 */
export function languageChooser({ url, tag, texts }: Reader): Html | false {
  if (url === undefined) return false
  const [path] = url.split('?', 1)
  const values = [...parseForm(queryOf(url))].flatMap(([name, each]) => each.map(({ text }) => ({ name, text })))
  // A form cannot repeat bytes that are not UTF-8.
  if (values.some(({ text }) => text === null)) return false
  const parameters = values
    .filter(({ name }) => name !== 'lang')
    .map(({ name, text }) => html`<input type="hidden" name="${name}" value="${text}">`)
  return html`<details class="languages" id="languages"><summary>${texts.language}</summary>
<form method="get" action="${path}">${parameters}
${Object.values(languages).map((language) => html`<button class="quiet-link" name="lang" value="${language.tag}" lang="${language.tag}"${language.tag === tag && html` aria-current="true"`}>${language.name}</button>\n`)}</form></details>`
}
