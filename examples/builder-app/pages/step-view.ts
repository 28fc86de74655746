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
  /** Whether the message of this step is the newest, and so open. */
  newest?: boolean
  /** Stands where the message stands in the other steps. */
  detail?: Html | undefined
}

/** One step: what it is for, the button, and beside it what went over the wire. */
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

const outcomeNames = { done: 'Done.', refused: 'No.', trouble: 'Trouble.' }

/** What went wrong on the way here, above everything else. */
export function noticeView(notice: StepReport | undefined): Html | undefined {
  return notice && html`<div class="notice">${outcomeView(notice, 'notice')}</div>`
}

/** A form and not a link: it changes something, and only a form of this very page can send it. */
export function actionForm(id: string, path: string, label: string, look = ''): Html {
  return html`<form method="post" action="${path}"><button class="button ${look}" id="${id}">${label}</button></form>`
}
