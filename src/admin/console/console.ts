/** Defines the pages and the changes of the console. Both need an operator who is signed in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AdminScope } from '../../domain/operators/roles.ts'
import type { Frame } from '../../pages/console/console-layout.ts'
import { type FormView, formPage } from '../../pages/console/form-page.ts'
import { type Question, questionPage } from '../../pages/console/question-page.ts'
import { signInPage } from '../../pages/console/sign-in-page.ts'
import type { Admin } from '../admin.ts'
import { notFound, Problem } from '../problem.ts'
import { mayUse, type SignedInOperator } from '../signed-in-operator.ts'
import { type CallApi, createCallApi } from './call-api.ts'
import { type Fields, formTokenOf, queryFieldsOf, requirePost } from './form.ts'
import { redirectTo, sendPage } from './replies.ts'
import { readVisitor } from './session.ts'

export type Console = { admin: Admin; server: FastifyInstance }

/** One request of a signed-in operator. */
export type Visit = {
  request: FastifyRequest
  reply: FastifyReply
  frame: Frame
  /** the parameters of the path */
  params: Record<string, string>
  query: Fields
  /** calls an operation of the API as this operator */
  api: CallApi
  may(scope: AdminScope): boolean
  formToken(path: string): string
}

/** Adds a page. Visitors who are not signed in get the sign-in page. */
export function addPage(console: Console, path: string, render: (visit: Visit) => Promise<string>): void {
  console.server.get(path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    return visit ? sendPage(reply, await render(visit)) : reply
  })
}

/** What a change does: a page to show, such as one with a new secret, or the path of the page that shows the result. */
export type Outcome = { page: string } | { path: string }

export type Change = {
  path: string
  /** the scope that the operation of the API needs; without this scope, the operator gets a refusal in place of the question */
  scope: AdminScope
  /** the form in which the operator enters what to change; without a form, the first page is the question */
  form?: (visit: Visit, entered: Fields | null) => Promise<FormView>
  /** what will happen, in numbers; `faults` if the change that the operator entered is not possible */
  question: (visit: Visit, entered: Fields) => Promise<Question | { faults: string[] }>
  carryOut: (visit: Visit, confirmed: Fields) => Promise<Outcome>
}

/**
 * Adds a change: an optional form, then one question that names what will happen, then the change itself. The fields of the form are
 * repeated as hidden fields of the question.
 */
export function addChange(console: Console, change: Change): void {
  const { server } = console
  server.get(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    if (!visit) return reply
    if (change.form) return showForm(change, visit, { entered: null, faults: [] })
    return showQuestion(change, visit, visit.query)
  })
  server.post(change.path, async (request, reply) => {
    const visit = await visitOf(console, request, reply)
    if (!visit) return reply
    const entered = requirePost(console.admin, request, { grantId: visit.frame.grantId, path: pathOf(request) })
    if (entered.text('confirmed') !== 'yes') return showQuestion(change, visit, entered)
    try {
      const outcome = await change.carryOut(visit, entered)
      return await ('page' in outcome ? sendPage(reply, outcome.page) : redirectTo(reply, outcome.path))
    } catch (error) {
      const faults = (error as { faults?: readonly string[] }).faults ?? []
      if (!change.form || faults.length === 0) throw error
      return showForm(change, visit, { entered, faults })
    }
  })
}

type Entered = { entered: Fields | null; faults: readonly string[] }

async function showForm(change: Change, visit: Visit, { entered, faults }: Entered): Promise<FastifyReply> {
  requireUse(visit, change.scope)
  const view = await (change.form as NonNullable<Change['form']>)(visit, entered)
  const path = pathOf(visit.request)
  const page = formPage({ ...view, frame: visit.frame, faults: [...faults], action: path, formToken: visit.formToken(path) })
  return sendPage(visit.reply.code(faults.length > 0 ? 422 : 200), page)
}

/** Refuses before the form or the question is shown. The operation of the API checks the scope again. */
function requireUse(visit: Visit, scope: AdminScope): void {
  if (!visit.may(scope)) throw new Problem('forbidden', `This change needs the scope ${scope}.`)
}

async function showQuestion(change: Change, visit: Visit, entered: Fields): Promise<FastifyReply> {
  requireUse(visit, change.scope)
  const question = await change.question(visit, entered)
  if ('faults' in question && change.form) return showForm(change, visit, { entered, faults: question.faults })
  const path = pathOf(visit.request)
  const hidden = entered
    .names()
    .filter((name) => name !== 'form_token' && name !== 'confirmed')
    .flatMap((name) => entered.all(name).map((value) => [name, value] as [string, string]))
  const page = questionPage({
    ...(question as Question),
    frame: visit.frame,
    action: path,
    hidden,
    formToken: visit.formToken(path),
  })
  return sendPage(visit.reply, page)
}

const frames = new WeakMap<FastifyRequest, Frame>()

/** The frame of the page for a refusal; undefined without a session. */
export function frameOfRequest(request: FastifyRequest): Frame | undefined {
  return frames.get(request)
}

function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1)
  return path
}

/** Undefined if the reply was sent: the visitor is not signed in. */
async function visitOf({ admin, server }: Console, request: FastifyRequest, reply: FastifyReply): Promise<Visit | undefined> {
  const visitor = await readVisitor(admin, request, reply)
  const to = request.method === 'GET' ? request.url : '/console'
  if (visitor.kind === 'none') {
    sendPage(reply.code(401), signInPage({ why: 'signed_out', to }))
    return undefined
  }
  if (visitor.kind === 'not_an_operator') {
    sendPage(reply.code(403), signInPage({ why: 'not_an_operator', wallet: visitor.grant.wallet, to }))
    return undefined
  }
  const params = (request.params ?? {}) as Record<string, string>
  // PostgreSQL cannot store NUL.
  if (Object.values(params).some((text) => text.includes('\0'))) throw notFound('page')
  const { grant, operator } = visitor
  const signOutToken = formTokenOf(admin, { grantId: grant.id, path: '/console/sign-out' })
  const frame = frameOf(visitor, { grantId: grant.id, signOutToken, path: pathOf(request) })
  frames.set(request, frame)
  const formToken = (path: string): string => formTokenOf(admin, { grantId: grant.id, path })
  return {
    request,
    reply,
    frame,
    params,
    query: queryFieldsOf(request),
    api: createCallApi(server, request, { operator, scopes: grant.scopes }),
    may: (scope) => mayUse(visitor, scope),
    formToken,
  }
}

function frameOf(visitor: SignedInOperator, rest: Pick<Frame, 'grantId' | 'signOutToken' | 'path'>): Frame {
  const { operator } = visitor
  return { operator: { id: operator.id, role: operator.role }, mayReadAudit: mayUse(visitor, 'admin.audit'), ...rest }
}
