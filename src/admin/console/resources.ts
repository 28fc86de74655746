import { byKey, resourceMembers } from '../../domain/configuration/members.ts'
import type { Resource } from '../../domain/model/records.ts'
import { resourceFaults } from '../../domain/resources/resource-faults.ts'
import { counted, pathTo } from '../../pages/console/parts.ts'
import { type ResourceRecord, resourcePage, resourcesPage } from '../../pages/console/resource-pages.ts'
import { resourceChangeWordings, resourceWordings } from './client-form.ts'
import { addChange, addPage, type Console, type Visit } from './console.ts'
import type { Fields } from './form.ts'
import { enteredChanges, enteredMembers, fieldsFor, shownMembers, withoutEmpty } from './record-form.ts'

const DONE: Readonly<Record<string, string>> = {
  created: 'The resource is registered.',
  changed: 'The resource was changed.',
  deleted: 'The resource was removed.',
}

const apiPath = ({ params }: Visit): string => `/v1/resources/${encodeURIComponent(params.id ?? '')}`
const here = ({ params }: Visit, done = ''): string => `${pathTo('resources', params.id ?? '')}${done}`
const readResource = async (visit: Visit) => visit.api<ResourceRecord>('GET', apiPath(visit))

export function resourcePages(console: Console): void {
  addPage(console, '/console/resources', async ({ frame, api, may, query }) => {
    const { body } = await api<{ items: ResourceRecord[] }>('GET', '/v1/resources')
    return resourcesPage({ frame, resources: body.items, mayChange: may('admin.clients'), done: DONE[query.text('done')] })
  })
  addPage(console, '/console/resources/:id', async (visit) => {
    const { body: resource } = await readResource(visit)
    const done = DONE[visit.query.text('done')]
    return resourcePage({ frame: visit.frame, resource, mayChange: visit.may('admin.clients'), done })
  })
  addRegistration(console)
  addUpdate(console)
  addDeletion(console)
}

function newMembers(entered: Fields) {
  return withoutEmpty(enteredMembers(resourceMembers, resourceWordings, entered))
}

function addRegistration(console: Console): void {
  addChange(console, {
    path: '/console/resources/new',
    scope: 'admin.clients',
    form: async (_visit, entered) => ({
      title: 'Register a resource',
      intro: 'An API for which tokens are issued.',
      fields: fieldsFor(resourceMembers, resourceWordings, { present: { open_to: ['registered'] }, entered }),
      button: 'Continue',
      back: '/console/resources',
    }),
    async question(_visit, entered) {
      const members = newMembers(entered)
      const faults = resourceFaults({ uri: '', name: '', scopes: [], ...byKey(resourceMembers, members) } as unknown as Resource)
      if (faults.length > 0) return { faults }
      return {
        title: 'Register this resource?',
        effect: 'It registers 1 resource. No grant changes.',
        facts: shownMembers(resourceWordings, members),
        button: 'Register the resource',
        back: '/console/resources/new',
      }
    },
    async carryOut({ api }, confirmed) {
      const { body } = await api<ResourceRecord>('POST', '/v1/resources', { body: newMembers(confirmed) })
      return { path: `${pathTo('resources', body.resource)}?done=created` }
    },
  })
}

function changesOf(resource: ResourceRecord, entered: Fields): Record<string, unknown> {
  return enteredChanges(resourceMembers, resourceChangeWordings, { present: resource, entered })
}

function addUpdate(console: Console): void {
  addChange(console, {
    path: '/console/resources/:id/change',
    scope: 'admin.clients',
    async form(visit, entered) {
      const { body: resource, etag } = await readResource(visit)
      return {
        title: 'Change the resource',
        intro: resource.resource,
        fields: fieldsFor(resourceMembers, resourceChangeWordings, { present: resource, entered }),
        button: 'Continue',
        back: here(visit),
        more: [['etag', entered?.text('etag') ?? etag]],
      }
    },
    async question(visit, entered) {
      const { body: resource } = await readResource(visit)
      const changes = changesOf(resource, entered)
      const changed = { uri: resource.resource, ...byKey(resourceMembers, { ...resource, ...changes }) }
      const faults = resourceFaults(changed as unknown as Resource)
      if (Object.keys(changes).length === 0) faults.push('No value was changed.')
      if (faults.length > 0) return { faults }
      return {
        title: 'Change this resource?',
        effect: `It changes ${counted(Object.keys(changes).length, 'setting')}. It ends 0 grants.`,
        notes: ['A scope that is removed is missing in the next token of each grant.'],
        facts: shownMembers(resourceChangeWordings, changes),
        button: 'Change the resource',
        back: here(visit),
      }
    },
    async carryOut(visit, confirmed) {
      const { body: resource } = await readResource(visit)
      await visit.api('PATCH', apiPath(visit), { body: changesOf(resource, confirmed), ifMatch: confirmed.text('etag') })
      return { path: here(visit, '?done=changed') }
    },
  })
}

function addDeletion(console: Console): void {
  addChange(console, {
    path: '/console/resources/:id/delete',
    scope: 'admin.clients',
    async question(visit) {
      const { body: resource } = await readResource(visit)
      return {
        title: `Delete ${resource.name}?`,
        effect: `It removes 1 resource with ${counted(resource.scopes.length, 'scope')}. It ends 0 grants.`,
        notes: ['Access tokens that were issued stay valid until they expire. No new ones are issued for this resource.'],
        button: 'Delete the resource',
        tone: 'danger',
        back: here(visit),
      }
    },
    async carryOut(visit) {
      await visit.api('DELETE', apiPath(visit))
      return { path: '/console/resources?done=deleted' }
    },
  })
}
