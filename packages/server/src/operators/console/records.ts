/** The generic pages: for each kind of records its list, the page of each record, and the pages of its operations. */
import { isClientId } from '../../domain/model/client-id.ts'
import { type Html, html } from '../../pages/html.ts'
import type { Members, Shown } from '../members/member.ts'
import { subjects } from '../operations/all.ts'
import { searchAudit } from '../operations/audit.ts'
import {
  isDangerous,
  type Listed,
  labelOfId,
  nameOf,
  type Operation,
  type Result,
  recordIn,
  type Subject,
} from '../operations/operation.ts'
import { Refusal } from '../operations/refusal.ts'
import { capitalise } from '../operations/words.ts'
import { addChange } from './change.ts'
import { countWordsOf, type ListView, listPage, sortOf, viewOfList } from './list-view.ts'
import { ownSections } from './own-sections.ts'
import {
  buttonLink,
  type Column,
  dangerSection,
  doneMessage,
  exact,
  type Fact,
  facts,
  link,
  nameOr,
  pathTo,
  section,
  shownCell,
  shownFact,
  table,
  tag,
  titleRow,
  warningList,
  withCopyButton,
} from './parts.ts'
import { formMembers } from './record-form.ts'
import { addPage, buttonOf, type Console, doneOf, queryOf, readList, readRecord, type Visit } from './visit.ts'

/** The kinds of records without pages of their own. */
export function recordPages(console: Console): void {
  for (const subject of subjects.filter(({ lead }) => lead !== undefined)) {
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
  const { name, lead, noun, empty } = subject
  const title = capitalise(name)
  const place = pathTo(name)
  addPage(console, place, async (visit) => {
    const view = viewOfList(visit, list, place)
    const { items, next, previous, total } = await readSorted(console, visit, list as Operation<never, Listed>, view)
    const add = addActionOf(visit, subject)
    const none = view.isFiltered ? `No ${noun} matches.` : empty
    const rows = await Promise.all(items.map((record) => recordRow(console, visit, subject, record)))
    return listPage(view, {
      title,
      actions: add !== undefined && buttonLink(add.path, add.label, 'main'),
      done: doneOf(visit, subject.operations),
      lead: lead ?? '',
      count: countWordsOf(total ?? { number: items.length, kind: 'exact' }, noun),
      table: table(title, columnsOf(subject, rows, { view, now: visit.now }), rows, none),
      next,
      previous,
    })
  })
}

/** Too many records to sort them are shown in the order of the store. */
async function readSorted(console: Console, visit: Visit, list: Operation<never, Listed>, { entered, given }: ListView) {
  try {
    return await readList(console, visit, list, given)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'conflict' || Object.keys(entered).length > 0) throw error
    return readList(console, visit, list, { ...given, input: {} })
  }
}

/** A link to an operation. */
type RecordAction = { path: string; label: string; words: string; isDangerous: boolean }

/** A record of a list. `aside`: what else is known of its id. */
type RecordRow = { id: string; record: Members; aside: Html | false; actions: RecordAction[] }

/** A kind of records without pages for each has the links to its operations in the list. */
async function recordRow(console: Console, visit: Visit, subject: Subject, record: Members): Promise<RecordRow> {
  const id = String(record[subject.idName])
  const actions = operationOf(subject, 'get') ? [] : actionsOf(visit, subject, record)
  return { id, record, aside: await asideOf(console, visit, subject, id), actions }
}

/** Whether the record is the operator who reads the page, and the name of the client that an operator is. */
async function asideOf({ service }: Console, { actor }: Visit, { name }: Subject, id: string): Promise<Html | false> {
  if (id === actor.id) return html`${tag('you', 'good')} `
  if (name === 'clients' || !isClientId(id)) return false
  const client = await service.nameOfClient(id)
  return client !== '' && html`${nameOr(client, 'client')}<br>`
}

/** The column with the name of the record comes first, and links to its page. */
function columnsOf(
  subject: Subject,
  rows: readonly RecordRow[],
  { view, now }: { view: ListView; now: number },
): (Column<RecordRow> | false)[] {
  const shown = subject.displays.filter(({ column }) => column !== undefined)
  const title = shown.find(({ isTitle }) => isTitle)
  const main = title ?? shown.find(({ name }) => name === subject.idName)
  const warnings = shown.filter(({ isWarning }) => isWarning)
  const others = shown.filter(
    ({ name, isWarning }) => !isWarning && (name === undefined || (name !== subject.idName && name !== main?.name)),
  )
  const mainCell = ({ id, record, aside }: RecordRow): Html => {
    const words = title ? nameOr(nameOf(subject, record), 'without a name') : exact(id)
    const idBelow = title !== undefined && html`<br><code class="id">${id}</code>`
    return html`${aside}${operationOf(subject, 'get') ? link(pathTo(subject.name, id), words) : words}${idBelow}${warnings.map((display) => warningOf(display.shown(record)))}`
  }
  return [
    { name: main?.label ?? '', cell: mainCell, kind: 'main', sort: sortOf(view, main?.name) },
    ...others.map((display) => ({
      name: display.label,
      cell: ({ record }: RecordRow) => shownCell(display.shown(record), now),
      sort: sortOf(view, display.name),
    })),
    rows.some(({ actions }) => actions.length > 0) && {
      name: 'Change',
      cell: ({ actions }: RecordRow) => html`<span class="page-actions">${actions.map(actionLink)}</span>`,
    },
  ]
}

