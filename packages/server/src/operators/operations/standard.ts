/** The operations that most kinds of records have. What they have in common is here, and each kind gives what differs. */

import type { Members } from '../members/member.ts'
import { type Defined, defineOperation, type Listed, type Operation, type RecordKind } from './operation.ts'
import { notFound } from './refusal.ts'
import { listOf, pageOf, refTo } from './schemas.ts'
import type { Service } from './service.ts'
import { capitalise } from './words.ts'

/** What a kind gives of an operation: everything without a usual value, and each usual value that it replaces. */
type Own<Input, Output, Usual extends keyof Operation> = Omit<Defined<Operation<Input, Output, Service>>, Usual> &
  Partial<Pick<Operation<Input, Output, Service>, Usual>>

type Common = 'id' | 'subject' | 'kind' | 'verb' | 'scope' | 'answers' | 'output'

export function operationsOn(kind: RecordKind) {
  return {
    ...readsOn(kind),
    ...changesOn(kind),

    /** Throws unless the store has the record. */
    existing<Stored>(stored: Stored | null | undefined, id: string): Stored {
      if (stored === null || stored === undefined) throw notFound(kind.name, id)
      return stored
    },
  }
}

function readsOn({ name: subject, noun, schemas: [schema] }: RecordKind) {
  return {
    list: <Input = Members, Item = Members>(own: Own<Input, Listed<Item>, Common | 'command'>) =>
      defineOperation<Input, Listed<Item>>({
        id: `list${capitalise(subject)}`,
        subject,
        kind: 'list',
        verb: 'list',
        scope: 'admin.read',
        answers: { done: own.isPaged ? `A page of ${noun}s.` : `All ${noun}s.` },
        output: own.isPaged ? pageOf(schema) : listOf(schema),
        command: { examples: [''] },
        ...own,
      }),

    get: <Output = Members>(own: Own<Members, Output, Common | 'summary'>) =>
      defineOperation<Members, Output>({
        id: `get${capitalise(noun)}`,
        subject,
        kind: 'get',
        verb: 'show',
        scope: 'admin.read',
        summary: `Reads a ${noun}.`,
        answers: { done: `The ${noun}.` },
        output: refTo(schema),
        ...own,
      }),
  }
}

function changesOn({ name: subject, noun, scope, schemas: [schema] }: RecordKind) {
  const Noun = capitalise(noun)
  return {
    create: <Input = Members, Output = Members>(own: Own<Input, Output, 'id' | 'subject' | 'kind' | 'verb' | 'scope'>) =>
      defineOperation<Input, Output>({ id: `create${Noun}`, subject, kind: 'create', verb: 'create', scope, ...own }),

    change: <Output = Members>({ command, ...own }: Own<Members, Output, Common | 'page'>) =>
      defineOperation<Members, Output>({
        id: `update${Noun}`,
        subject,
        kind: 'change',
        verb: 'update',
        scope,
        refusals: ['changed_meanwhile'],
        answers: { done: `The changed ${noun}.` },
        output: refTo(schema),
        command: command && { done: () => `Changed; the ${noun} is now:`, ...command },
        page: { link: 'Change', done: `The ${noun} was changed.` },
        ...own,
      }),

    remove: <Input = Members, Output = unknown>({ page, ...own }: Own<Input, Output, Common>) =>
      defineOperation<Input, Output>({
        id: `delete${Noun}`,
        subject,
        kind: 'delete',
        verb: 'delete',
        scope,
        answers: { done: `The ${noun} was removed.` },
        output: null,
        page: { link: 'Delete', done: `The ${noun} was removed.`, ...page },
        ...own,
      }),

    act: <Input = Members, Output = unknown>(own: Own<Input, Output, 'subject' | 'kind' | 'scope'>) =>
      defineOperation<Input, Output>({ subject, kind: 'act', scope, ...own }),
  }
}
