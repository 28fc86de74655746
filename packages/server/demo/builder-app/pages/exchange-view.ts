import type { Answer, Exchange } from '../exchange.ts'
import type { Field } from '../mask.ts'
import { Html, html } from './html.ts'
import { parameterMeanings } from './meanings.ts'

/** One request and its response. The element opens and closes without script. */
export function exchangeView({ sender, method, url, headers, parameters, answer }: Exchange, open: boolean): Html {
  return html`<details class="wire"${open && new Html(' open')}>
<summary><span class="line"><b>${method}</b> ${url}</span> ${statusView(answer)}</summary>
<div class="half">
<h4>Sent by ${sender}</h4>
${headerList(headers)}
${parameterList(parameters)}
</div>
<div class="half answered">
<h4>Answered</h4>
${answer ? answerView(answer) : html`<p class="empty">There was no response.</p>`}
</div>
</details>`
}

function statusView(answer: Answer | undefined): Html {
  if (!answer) return html`<span class="status s5">no answer</span>`
  return html`<span class="status s${Math.floor(answer.status / 100)}">${answer.status} ${statusWords[answer.status]}</span>`
}

function answerView({ headers, parameters, body }: Answer): Html {
  return html`${headerList(headers)}
${parameterList(parameters)}
${body && html`<pre>${body}</pre>`}
${!body && parameters.length === 0 && html`<p class="empty">(an empty body)</p>`}`
}

function headerList(headers: Field[]): Html | false {
  return (
    headers.length > 0 &&
    html`<dl class="headers">${headers.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
  )
}

function parameterList(parameters: Field[]): Html | false {
  return (
    parameters.length > 0 &&
    html`<dl class="parameters">${parameters.map(
      ({ name, value }) => html`<div><dt>${name}</dt><dd>${value}${meaningOf(name)}</dd></div>`,
    )}</dl>`
  )
}

function meaningOf(name: string): Html | undefined {
  const meaning = parameterMeanings[name]
  return meaning === undefined ? undefined : html`<small>${meaning}</small>`
}

const statusWords: Record<number, string> = {
  200: 'OK',
  302: 'Found',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}
