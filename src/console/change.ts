/** The pages of an operation that changes something: an optional form, one question that names what will happen, and the change itself. */
import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { Problem } from '../admin/problem.ts'
import { subjectOf } from '../operations/all.ts'
import { changesBetween, type Members } from '../operations/members/member.ts'
import { etagOf, nameOf, type Operation, type Result, recordIn } from '../operations/operation.ts'
import { invalid, Refusal } from '../operations/refusal.ts'
import { requireScope } from '../operations/service.ts'
import { type Html, html } from '../pages/html.ts'
import { type Fields, requirePost } from './form.ts'
import type { Page } from './layout.ts'
import { buttonLink, exact, facts, named, pathTo, readable } from './parts.ts'
import { enteredMembers, fieldsOf, formMembers, hasFile, shownMembers, withoutEmpty } from './record-form.ts'
import { redirectTo } from './replies.ts'
import { type Console, type Given, type Present, pathOf, readRecord, type Visit, visitOf } from './visit.ts'

export type ChangePages = {
  operation: Operation
  path: string
  /** the form in which the operator enters the input; without one, the first page is the question */
  form: null | { title: string; intro?: string; idLabel?: string }
  /** true if the operation concerns a present record */
  hasRecord: boolean
  /** what the path and the fields say, besides the members of the form */
  given?: (visit: Visit, fields: Fields) => Given
  /** the page to return to, with or without the change */
  home(visit: Visit, result: Result | null): string
}

/** The fields of the form are repeated as hidden fields of the question. */
export function addChange(console: Console, change: ChangePages): void {
  const { server } = console
  server.get(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    if (!visit) return reply
    requireUse(visit, change)
    return change.form ? showForm(change, visit, { entered: null, faults: [] }) : showQuestion(change, visit, visit.query)
  })
  server.post(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    if (!visit) return reply
    const entered = requirePost(console.admin, request, { grantId: visit.frame.grantId, path: pathOf(request) })
    try {
      if (entered.text('confirmed') === 'yes') return await carryOut(change, visit, entered)
      requireUse(visit, change)
      return await showQuestion(change, visit, entered)
    } catch (error) {
      if (!(error instanceof Refusal) || !change.form || error.faults.length === 0) throw error
      return showForm(change, visit, { entered, faults: error.faults })
    }
  })
}

/** Refuses before the form or the question is shown. `perform` checks the scope again. */
function requireUse(visit: Visit, { operation: { scope } }: ChangePages): void {
  if (!visit.may(scope)) throw new Problem('forbidden', `This change needs the scope ${scope}.`)
}

async function presentOf(visit: Visit, { operation, hasRecord }: ChangePages): Promise<Present | null> {
  return hasRecord ? readRecord(visit, subjectOf(operation.subject), visit.params.id ?? '') : null
}

async function showForm(
  change: ChangePages,
  visit: Visit,
  { entered, faults }: { entered: Fields | null; faults: readonly string[] },
): Promise<FastifyReply> {
  const { operation, form } = change
  const present = await presentOf(visit, change)
  const path = pathOf(visit.request)
  const id = form?.idLabel === undefined ? [] : [{ name: 'id', shape: { kind: 'text' } as const, label: form.idLabel }]
  const members = [...id, ...formMembers(operation)]
  const title = form?.title ?? ''
  const values = { ...operation.page?.initial, ...present?.members }
  const state: Hidden[] = operation.checksState && present ? [['etag', entered?.text('etag') ?? etagOf(present.state)]] : []
  visit.reply.code(faults.length > 0 ? 422 : 200)
  return visit.send({
    title: faults.length > 0 ? `Problem: ${title}` : title,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
${present && html`<p class="lead">${nameOf(subjectOf(operation.subject), present.members)}</p>`}
${form?.intro && html`<p class="lead">${form.intro}</p>`}
${faults.length > 0 && html`<div class="message problem" role="alert" id="faults"><p>Nothing was changed:</p><ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul></div>`}
<form method="post" action="${path}" class="fields"${hasFile(members) && html` enctype="multipart/form-data"`}>
<input type="hidden" name="form_token" value="${visit.formToken(path)}">
${state.map(hiddenField)}
${fieldsOf(members, entered ? enteredMembers(members, entered) : values, faults.length > 0)}
<p class="actions"><button class="button" id="continue">Continue</button>
<a class="button quiet" href="${change.home(visit, null)}">Cancel</a></p>
</form>
</article></div>`,
  })
}

async function showQuestion(change: ChangePages, visit: Visit, fields: Fields): Promise<FastifyReply> {
  const { operation, form } = change
  const present = await presentOf(visit, change)
  const given = givenBy(change, visit, fields, present)
  const question = await visit.ask(operation, given)
  const decided: Hidden[] = Object.entries(question.decided ?? {}).map(([name, value]) => [name, String(value)])
  const state: Hidden[] = operation.checksState && present && !form ? [['etag', etagOf(present.state)]] : []
  // A form that is sent twice creates one record.
  const key: Hidden[] = operation.isRepeatable ? [['key', fields.text('key') || randomUUID()]] : []
  const more = [...decided, ...state, ...key]
  const entered = hiddenOf(fields).filter(([name]) => !more.some(([other]) => other === name))
  const shown = [...(question.facts ?? []), ...shownMembers(formMembers(operation), given.input ?? {})]
  const path = pathOf(visit.request)
  const { title, effect, notes = [], isDangerous = false, button } = question
  return visit.send({
    title,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
<p class="effect${isDangerous ? ' strong' : ''}" id="effect">${effect}</p>
${notes.map((note) => html`<p>${note}</p>`)}
${shown.length > 0 && facts(shown.map(([name, value]) => [name, readable(value)]))}
<form method="post" action="${path}">
<input type="hidden" name="form_token" value="${visit.formToken(path)}">
<input type="hidden" name="confirmed" value="yes">
${[...entered, ...more].map(hiddenField)}
<p class="actions"><button class="button${isDangerous ? ' danger' : ''}" id="confirm">${button}</button>
<a class="button quiet" id="cancel" href="${form && !present ? path : change.home(visit, null)}">Cancel</a></p>
</form>
</article></div>`,
  })
}

