/** The pages of an operation that changes something: an optional form, one question that names what will happen, and the change itself. */

import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Fault } from '../../domain/model/fault.ts'
import { type Html, html } from '../../pages/html.ts'
import { Problem, problemOf, statusOf } from '../api/problem.ts'
import { changesBetween, type Member, type Members } from '../members/member.ts'
import { subjectOf } from '../operations/all.ts'
import { etagOf, labelOfId, nameOf, type Operation, type Result } from '../operations/operation.ts'
import { invalid, Refusal } from '../operations/refusal.ts'
import { requireScope } from '../operations/service.ts'
import { conflictPage } from './conflict.ts'
import { begunBefore, dropDrafts, keepAfterSession, keepDraft, type OpenDraft, openDraft, operatorOf } from './drafts.ts'
import { type FormFields, ofAnother, requireForm } from './form.ts'
import type { Crumb } from './layout.ts'
import { clock, facts, link, pathTo, readableText } from './parts.ts'
import { problemPage } from './problem-page.ts'
import { enteredMembers, fieldsOf, formMembers, hasFile, shownMembers, withoutEmpty } from './record-form.ts'
import { redirectTo } from './replies.ts'
import { redirectToSecret, secretIn } from './shown-secret.ts'
import { type Console, type PresentRecord, pathOf, queryOf, readRecord, type Visit, type VisitCall, visitOf } from './visit.ts'

export type ChangePages = {
  operation: Operation
  path: string
  /** the form in which the operator enters the input; without one, the first page is the question */
  form: null | { title: string; intro?: string; id?: Member; prefilled?: readonly string[] }
  /** true if the operation concerns a present record */
  hasRecord: boolean
  /** what the path and the fields say, besides the members of the form */
  given?: (visit: Visit, fields: FormFields) => VisitCall
  /** the pages above, if the operation has no record */
  crumbs?: (visit: Visit) => readonly Crumb[]
  /** the page to return to, with or without the change */
  home(visit: Visit, result: Result | null): string
}

/**
 * The fields of the form are repeated as hidden fields of the question. Each form that was sent is answered by a redirect: to the draft that
 * shows what was entered (`drafts.ts`), or after the change to its result.
 */
export function addChange(console: Console, change: ChangePages): void {
  const { server, admin } = console
  server.get(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    if (!visit) return reply
    requireUse(visit, change)
    const draft = await openDraft(console, visit)
    if (draft) return showDraft(console, change, visit, draft)
    const isGone = visit.query.text('draft') !== ''
    if (!change.form) return showQuestion(change, visit, visit.query)
    const begun = isGone ? null : await begunBefore(console, visit)
    return showForm(change, visit, { entered: null, faults: [], note: changeNote(begun, isGone) })
  })
  server.post(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply, () => keepAfterSession(console, request))
    if (!visit) return reply
    const path = pathOf(request)
    const { fields, grantId } = requireForm(admin, request, path)
    const isOfThisSession = grantId === visit.frame.grantId
    if (!isOfThisSession && (await operatorOf(console, grantId)) !== visit.actor.id) throw ofAnother()
    const keep = async (refused?: Problem): Promise<FastifyReply> =>
      redirectTo(reply, await keepDraft(console, { operator: visit.actor.id, path, fields, ...(refused && { refused }) }))
    try {
      // A form of an earlier session of the same operator is shown again, and confirmed again.
      if (isOfThisSession && fields.text('confirmed') === 'yes') return await performChange(console, change, visit, fields)
      requireUse(visit, change)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      admin.metrics?.countRefusal('console', error.code)
      return keep(problemOf(error))
    }
    return keep()
  })
}

function changeNote(begun: { at: number; address: string } | null, isGone: boolean): Html | false {
  if (isGone) return html`<p class="message" role="status">What you entered was sent already, or is older than eight hours.</p>`
  return (
    begun !== null &&
    html`<p class="message">At ${clock(begun.at)} you began this form and did not confirm it. ${link(begun.address, 'Go on with what you entered')}</p>`
  )
}

