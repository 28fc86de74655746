import { html } from '../html.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import {
  buttonLink,
  doneMessage,
  exact,
  facts,
  lines,
  link,
  moment,
  named,
  number,
  pathTo,
  section,
  table,
  titleRow,
} from './parts.ts'

/** A resource as the admin API returns it. */
export type ResourceRecord = {
  resource: string
  name: string
  scopes: { name: string; description: string }[]
  open_to: string[]
  created_at: number
}

type ListView = { frame: Frame; resources: ResourceRecord[]; mayChange: boolean; done?: string | undefined }

export function resourcesPage({ frame, resources, mayChange, done }: ListView): string {
  return consoleLayout({
    title: 'Resources',
    frame,
    content: html`${titleRow('Resources', mayChange && buttonLink('/console/resources/new', 'Register a resource', 'main'))}
${doneMessage(done)}
<p class="lead">The APIs for which tokens are issued.</p>
${table(
  'Resources',
  [
    {
      name: 'Name',
      cell: ({ resource, name }) => link(pathTo('resources', resource), named(name, 'without a name')),
      kind: 'main',
    },
    { name: 'URI', cell: ({ resource }) => exact(resource) },
    { name: 'Scopes', cell: ({ scopes }) => number(scopes.length), kind: 'number' },
    { name: 'Open to', cell: ({ open_to: kinds }) => `${kinds.join(', ')} clients` },
  ],
  resources,
  'No resource is registered yet.',
)}`,
  })
}

export function resourcePage({
  frame,
  resource,
  mayChange,
  done,
}: {
  frame: Frame
  resource: ResourceRecord
  mayChange: boolean
  done?: string | undefined
}): string {
  const to = (what: string): string => pathTo('resources', resource.resource, what)
  return consoleLayout({
    title: resource.name,
    frame,
    content: html`${titleRow(named(resource.name, resource.resource), mayChange && html`${buttonLink(to('change'), 'Change', 'main')} ${buttonLink(to('delete'), 'Delete', 'danger')}`)}
${doneMessage(done)}
${section(
  'Registration',
  facts([
    ['URI', exact(resource.resource)],
    ['Open to', lines(resource.open_to)],
    ['Registered', moment(resource.created_at)],
  ]),
)}
${section(
  'Scopes',
  table(
    'Scopes',
    [
      { name: 'Scope', cell: ({ name }) => exact(name), kind: 'main' },
      { name: 'Allows an app to', cell: ({ description }) => html`<bdi>${description}</bdi>` },
    ],
    resource.scopes,
    'This resource has no scopes.',
  ),
)}`,
  })
}
