import type { Members } from '../../operations/members/member.ts'
import type { Subject } from '../../operations/operation.ts'
import { html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { buttonLink, exact, facts, named, pathTo } from './parts.ts'

type SecretView = {
  frame: Frame
  subject: Subject
  id: string
  title: string
  record: Members
  /** null for a record without a secret */
  secret: string | null
}

/** The only page that ever shows a secret. */
export function secretPage({ frame, subject: { name, noun }, id, title, record, secret }: SecretView): string {
  return consoleLayout({
    title,
    frame,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
${facts([
  typeof record.name === 'string' && ['Name', named(record.name, 'without a name')],
  ['Id', html`<span id="${noun}-id">${exact(id)}</span>`],
])}
${
  secret === null
    ? html`<p>This ${noun} has no secret.</p>`
    : html`<h2>Secret</h2>
<p class="message problem">Copy it now. It is shown once and stored nowhere.</p>
<p class="paper" id="${noun}-secret">${secret}</p>`
}
<p class="actions">${buttonLink(pathTo(name, id), `The ${noun}`)}</p>
</article></div>`,
  })
}
