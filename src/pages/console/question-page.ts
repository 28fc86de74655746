import type { Question } from '../../operations/operation.ts'
import { html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { facts, readable } from './parts.ts'

/** Asks once before a change, and names what will happen. */
type QuestionView = Omit<Question, 'decided'> & {
  /** "Delete the client" */
  button: string
  /** the page to return to without a change */
  back: string
  frame: Frame
  action: string
  /** the fields of the form */
  hidden: [string, string][]
  /** hidden fields that replace those of the form, such as the state of the record that the operator saw */
  more: [string, string][]
  formToken: string
}

export function questionPage(view: QuestionView): string {
  const { title, effect, notes = [], isDangerous = false, button, back, more, hidden } = view
  const given = [...hidden.filter(([name]) => !more.some(([other]) => other === name)), ...more]
  return consoleLayout({
    title,
    frame: view.frame,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
<p class="effect${isDangerous ? ' strong' : ''}" id="effect">${effect}</p>
${notes.map((note) => html`<p>${note}</p>`)}
${view.facts && view.facts.length > 0 && facts(view.facts.map(([name, value]) => [name, readable(value)]))}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="confirmed" value="yes">
${given.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions"><button class="button${isDangerous ? ' danger' : ''}" id="confirm">${button}</button>
<a class="button quiet" id="cancel" href="${back}">Cancel</a></p>
</form>
</article></div>`,
  })
}
