/** One request of a signed-in operator, and the pages that such requests get. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AdminScope } from '../../domain/operators/roles.ts'
import type { Admin } from '../api/admin.ts'
import { Problem } from '../api/problem.ts'
import type { Members } from '../members/member.ts'
import { subjectOf } from '../operations/all.ts'
import { checkInput } from '../operations/check-input.ts'
import { cursorsOf, placesIn } from '../operations/cursor.ts'
import {
  type Call,
  isDangerous,
  type Listed,
  matcher,
  type Operation,
  perform,
  type Question,
  type Result,
  recordIn,
  type Subject,
} from '../operations/operation.ts'
import { notFound } from '../operations/refusal.ts'
import { USUAL_LIMIT } from '../operations/schemas.ts'
import { type Actor, mayUse, type ServerService, type ServiceSetting } from '../operations/service.ts'
import { type FormFields, formTokenOf, queryFieldsOf } from './form.ts'
import { type ConsolePage, consolePage, type Frame } from './layout.ts'
import { redirectTo, sendPage } from './replies.ts'
import { readVisitor } from './session.ts'
import { signInPage } from './sign-in-page.ts'

export type Console = { admin: Admin; service: ServerService; server: FastifyInstance }

/** What a page gives to an operation. */
export type VisitCall = {
  id?: string
  input?: Members
  limit?: number
  after?: string
  before?: string
  etag?: string
  key?: string
}

export type Visit = {
  request: FastifyRequest
  reply: FastifyReply
  frame: Frame
  /** the parameters of the path */
  params: Record<string, string>
  query: FormFields
  actor: Actor
  /** the settings in force */
  settings: readonly ServiceSetting[]
  /** epoch seconds */
  now: number
  may(scope: AdminScope): boolean
  formToken(path: string): string
  /** Sends a page to this operator. */
  send(page: ConsolePage): FastifyReply
  /** Runs the operation as this operator. */
  run<Output>(operation: Operation<never, Output>, given?: VisitCall): Promise<Result<Output>>
  /** What the operation would do. */
  ask(operation: Operation, given: VisitCall): Promise<Required<Pick<Question, 'title' | 'button'>> & Question>
}

/** Adds a page. Visitors who are not signed in get the sign-in page. */
export function addPage(console: Console, path: string, render: (visit: Visit) => Promise<ConsolePage>): void {
  console.server.get(path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    return visit ? visit.send(await render(visit)) : reply
  })
}

/** The message after a change, which led to this page. */
export function doneOf({ query }: Visit, operations: readonly Operation[]): string | undefined {
  return operations.find(({ id }) => id === query.text('done'))?.page?.done
}

/** A page of a list, with the cursors of the pages beside it; null if there is none. */
export async function readList<Item>(
  console: Console,
  visit: Visit,
  operation: Operation<never, Listed<Item>>,
  given: VisitCall,
) {
  const { items, total, ...places } = (await visit.run(operation, given)).output
  const { next, previous = null } = cursorsOf(console.service.keys().ring, operation, places)
  return { items, total, next, previous }
}

/** A record as it is now. `state`: the part that a change of the record is compared with. */
export type PresentRecord = { members: Members; state: object }

/** The record of the path, as the operation `get` returns it, or as it is in the list of a kind without that operation. */
export async function readRecord(visit: Visit, { operations, ...subject }: Subject, id: string): Promise<PresentRecord> {
  const get = operations.find(({ kind }) => kind === 'get')
  if (get) {
    const { output, record = recordIn({ operations, ...subject }, output) } = await visit.run(get, { id })
    return { members: { ...(output as Members), ...recordIn({ operations, ...subject }, output) }, state: record }
  }
  const list = operations.find(({ kind }) => kind === 'list')
  const items = list ? ((await visit.run(list)).output as Listed).items : []
  const found = items.find((item) => item[subject.idName] === id)
  if (!found) throw notFound(subject.name, id)
  return { members: found, state: found }
}

