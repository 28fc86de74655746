import type { StepReport } from '../report.ts'
import { exchangeView } from './exchange-view.ts'
import type { Html } from './html.ts'
import { html } from './html.ts'
import { timeOfDay } from './layout.ts'

export interface StepView {
  /** The section's id is `${name}-step`, that of its report `${name}-result`. */
  name: string
  title: string
  text: Html
  action?: Html | undefined
  report?: StepReport | undefined
  /** Whether the message of this step is the newest one, which is open. */
  newest?: boolean
  /** Shown in place of the message. */
  detail?: Html | undefined
}

/** One step: its purpose, its button, and its message beside them. */
export function stepView({ name, title, text, action, report, newest = false, detail }: StepView): Html {
  return html`<li class="step${report || detail ? ' taken' : ''}" id="${name}-step">
<div class="story">
<h3>${title}</h3>
<p>${text}</p>
${action}
${report && outcomeView(report, `${name}-result`)}
</div>
${detail ?? (report?.exchange && exchangeView(report.exchange, newest))}
</li>`
}

function outcomeView({ outcome, words, at }: StepReport, id: string): Html {
  return html`<p class="outcome ${outcome}" id="${id}" data-outcome="${outcome}" role="status"><b>${outcomeNames[outcome]}</b> ${words} <time>${timeOfDay(at)}</time></p>`
}

const outcomeNames = { done: 'Done.', refused: 'Refused.', trouble: 'Failed.' }

/** The error of the last request, at the top of the page. */
export function noticeView(notice: StepReport | undefined): Html | undefined {
  return notice && html`<div class="notice">${outcomeView(notice, 'notice')}</div>`
}

/** A form and not a link, because it changes something: `guards.ts` accepts a POST from pages of this app only. */
export function actionForm(id: string, path: string, label: string, look = ''): Html {
  return html`<form method="post" action="${path}"><button class="button ${look}" id="${id}">${label}</button></form>`
}
