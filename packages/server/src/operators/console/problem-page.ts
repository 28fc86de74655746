/** The page of a refusal: what was refused, why, and what to do. */

import { html } from '../../pages/html.ts'
import type { Problem } from '../api/problem.ts'
import type { ConsolePage } from './layout.ts'

const TITLES: Readonly<Record<string, string>> = {
  forbidden: 'This is not allowed',
  not_found: 'This does not exist',
  conflict: 'This cannot be done now',
  changed_meanwhile: 'It was changed meanwhile',
  invalid_request: 'This cannot be done',
  unavailable: 'The store cannot be reached',
  defect: 'Something went wrong',
}

const NEXT: Readonly<Record<string, string>> = {
  forbidden:
    'Nothing was changed. Your role, or the scopes that you allowed when you signed in, do not include this action. An owner can carry it out, or give you another role.',
  not_found: 'It may have been deleted. Go back to the list.',
  changed_meanwhile: 'Nothing was changed by you. Open the page again, read what it is now, and repeat the change.',
  unavailable:
    'Wait a moment, then load the page again. A change that you sent may or may not have been made: check before you repeat the change.',
  defect: 'Search the log for the number of this request.',
}

export function problemPage({ code, message: detail, faults }: Problem, requestId: string, again?: string): ConsolePage {
  const title = TITLES[code] ?? 'This request was refused'
  return {
    title,
    content: html`<div class="narrow"><article class="card" data-problem="${code}">
<h1>${title}</h1>
<p class="lead">${detail}</p>
${faults.length > 0 && html`<ul id="faults">${faults.map(({ words }) => html`<li>${words}</li>`)}</ul>`}
<p>${NEXT[code] ?? 'Nothing was changed. Go back and correct it.'}</p>
<p class="actions">${again !== undefined && html`<a class="button" id="again" href="${again}">Open the form again</a> `}<a class="button${again !== undefined && ' quiet'}" href="/console">Go to the overview</a></p>
<p class="fine">Number of this request: <code class="number">${requestId}</code></p>
</article></div>`,
  }
}