const frames = new WeakMap<FastifyRequest, Frame>()

/** The frame of the page for a refusal; undefined without a session. */
export function frameOfRequest(request: FastifyRequest): Frame | undefined {
  return frames.get(request)
}

export function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1)
  return path
}

/**
 * Undefined if the reply was sent: the visitor is not signed in. `keep` keeps a form that was sent, and returns the address that shows the form
 * after the next sign-in, or null.
 */
export async function visitOf(
  console: Console,
  request: FastifyRequest,
  reply: FastifyReply,
  keep?: () => Promise<string | null>,
): Promise<Visit | undefined> {
  const { admin, service } = console
  const visitor = await readVisitor(admin, request, reply)
  const to = request.method === 'GET' ? request.url : '/console'
  if (visitor.kind === 'none') {
    const kept = (await keep?.()) ?? null
    const hasDraft = queryFieldsOf(request).text('draft') !== ''
    if (kept !== null) redirectTo(reply, kept)
    else sendPage(reply.code(401), signInPage({ why: hasDraft ? 'form_kept' : 'signed_out', to }))
    return undefined
  }
  if (visitor.kind === 'not_an_operator') {
    sendPage(reply.code(403), signInPage({ why: 'not_an_operator', wallet: visitor.grant.wallet, to }))
    return undefined
  }
  const params = (request.params ?? {}) as Record<string, string>
  // PostgreSQL cannot store NUL.
  if (Object.values(params).some((text) => text.includes('\0'))) throw new Problem('not_found', 'There is no such page.')
  const { actor, grant } = visitor
  const formToken = (path: string): string => formTokenOf(admin, { grantId: grant.id, path })
  const frame: Frame = {
    operator: { id: actor.id, role: actor.role },
    grantId: grant.id,
    signOutToken: formToken('/console/sign-out'),
    path: pathOf(request),
    mayReadAudit: mayUse(actor, 'admin.audit'),
    version: admin.version,
  }
  frames.set(request, frame)
  return {
    request,
    reply,
    frame,
    params,
    query: queryFieldsOf(request),
    actor,
    settings: service.settings,
    now: service.now(),
    may: (scope) => mayUse(actor, scope),
    formToken,
    send: (page) => sendPage(reply, consolePage(page, frame)),
    run: async (operation, given = {}) => perform(operation, callOf({ service, actor }, operation, given)),
    ask: async (operation, given) => {
      const call = callOf({ service, actor }, operation, given)
      const { question, summary, page, verb, subject } = operation
      const title = `${page?.link ?? verb} this ${subjectOf(subject).noun}?`
      const usual = { title, effect: summary, isDangerous: isDangerous(operation), button: buttonOf(operation) }
      return { ...usual, ...(await question?.(call as Call<never, ServerService>)) }
    },
  }
}

type ServerCall = Call<Members, ServerService>

function callOf(
  { service, actor }: Pick<ServerCall, 'service' | 'actor'>,
  operation: Operation,
  { id = '', input = {}, limit = USUAL_LIMIT, after, before, etag, key }: VisitCall,
): ServerCall {
  checkInput(operation, input)
  // A link with a longer id than the API accepts leads to no record.
  if (id.length > (subjectOf(operation.subject).ids?.kind === 'uri' ? 2000 : 100)) throw notFound(operation.subject, id)
  const places = placesIn(service.keys().ring, operation, { ...(after && { after }), ...(before && { before }) })
  return {
    service,
    actor,
    id,
    input,
    page: { limit, ...places },
    requireMatch: matcher(etag === '' ? undefined : etag),
    idempotencyKey: key === '' ? undefined : key,
  }
}

/** The words of the button that carries the operation out. */
export function buttonOf({ page, verb, subject }: Operation): string {
  return page?.button ?? `${page?.link ?? verb} the ${subjectOf(subject).noun}`
}

/** The query of a path; members without a value are left out. */
export function queryOf(members: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}
