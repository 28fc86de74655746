import { type Html, html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'

/** One field of a form. `lines`: a list with one entry per line. */
export type Field = {
  name: string
  label: string
  hint?: string | undefined
  /** on a second, closed part of the form */
  isRare?: boolean
} & (
  | { kind: 'text' | 'lines' | 'json'; value: string }
  | { kind: 'flag'; value: boolean }
  | { kind: 'choice'; value: string; choices: readonly Choice[] }
  | { kind: 'choices'; value: readonly string[]; choices: readonly Choice[] }
)
export type Choice = { value: string; label: string }

export type FormView = {
  title: string
  intro: string
  fields: Field[]
  /** the page to return to without a change */
  back: string
  /** hidden fields */
  more: [string, string][]
  frame: Frame
  faults: string[]
  action: string
  formToken: string
}

export function formPage({ title, intro, fields, back, more, frame, faults, action, formToken }: FormView): string {
  const rare = fields.filter(({ isRare }) => isRare)
  return consoleLayout({
    title: faults.length > 0 ? `Problem: ${title}` : title,
    frame,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
<p class="lead">${intro}</p>
${faults.length > 0 && html`<div class="message problem" role="alert" id="faults"><p>Nothing was changed:</p><ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul></div>`}
<form method="post" action="${action}" class="fields">
<input type="hidden" name="form_token" value="${formToken}">
${more.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${fields.filter(({ isRare }) => !isRare).map(fieldOf)}
${rare.length > 0 && html`<details class="fold"${faults.length > 0 && html` open`}><summary>More settings</summary><div class="fields">${rare.map(fieldOf)}</div></details>`}
<p class="actions"><button class="button" id="continue">Continue</button>
<a class="button quiet" href="${back}">Cancel</a></p>
</form>
</article></div>`,
  })
}

function fieldOf(field: Field): Html {
  const { name, label, hint } = field
  const id = `field-${name}`
  const described = hint !== undefined && html` aria-describedby="${id}-hint"`
  const note = hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`
  switch (field.kind) {
    case 'flag':
      return html`<div class="field check"><label><input type="checkbox" name="${name}" value="yes" id="${id}"${described}${field.value && html` checked`}> <span>${label}</span></label>${note}</div>`
    case 'choices':
      return html`<fieldset class="field"><legend>${label}</legend>${note}
${field.choices.map(({ value, label: words }) => html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${field.value.includes(value) && html` checked`}> <span>${words}</span></label>`)}</fieldset>`
    case 'choice':
      return html`<div class="field"><label for="${id}">${label}</label>${note}<select name="${name}" id="${id}"${described}>
${field.choices.map(({ value, label: words }) => html`<option value="${value}"${field.value === value && html` selected`}>${words}</option>`)}</select></div>`
    case 'text':
      return html`<div class="field"><label for="${id}">${label}</label>${note}<input type="text" name="${name}" id="${id}" value="${field.value}" autocomplete="off" spellcheck="false"${described}></div>`
    default:
      return html`<div class="field"><label for="${id}">${label}</label>${note}<textarea name="${name}" id="${id}" rows="3" spellcheck="false" class="code"${described}>
${field.value}</textarea></div>`
  }
}
