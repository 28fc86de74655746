/** The members of a resource. A new property of `Resource` is one entry here. */
import { CLIENT_KINDS, type Resource, type ResourceScope } from '../../domain/model/records.ts'
import { writeScopeWords } from '../../domain/resources/scope-words.ts'
import { type RecordMembers, text, texts } from './member.ts'

export const resourceMembers = {
  uri: text('resource', 'URI', {
    required: true,
    isFixed: true,
    hint: 'The value of the parameter “resource”, and the audience of the tokens.',
    column: 'RESOURCE',
    print: 'resource',
    option: {
      value: 'RESOURCE',
      isOperand: true,
      words: 'The URI of the resource: the audience of its tokens, and the resource parameter of requests (RFC 8707).',
    },
  }),
  name: text('name', 'Name', {
    required: true,
    isTitle: true,
    hint: 'Users read it before they sign.',
    column: 'NAME',
    option: { value: 'NAME', words: 'The name of the resource that users see.' },
  }),
  scopes: {
    name: 'scopes',
    shape: { kind: 'scopes' },
    required: true,
    label: 'Scopes',
    hint: 'One on each line: notes.read: read your notes. With a limit: enhancement: enhance an item | at most 20 times a week, 50.00 NESO each, 500.00 a week',
    print: 'scope',
    shown: (value) => ({ lines: (value as ResourceScope[]).map((scope) => `${scope.name}: ${writeScopeWords(scope)}`) }),
    option: {
      value: 'NAME=DESCRIPTION',
      words:
        'A scope of the resource, and what an app with the scope may do: the end of the sentence "The app may …", which users read before they sign. Add "| at most 20 times a week, 50.00 NESO each, 500.00 a week" to limit the scope (a day, a week or in all; the amounts are optional): the wallet signs the limit, and the API draws from it.',
    },
  },
  openTo: texts('open_to', 'Open to', {
    values: CLIENT_KINDS,
    choices: {
      registered: 'clients that an operator registered and that list the resource',
      metadata: 'clients with a metadata document',
      dynamic: 'clients that register themselves',
    },
    usual: 'clients that an operator registered',
    column: 'OPEN TO',
    shown: (value) => ({ words: value as string[], none: 'no clients' }),
    option: {
      value: 'KIND',
      words:
        'A kind of clients that may request the resource; registered unless given. registered: clients of this service that list the resource (clients create --resource). metadata: every client whose id is the URL of a metadata document, if GRANTOR_CLIENT_METADATA is on. dynamic: every client of dynamic registration (RFC 7591).',
      off: { name: 'closed', words: 'No client may request the resource from now on.' },
    },
  }),
} as const satisfies RecordMembers<Exclude<keyof Resource, 'createdAt'>>
