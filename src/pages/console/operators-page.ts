import { html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { buttonLink, doneMessage, moment, named, pathTo, table, tag, titleRow } from './parts.ts'

export type OperatorView = { id: string; role: string; createdAt: number; clientName: string | null }

export const ROLE_WORDS: Readonly<Record<string, string>> = {
  owner: 'everything, and decides who operates the service',
  operator: 'everything except the list of operators',
  auditor: 'reads everything, changes nothing',
}

type OperatorsView = { frame: Frame; operators: OperatorView[]; mayChange: boolean; done?: string | undefined }

export function operatorsPage({ frame, operators, mayChange, done }: OperatorsView): string {
  return consoleLayout({
    title: 'Operators',
    frame,
    content: html`${titleRow('Operators', mayChange && buttonLink('/console/operators/new', 'Add an operator', 'main'))}
${doneMessage(done)}
<p class="lead">The wallets and programs that may use this console and the admin API. The list always contains an owner: the last owner can be neither removed nor given another role.</p>
${table(
  'Operators',
  [
    {
      name: 'Operator',
      cell: ({ id, clientName }) =>
        html`${clientName !== null && html`${named(clientName, 'client')}<br>`}<code>${id}</code>${id === frame.operator.id && html` ${tag('you', 'good')}`}`,
      kind: 'main',
    },
    { name: 'Role', cell: ({ role }) => html`<strong>${role}</strong><br><span class="fine">${ROLE_WORDS[role]}</span>` },
    { name: 'Added', cell: ({ createdAt }) => moment(createdAt) },
    ...(mayChange
      ? [
          {
            name: 'Change',
            cell: ({ id }: OperatorView) =>
              html`<span class="page-actions">${buttonLink(pathTo('operators', id, 'change'), 'Change')} ${buttonLink(pathTo('operators', id, 'remove'), 'Remove', 'danger')}</span>`,
          },
        ]
      : []),
  ],
  operators,
  'There is no operator.',
)}
${!mayChange && html`<p class="fine">Only an owner changes this list.</p>`}`,
  })
}