/** What was entered: the question, or the form with its faults, or why the change was refused. */
async function showDraft(console: Console, change: ChangePages, visit: Visit, draft: OpenDraft): Promise<FastifyReply> {
  const { fields, refused } = draft
  const isEdited = visit.query.text('edit') === 'yes'
  const entered = { entered: fields, faults: refused?.faults ?? [], isRefused: refused !== null }
  if (change.form && (isEdited || entered.faults.length > 0)) return showForm(change, visit, entered)
  if (refused) {
    const { reply, request } = visit
    const path = pathOf(request)
    const again = change.form ? `${path}${queryOf({ draft: draft.id, edit: 'yes' })}` : path
    reply.code(statusOf(refused))
    const present = refused.code === 'changed_meanwhile' && change.form ? await presentOf(visit, change) : null
    if (!present) return visit.send(problemPage(refused, request.id, again))
    const members = formMembers(change.operation)
    return visit.send(
      await conflictPage(visit, {
        subject: subjectOf(change.operation.subject),
        id: visit.params.id ?? '',
        members,
        present: present.members,
        entered: enteredMembers(members, fields),
        again,
        home: change.home(visit, null),
      }),
    )
  }
  try {
    return await showQuestion(change, visit, fields, draft.id)
  } catch (error) {
    if (!(error instanceof Refusal) || !change.form || error.faults.length === 0) throw error
    console.admin.metrics?.countRefusal('console', error.code)
    return showForm(change, visit, { ...entered, faults: error.faults })
  }
}

/** Refuses before the form or the question is shown. `perform` checks the scope again. */
function requireUse(visit: Visit, { operation: { scope } }: ChangePages): void {
  if (!visit.may(scope)) throw new Problem('forbidden', `This change needs the scope ${scope}.`)
}

async function presentOf(visit: Visit, { operation, hasRecord }: ChangePages): Promise<PresentRecord | null> {
  return hasRecord ? readRecord(visit, subjectOf(operation.subject), visit.params.id ?? '') : null
}

/** The page of the record, if the record has one. */
function crumbsOf({ operation, crumbs }: ChangePages, visit: Visit, present: PresentRecord | null): readonly Crumb[] {
  if (!present) return crumbs?.(visit) ?? []
  const subject = subjectOf(operation.subject)
  const hasPage = subject.operations.some(({ kind }) => kind === 'get')
  return hasPage ? [[pathTo(subject.name, visit.params.id ?? ''), nameOf(subject, present.members)]] : []
}

/** `isRefused`: the change was refused, so the form names the present state of the record. */
type EnteredForm = { entered: FormFields | null; faults: readonly Fault[]; isRefused?: boolean; note?: Html | false }