async function carryOut(change: ChangePages, visit: Visit, fields: Fields): Promise<FastifyReply> {
  const { operation } = change
  // Before the input is checked, so that an operator without the scope learns nothing else.
  requireScope(visit.actor, operation.scope)
  const subject = subjectOf(operation.subject)
  const present = operation.kind === 'change' ? await presentOf(visit, change) : null
  const result = await visit.run(operation, givenBy(change, visit, fields, present))
  const output = (result.output ?? {}) as Members
  const secret = output[SECRET] ?? output[`${subject.noun}_${SECRET}`]
  if (secret !== undefined) return visit.send(secretPage(operation, recordIn(subject, output), secret as string | null))
  if (operation.answers.started && result.isNew) return redirectTo(visit.reply, pathTo('jobs', String(output.job_id)))
  const home = change.home(visit, result)
  return redirectTo(visit.reply, `${home}${home.includes('?') ? '&' : '?'}done=${operation.id}`)
}

/** The member of an output that is shown once. */
const SECRET = 'secret'

/** The only page that ever shows a secret. `secret` is null for a record without one. */
function secretPage({ subject: name, page }: Operation, record: Members, secret: string | null): Page {
  const subject = subjectOf(name)
  const { noun, displays = [] } = subject
  const id = String(record[subject.idName])
  const title = page?.done ?? ''
  const nameOfRecord = nameOf(subject, record)
  const label = displays.find(({ isTitle }) => isTitle)?.label ?? ''
  return {
    title,
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
${facts([
  nameOfRecord !== id && [label, named(nameOfRecord, 'without a name')],
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
  }
}

function givenBy(change: ChangePages, visit: Visit, fields: Fields, present: Present | null): Given {
  const { operation, form } = change
  const members = form ? formMembers(operation) : (operation.input ?? []).filter(({ name }) => fields.names().includes(name))
  const entered = enteredMembers(members, fields)
  const given = change.given?.(visit, fields) ?? {}
  const own = { id: visit.params.id ?? fields.text('id'), etag: fields.text('etag'), key: fields.text('key'), ...given }
  if (operation.kind !== 'change' || !present) return { ...own, input: { ...withoutEmpty(members, entered), ...given.input } }
  const changes = changesBetween(present.members, entered)
  if (changes.length === 0) throw invalid(['No value was changed.'])
  return { ...own, input: Object.fromEntries(changes.map(({ name, after }) => [name, after])) }
}

type Hidden = [name: string, value: string]

function hiddenField([name, value]: Hidden): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** The fields of the form, as hidden fields of the question. */
function hiddenOf(fields: Fields): Hidden[] {
  const names = fields.names().filter((name) => name !== 'form_token' && name !== 'confirmed')
  return names.flatMap((name) => fields.all(name).map((value): Hidden => [name, value]))
}
