import { type Fillable, html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { type Fact, facts } from './parts.ts'

/** Asks once before a change, and names what will happen. */
export type Question = {
  /** "Delete Aurora Notes?" */
  title: string
  /** what will happen, in numbers */
  effect: Fillable
  /** further consequences, one sentence each */
  notes?: string[]
  facts?: Fact[]
  /** "Delete the client" */
  button: string
  tone?: 'plain' | 'danger'
  /** the page to return to without a change */
  back: string
  /** hidden fields besides those of the form, such as the state of the record that the operator saw */
  more?: [string, string][]
}

type QuestionView = Question & { frame: Frame; action: string; hidden: [string, string][]; formToken: string }

export function questionPage(view: QuestionView): string {
  const { title, effect, notes = [], tone = 'plain', button, back, more = [], hidden } = view
  const given = [...hidden.filter(([name]) => !more.some(([other]) => other === name)), ...more]
  return consoleLayout({
    title,
    frame: view.frame,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
<p class="effect${tone === 'danger' ? ' strong' : ''}" id="effect">${effect}</p>
${notes.map((note) => html`<p>${note}</p>`)}
${view.facts && facts(view.facts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="confirmed" value="yes">
${given.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions"><button class="button${tone === 'danger' ? ' danger' : ''}" id="confirm">${button}</button>
<a class="button quiet" id="cancel" href="${back}">Cancel</a></p>
</form>
</article></div>`,
  })
}