async function showForm(
  change: ChangePages,
  visit: Visit,
  { entered, faults, isRefused = false, note = false }: EnteredForm,
): Promise<FastifyReply> {
  const { operation, form } = change
  const present = await presentOf(visit, change)
  const path = pathOf(visit.request)
  const members = [...(form?.id ? [form.id] : []), ...formMembers(operation)]
  const title = form?.title ?? ''
  const prefilled = members.filter(({ name }) => form?.prefilled?.includes(name))
  const values = { ...present?.members, ...enteredMembers(prefilled, visit.query) }
  const etag = isRefused ? '' : (entered?.text('etag') ?? '')
  const state: Hidden[] =
    operation.refusals.includes('changed_meanwhile') && present ? [['etag', etag || etagOf(present.state)]] : []
  visit.reply.code(faults.length > 0 ? 422 : 200)
  return visit.send({
    title: faults.length > 0 ? `Problem: ${title}` : title,
    crumbs: crumbsOf(change, visit, present),
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
${present && html`<p class="lead">${nameOf(subjectOf(operation.subject), present.members)}</p>`}
${form?.intro && html`<p class="lead">${form.intro}</p>`}
${note}
${faults.length > 0 && faultList(members, faults)}
<form method="post" action="${path}" class="fields"${hasFile(members) && html` enctype="multipart/form-data"`}>
<input type="hidden" name="form_token" value="${visit.formToken(path)}">
${state.map(hiddenField)}
${fieldsOf(members, entered ? { ...values, ...enteredMembers(members, entered) } : values, { faults, settings: visit.settings })}
<p class="actions"><button class="button" id="continue">Continue</button>
<a class="button quiet" href="${change.home(visit, null)}">Cancel</a></p>
</form>
</article></div>`,
  })
}

/** Each fault of a field links to the field. */
function faultList(members: readonly Member[], faults: readonly Fault[]): Html {
  const item = ({ member, words }: Fault): Html =>
    members.some(({ name }) => name === member) ? link(`#field-${member}`, words) : html`${words}`
  return html`<div class="message problem" role="alert" id="faults"><p>Nothing was changed:</p><ul>${faults.map((fault) => html`<li>${item(fault)}</li>`)}</ul></div>`
}

async function showQuestion(change: ChangePages, visit: Visit, fields: FormFields, draftId = ''): Promise<FastifyReply> {
  const { operation, form } = change
  const present = await presentOf(visit, change)
  const given = givenBy(change, visit, fields, present)
  const question = await visit.ask(operation, given)
  const state: Hidden[] =
    operation.refusals.includes('changed_meanwhile') && present && !form ? [['etag', etagOf(present.state)]] : []
  // A form that is sent twice creates one record. So does a question that is loaded again.
  const key: Hidden[] = operation.refusals.includes('idempotency_key_reused')
    ? [['key', fields.text('key') || draftId || randomUUID()]]
    : []
  const more = [...state, ...key]
  const entered = hiddenOf(fields).filter(([name]) => !more.some(([other]) => other === name))
  const shown = [...factsOf(change, given, present), ...shownMembers(formMembers(operation), given.input ?? {})]
  const path = pathOf(visit.request)
  const { title, effect, notes = [], isDangerous = false, button } = question
  return visit.send({
    title,
    crumbs: crumbsOf(change, visit, present),
    content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
<p class="effect${isDangerous ? ' strong' : ''}" id="effect">${effect}</p>
${notes.map((note) => html`<p>${note}</p>`)}
${shown.length > 0 && facts(shown.map(([name, value]) => [name, readableText(value)]))}
<form method="post" action="${path}">
<input type="hidden" name="form_token" value="${visit.formToken(path)}">
<input type="hidden" name="confirmed" value="yes">
${[...entered, ...more].map(hiddenField)}
<p class="actions"><button class="button${isDangerous ? ' danger' : ''}" id="confirm">${button}</button>
${form && draftId !== '' && html`<a class="button quiet" id="edit" href="${path}${queryOf({ draft: draftId, edit: 'yes' })}">Back to the form</a>`}
<a class="button quiet" id="cancel" href="${change.home(visit, null)}">Cancel</a></p>
</form>
</article></div>`,
  })
}

/** The name and the id of the record that the question is about. */
function factsOf(
  { operation, form }: ChangePages,
  { id = '' }: VisitCall,
  present: PresentRecord | null,
): (readonly [string, string])[] {
  if (!present) return form?.id ? [[form.id.label ?? '', id]] : []
  const subject = subjectOf(operation.subject)
  const name = nameOf(subject, present.members)
  return [...(name === id ? [] : [['Name', name] as const]), [labelOfId(subject), id]]
}

async function performChange(console: Console, change: ChangePages, visit: Visit, fields: FormFields): Promise<FastifyReply> {
  const { operation } = change
  // The scope is checked before the input, so that an operator without the scope gets no other fault.
  requireScope(visit.actor, operation.scope)
  const present = operation.kind === 'change' ? await presentOf(visit, change) : null
  const result = await visit.run(operation, givenBy(change, visit, fields, present))
  await dropDrafts(console, visit)
  const output = (result.output ?? {}) as Members
  const secret = secretIn(subjectOf(operation.subject), output)
  if (secret !== undefined) return redirectToSecret(console, visit, { operation, output, secret })
  if (operation.answers.started && result.isNew) return redirectTo(visit.reply, pathTo('jobs', String(output.job_id)))
  const home = change.home(visit, result)
  return redirectTo(visit.reply, `${home}${home.includes('?') ? '&' : '?'}done=${operation.id}`)
}

function givenBy(change: ChangePages, visit: Visit, fields: FormFields, present: PresentRecord | null): VisitCall {
  const { operation, form } = change
  const members = form ? formMembers(operation) : operation.input.filter(({ name }) => fields.names().includes(name))
  const entered = enteredMembers(members, fields)
  const given = change.given?.(visit, fields) ?? {}
  const own = { id: visit.params.id ?? fields.text('id'), etag: fields.text('etag'), key: fields.text('key'), ...given }
  if (operation.kind !== 'change' || !present) return { ...own, input: { ...withoutEmpty(members, entered), ...given.input } }
  const changes = changesBetween(present.members, entered)
  if (changes.length === 0) throw invalid([{ member: null, words: 'No value was changed.' }])
  return { ...own, input: Object.fromEntries(changes.map(({ name, after }) => [name, after])) }
}

type Hidden = [name: string, value: string]

function hiddenField([name, value]: Hidden): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** The fields of the form, as hidden fields of the question. */
function hiddenOf(fields: FormFields): Hidden[] {
  const names = fields.names().filter((name) => !['form_token', 'confirmed', 'draft', 'edit'].includes(name))
  return names.flatMap((name) => fields.all(name).map((value): Hidden => [name, value]))
}
