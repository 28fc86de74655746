/** The generic pages: for each kind of records its list, the page of each record, and the pages of its operations. */

import { isClientId } from '../domain/model/client-id.ts'
import { subjects } from '../operations/all.ts'
import { searchAudit } from '../operations/audit.ts'
import type { Members } from '../operations/members/member.ts'
import { type Listed, type Operation, type Result, recordIn, type Subject } from '../operations/operation.ts'
import { type Action, listPage, type Row } from '../pages/console/list-page.ts'
import { named, pathTo, tag } from '../pages/console/parts.ts'
import { recordPage } from '../pages/console/record-page.ts'
import { type Html, html } from '../pages/html.ts'
import { addChange } from './change.ts'
import { formMembers } from './record-form.ts'
import { addPage, type Console, queryOf, readList, readRecord, type Visit } from './visit.ts'

/** The kinds of records without pages of their own. */
export function recordPages(console: Console): void {
  for (const subject of subjects.filter(({ page }) => page !== undefined)) {
    addListPage(console, subject)
    if (operationOf(subject, 'get')) addRecordPage(console, subject)
    for (const operation of subject.operations) addChanges(console, subject, operation)
  }
}

function operationOf({ operations }: Subject, kind: Operation['kind']): Operation | undefined {
  return operations.find((operation) => operation.kind === kind)
}

function addListPage(console: Console, subject: Subject): void {
  const list = operationOf(subject, 'list')
  if (!list) return
  const place = pathTo(subject.name)
  const search = list.input?.find(({ name }) => name === 'search')
  addPage(console, place, async (visit) => {
    const text = search ? visit.query.text('search').slice(0, search.longest) : ''
    const given = { input: text === '' ? {} : { search: text }, after: visit.query.text('after') }
    const { items, next } = await readList(console, visit, list as Operation<never, Listed>, given)
    return listPage({
      frame: visit.frame,
      subject,
      rows: await Promise.all(items.map((record) => rowOf(console, visit, subject, record))),
      hasPages: operationOf(subject, 'get') !== undefined,
      add: addActionOf(visit, subject),
      search: search && { label: search.label ?? '', text },
      next: next === null ? null : `${place}${queryOf({ search: text, after: next })}`,
      done: doneOf(visit, subject),
      now: visit.now,
    })
  })
}

/** A kind of records without pages for each has the links to its operations in the list. */
async function rowOf(console: Console, visit: Visit, subject: Subject, record: Members): Promise<Row> {
  const id = String(record[subject.idName])
  const actions = operationOf(subject, 'get') ? [] : actionsOf(visit, subject, record)
  return { id, record, aside: await asideOf(console, visit, subject, id), actions }
}

/** Whether the record is the operator who reads the page, and the name of the client that an operator is. */
async function asideOf({ service }: Console, { actor }: Visit, { name }: Subject, id: string): Promise<Html | false> {
  if (id === actor.id) return html`${tag('you', 'good')} `
  if (name === 'clients' || !isClientId(id)) return false
  const client = await service.nameOfClient(id)
  return client !== '' && html`${named(client, 'client')}<br>`
}

function addRecordPage(console: Console, subject: Subject): void {
  addPage(console, `${pathTo(subject.name)}/:id`, async (visit) => {
    const id = visit.params.id ?? ''
    const record = await readRecord(visit, subject, id)
    const actions = actionsOf(visit, subject, record)
    const change = operationOf(subject, 'change')
    const changePath = change && pathTo(subject.name, id, pageOf(change))
    const isKnownToAudit = searchAudit.input?.some(({ name }) => name === subject.idName) === true
    return recordPage({
      frame: visit.frame,
      subject,
      id,
      record,
      json: recordIn(subject, record),
      change: actions.find(({ path }) => path === changePath),
      actions: actions.filter(({ path }) => path !== changePath),
      audit: isKnownToAudit && visit.frame.mayReadAudit ? `/console/audit${queryOf({ [subject.idName]: id })}` : undefined,
      done: doneOf(visit, subject),
    })
  })
}

function addActionOf(visit: Visit, subject: Subject): Action | undefined {
  const operation = operationOf(subject, 'create') ?? operationOf(subject, 'set')
  const label = operation?.page?.add?.link ?? operation?.page?.link
  return operation && label !== undefined && visit.may(operation.scope) ? { path: pathTo(subject.name, 'new'), label } : undefined
}

/** The operations that this operator may use on the record now. */
function actionsOf(visit: Visit, subject: Subject, record: Members): Action[] {
  const id = String(record[subject.idName])
  return subject.operations.flatMap((operation) => {
    const { kind, page, scope } = operation
    if (!page || kind === 'create' || !visit.may(scope) || page.isOffered?.(record) === false) return []
    return [{ path: pathTo(subject.name, id, pageOf(operation)), label: page.link, isDangerous: page.isDangerous === true }]
  })
}

/** The last part of the path of an operation's page. */
function pageOf({ kind, page, verb }: Operation): string {
  return page?.path ?? (kind === 'change' ? 'change' : verb)
}

function doneOf({ query }: Visit, { operations }: Subject): string | undefined {
  return operations.find(({ id }) => id === query.text('done'))?.page?.done
}

/** The page of a new record, and the page of the operation for a present record. */
function addChanges(console: Console, subject: Subject, operation: Operation): void {
  const { kind, page } = operation
  if (!page) return
  const place = pathTo(subject.name)
  if (kind === 'create' || page.add)
    addChange(console, {
      operation,
      path: `${place}/new`,
      form: {
        title: page.add?.link ?? page.title ?? page.link,
        intro: page.add?.intro ?? page.intro ?? '',
        ...(page.add && { idLabel: page.add.id }),
      },
      hasRecord: false,
      home: (visit, result) => homeOf(subject, operation, visit, result),
    })
  if (kind === 'create') return
  addChange(console, {
    operation,
    path: `${place}/:id/${pageOf(operation)}`,
    form:
      formMembers(operation).length === 0 ? null : { title: page.title ?? page.link, ...(page.intro && { intro: page.intro }) },
    hasRecord: true,
    home: (visit, result) => homeOf(subject, operation, visit, result),
  })
}

/** The page of the record, if there is one; otherwise the list. */
function homeOf(subject: Subject, { kind }: Operation, { params }: Visit, result: Result | null): string {
  const record = recordIn(subject, result?.output ?? {})
  const id = params.id ?? (typeof record[subject.idName] === 'string' ? (record[subject.idName] as string) : undefined)
  const isGone = kind === 'delete' && result !== null
  return id === undefined || isGone || !operationOf(subject, 'get') ? pathTo(subject.name) : pathTo(subject.name, id)
}