function warningOf(shown: Shown): Html | false {
  const sentences = typeof shown === 'object' && shown !== null && 'lines' in shown ? shown.lines : []
  return warningList(sentences)
}

function addRecordPage(console: Console, subject: Subject): void {
  const { name, noun, idName, displays } = subject
  addPage(console, `${pathTo(name)}/:id`, async (visit) => {
    const id = visit.params.id ?? ''
    const { members: record } = await readRecord(visit, subject, id)
    const title = nameOf(subject, record)
    const actions = actionsOf(visit, subject, record)
    const shown = displays.flatMap((display) => {
      const value = display.print === undefined || display.isTitle || display.isWarning ? null : display.shown(record)
      return value === null ? [] : [{ ...display, value }]
    })
    const parts = Map.groupBy(shown, ({ part = 'Properties' }) => part)
    const fact = ({ label, value }: { label: string; value: Shown }): Fact => [
      label,
      isId(value, id) ? withCopyButton(html`${shownFact(value)}`, `the ${noun} id`) : shownFact(value),
    ]
    const hasAudit = visit.frame.mayReadAudit && searchAudit.input.some((member) => member.name === idName)
    const auditLink =
      hasAudit && html`<p class="fine">${link(`/console/audit${queryOf({ [idName]: id })}`, `What happened to this ${noun}`)}</p>`
    const hasAll = displays.some((display) => display.print !== undefined && !display.isTitle && display.shown(record) === null)
    return {
      title,
      content: html`${titleRow(nameOr(title, id), mainActions(actions))}
${doneMessage(doneOf(visit, subject.operations))}
${displays.filter(({ isWarning }) => isWarning).map((display) => warningOf(display.shown(record)))}
<div class="parts">
${[...parts].map(([part, values], index) => section(part, html`${facts(values.map(fact))}${index === 0 && auditLink}`))}
</div>
${await ownSections[name]?.(console, visit, id)}
${hasAll && html`<details class="block"><summary>All settings, as in the API</summary><pre class="paper" tabindex="0" role="group" aria-label="All settings">${JSON.stringify(recordIn(subject, record), null, 2)}</pre></details>`}
${dangerSection(actions.filter(({ isDangerous }) => isDangerous))}`,
    }
  })
}

/** The change stands out. */
function mainActions(actions: RecordAction[]): Html {
  const others = actions.filter(({ isDangerous }) => !isDangerous)
  const isChange = ({ path }: RecordAction): boolean => path.endsWith('/change')
  return html`${others.filter((each) => !isChange(each)).map(actionLink)}${others.filter(isChange).map(({ path, label }) => buttonLink(path, label, 'main'))}`
}

function isId(value: Shown, id: string): boolean {
  return typeof value === 'object' && value !== null && 'exact' in value && value.exact === id
}

function actionLink({ path, label, isDangerous }: RecordAction): Html {
  return html`${buttonLink(path, label, isDangerous ? 'danger' : 'quiet')} `
}

function addActionOf(visit: Visit, subject: Subject): Pick<RecordAction, 'path' | 'label'> | undefined {
  const operation = operationOf(subject, 'create') ?? operationOf(subject, 'set')
  const label = operation?.kind === 'set' ? addLabel(subject) : operation?.page?.link
  return operation && label !== undefined && visit.may(operation.scope) ? { path: pathTo(subject.name, 'new'), label } : undefined
}

/** The operations that this operator may use on the record now. */
function actionsOf(visit: Visit, subject: Subject, record: Members): RecordAction[] {
  const id = String(record[subject.idName])
  return subject.operations.flatMap((operation) => {
    const { kind, page, scope } = operation
    if (!page || kind === 'create' || !visit.may(scope) || page.isOffered?.(record) === false) return []
    const path = pathTo(subject.name, id, recordPage(operation))
    return [{ path, label: page.link, words: operation.summary, isDangerous: isDangerous(operation) }]
  })
}

/** The last part of the path of an operation's page. */
function recordPage({ kind, verb }: Operation): string {
  return kind === 'change' || kind === 'set' ? 'change' : verb
}

function addLabel({ noun }: Subject): string {
  return `Add ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** The page of a new record, and the page of the operation for a present record. */
function addChanges(console: Console, subject: Subject, operation: Operation): void {
  const { kind, page } = operation
  if (!page) return
  const place = pathTo(subject.name)
  const isSet = kind === 'set'
  if (kind === 'create' || isSet)
    addChange(console, {
      operation,
      path: `${place}/new`,
      form: {
        title: isSet ? addLabel(subject) : page.link,
        ...(page.intro && { intro: page.intro }),
        ...(isSet && { id: { name: 'id', shape: { kind: 'text' }, label: labelOfId(subject), hint: subject.ids?.words ?? '' } }),
      },
      hasRecord: false,
      home: (visit, result) => homeOf(subject, operation, visit, result),
    })
  if (kind === 'create') return
  addChange(console, {
    operation,
    path: `${place}/:id/${recordPage(operation)}`,
    form: formMembers(operation).length === 0 ? null : { title: buttonOf(operation), ...(page.intro && { intro: page.intro }) },
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
