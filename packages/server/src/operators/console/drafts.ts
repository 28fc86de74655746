/**
 * Drafts: what an operator entered in a form and did not confirm yet. A form is answered by a redirect to an address with the id of the draft, so
 * the browser can go back and reload without sending the form again. A form that arrives after the end of the session is kept in the same way
 * until the operator has signed in again.
 */
import type { FastifyRequest } from 'fastify'
import type { Fault } from '../../domain/model/fault.ts'
import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import { addDraft, deleteDrafts, latestDraft, readDraft } from '../../domain/operators/drafts.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import { Problem, type ProblemCode } from '../api/problem.ts'
import { entriesOf, type FieldEntries, type FormFields, fieldsOfEntries, requireForm } from './form.ts'
import { type Console, pathOf, queryOf, type Visit } from './visit.ts'

/** Why a form was refused. */
type RefusedDraft = { code: ProblemCode; message: string; faults: readonly Fault[] }
type DraftContent = { fields: FieldEntries; refused: RefusedDraft | null }
const CONTENT: SealedFormat<DraftContent> = sealedFormat('consoleDraft')

export type OpenDraft = { id: string; fields: FormFields; refused: Problem | null }

/** Not entered by the operator. */
const OF_THE_FORM = new Set(['form_token', 'confirmed', 'draft', 'edit'])

type Keeping = { operator: string; path: string; fields: FormFields; refused?: Problem }

/** Stores what was entered, and returns the address that shows it. */
export async function keepDraft({ admin }: Console, { operator, path, fields, refused }: Keeping): Promise<string> {
  const entered = entriesOf(fields).filter(([name]) => !OF_THE_FORM.has(name))
  const why = refused ? { code: refused.code, message: refused.message, faults: refused.faults } : null
  const content = CONTENT.seal(admin.deps.keys, { fields: entered, refused: why })
  const id = await addDraft(admin.store, { operator, path, content }, admin.deps.now())
  return `${path}${queryOf({ draft: id })}`
}

/** The draft that the address names; null if the draft is gone. */
export async function openDraft({ admin }: Console, { query, actor, request, now }: Visit): Promise<OpenDraft | null> {
  const id = query.text('draft')
  const draft = id === '' ? null : await readDraft(admin.store, id, { operator: actor.id, path: pathOf(request) }, now)
  const content = draft && CONTENT.open(admin.deps.keys, draft.content)
  if (!draft || !content) return null
  const { fields, refused } = content
  return {
    id: draft.id,
    fields: fieldsOfEntries(fields),
    refused: refused && new Problem(refused.code, refused.message, refused.faults),
  }
}

/** When the operator began the latest draft of this form, and the address of its form; null if there is none. */
export async function begunBefore({ admin }: Console, { actor, request, now }: Visit) {
  const path = pathOf(request)
  const draft = await latestDraft(admin.store, { operator: actor.id, path }, now)
  return draft && { at: draft.createdAt, address: `${path}${queryOf({ draft: draft.id, edit: 'yes' })}` }
}

/** The change was made, so the drafts of its form are not needed. If they cannot be deleted, they expire. */
export async function dropDrafts({ admin }: Console, { actor, request }: Visit): Promise<void> {
  await deleteDrafts(admin.store, { operator: actor.id, path: pathOf(request) }).catch(() => undefined)
}

/**
 * Keeps a form that was sent after the end of its session. Returns null, and stores nothing, unless the page of the form was shown in a session
 * of a wallet that is still an operator.
 */
export async function keepAfterSession(console: Console, request: FastifyRequest): Promise<string | null> {
  const path = pathOf(request)
  const form = sentForm(console, request, path)
  const operator = form && (await operatorOf(console, form.grantId))
  return form && operator ? keepDraft(console, { operator, path, fields: form.fields }) : null
}

function sentForm({ admin }: Console, request: FastifyRequest, path: string) {
  try {
    return requireForm(admin, request, path)
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}

/** The operator to whom a page was shown; null if the wallet of the session is no operator now. */
export async function operatorOf({ admin: { store } }: Console, grantId: string): Promise<string | null> {
  const grant = await store.grants.readGrant(grantId)
  if (grant?.clientId !== CONSOLE_CLIENT_ID) return null
  return (await readOperators(store)).some(({ id }) => id === grant.wallet) ? grant.wallet : null
}
