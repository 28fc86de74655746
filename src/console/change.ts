/** The pages of an operation that changes something: an optional form, one question that names what will happen, and the change itself. */
import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { Problem } from '../admin/problem.ts'
import { subjectOf } from '../operations/all.ts'
import { changesBetween, type Members } from '../operations/members/member.ts'
import { etagOf, type Operation, type Result, recordIn } from '../operations/operation.ts'
import { invalid, Refusal } from '../operations/refusal.ts'
import { requireScope } from '../operations/service.ts'
import { formPage } from '../pages/console/form-page.ts'
import { pathTo } from '../pages/console/parts.ts'
import { questionPage } from '../pages/console/question-page.ts'
import { secretPage } from '../pages/console/secret-page.ts'
import { type Fields, requirePost } from './form.ts'
import { enteredMembers, fieldsFor, formMembers, shownMembers, withoutEmpty } from './record-form.ts'
import { redirectTo, sendPage } from './replies.ts'
import { type Console, type Given, pathOf, readRecord, type Visit, visitOf } from './visit.ts'

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

async function presentOf(visit: Visit, { operation, hasRecord }: ChangePages): Promise<Members | null> {
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
  const page = formPage({
    title: form?.title ?? '',
    intro: form?.intro ?? (present ? titleOf(operation, present) : ''),
    fields: fieldsFor(members, { ...operation.page?.initial, ...present }, entered),
    back: change.home(visit, null),
    more: operation.checksState && present ? [['etag', entered?.text('etag') ?? etagOfRecord(operation, present)]] : [],
    frame: visit.frame,
    faults: [...faults],
    action: path,
    formToken: visit.formToken(path),
  })
  return sendPage(visit.reply.code(faults.length > 0 ? 422 : 200), page)
}

async function showQuestion(change: ChangePages, visit: Visit, fields: Fields): Promise<FastifyReply> {
  const { operation, form } = change
  const present = await presentOf(visit, change)
  const given = givenBy(change, visit, fields, present)
  const question = await visit.ask(operation, given)
  const decided: [string, string][] = Object.entries(question.decided ?? {}).map(([name, value]) => [name, String(value)])
  const state: [string, string][] = operation.checksState && present && !form ? [['etag', etagOfRecord(operation, present)]] : []
  // A form that is sent twice creates one record.
  const key: [string, string][] = operation.isRepeatable ? [['key', fields.text('key') || randomUUID()]] : []
  const path = pathOf(visit.request)
  const page = questionPage({
    ...question,
    button: question.button ?? operation.page?.button ?? '',
    facts: [...(question.facts ?? []), ...shownMembers(formMembers(operation), given.input ?? {})],
    back: form && !present ? path : change.home(visit, null),
    hidden: hiddenOf(fields),
    more: [...decided, ...state, ...key],
    frame: visit.frame,
    action: path,
    formToken: visit.formToken(path),
  })
  return sendPage(visit.reply, page)
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
  if (secret !== undefined) {
    const record = recordIn(subject, output)
    const id = String(record[subject.idName])
    const title = operation.page?.done ?? ''
    return sendPage(visit.reply, secretPage({ frame: visit.frame, subject, id, title, record, secret: secret as string | null }))
  }
  if (operation.answers.started && result.isNew) return redirectTo(visit.reply, pathTo('jobs', String(output.job_id)))
  const home = change.home(visit, result)
  return redirectTo(visit.reply, `${home}${home.includes('?') ? '&' : '?'}done=${operation.id}`)
}

/** The member of an output that is shown once. */
const SECRET = 'secret'

function givenBy(change: ChangePages, visit: Visit, fields: Fields, present: Members | null): Given {
  const { operation, form } = change
  const members = form ? formMembers(operation) : (operation.input ?? []).filter(({ name }) => fields.names().includes(name))
  const entered = enteredMembers(members, fields)
  const given = change.given?.(visit, fields) ?? {}
  const own = { id: visit.params.id ?? fields.text('id'), etag: fields.text('etag'), key: fields.text('key'), ...given }
  if (operation.kind !== 'change' || !present) return { ...own, input: { ...withoutEmpty(members, entered), ...given.input } }
  const changes = changesBetween(present, entered)
  if (changes.length === 0) throw invalid(['No value was changed.'])
  return { ...own, input: Object.fromEntries(changes.map(({ name, after }) => [name, after])) }
}

/** The fields of the form, as hidden fields of the question. */
function hiddenOf(fields: Fields): [string, string][] {
  const names = fields.names().filter((name) => name !== 'form_token' && name !== 'confirmed')
  return names.flatMap((name) => fields.all(name).map((value) => [name, value] as [string, string]))
}

function etagOfRecord({ subject }: Operation, present: Members): string {
  return etagOf(recordIn(subjectOf(subject), present))
}

function titleOf({ subject }: Operation, record: Members): string {
  const { idName } = subjectOf(subject)
  return String(record.name ?? record[idName])
}
