import { randomUUID } from 'node:crypto'
import { type ClientRegistration, registerClient } from '../../domain/clients/register-client.ts'
import { byKey, clientMembers } from '../../domain/configuration/members.ts'
import type { AdminScope } from '../../domain/operators/roles.ts'
import { type ClientRecord, clientPage, clientsPage, secretPage } from '../../pages/console/client-pages.ts'
import { counted, exact, type Fact, pathTo } from '../../pages/console/parts.ts'
import type { Question } from '../../pages/console/question-page.ts'
import { COUNTED_AT_MOST } from '../routes/clients.ts'
import { queryOf } from './call-api.ts'
import { clientChangeWordings, clientWordings } from './client-form.ts'
import { addChange, addPage, type Console, type Visit } from './console.ts'
import type { Fields } from './form.ts'
import { enteredChanges, enteredMembers, fieldsFor, shownMembers, withoutEmpty } from './record-form.ts'

const DONE: Readonly<Record<string, string>> = {
  changed: 'The client was changed.',
  disabled: 'The client is disabled. Its grants are kept.',
  enabled: 'The client is enabled.',
}

type Shown = { client: ClientRecord; unended_grants: number }

const apiPath = ({ params }: Visit, rest = ''): string => `/v1/clients/${encodeURIComponent(params.id ?? '')}${rest}`
const here = ({ params }: Visit, done?: string): string => `${pathTo('clients', params.id ?? '')}${done ? `?done=${done}` : ''}`

async function readClient(visit: Visit): Promise<{ client: ClientRecord; unended: number; etag: string }> {
  const { body, etag } = await visit.api<Shown>('GET', apiPath(visit))
  return { client: body.client, unended: body.unended_grants, etag }
}

export function clientPages(console: Console): void {
  addListAndClient(console)
  addRegistration(console)
  addUpdate(console)
  addSecretRotation(console)
  addDisabling(console)
  addJobs(console)
}

function addListAndClient(console: Console): void {
  const { deps } = console.admin

  addPage(console, '/console/clients', async ({ frame, query, api, may }) => {
    const search = query.text('search').slice(0, 100)
    const after = query.text('after')
    const { body } = await api<{ items: ClientRecord[]; next: string | null }>('GET', `/v1/clients${queryOf({ search, after })}`)
    const next = body.next === null ? null : `/console/clients${queryOf({ search, after: body.next })}`
    return clientsPage({ frame, clients: body.items, search, next, mayChange: may('admin.clients'), now: deps.now() })
  })

  addPage(console, '/console/clients/:id', async (visit) => {
    const { client, unended: count } = await readClient(visit)
    return clientPage({
      frame: visit.frame,
      client,
      unended: { count, atMost: COUNTED_AT_MOST },
      mayChange: visit.may('admin.clients'),
      mayEnd: visit.may('admin.grants'),
      done: DONE[visit.query.text('done')],
      now: deps.now(),
    })
  })
}

/** The members of the new client. A member whose field is empty is left out, so it has its default. */
function newMembers(entered: Fields): Record<string, unknown> {
  return { type: 'confidential', redirect_uris: [], ...withoutEmpty(enteredMembers(clientMembers, clientWordings, entered)) }
}

function addRegistration(console: Console): void {
  const { deps } = console.admin
  addChange(console, {
    path: '/console/clients/new',
    scope: 'admin.clients',
    form: async (_visit, entered) => ({
      title: 'Register a client',
      intro: 'Only the name and the redirect URIs are needed for an app with a server. Everything else has a usual value.',
      fields: fieldsFor(clientMembers, clientWordings, { present: { type: 'confidential' }, entered }),
      button: 'Continue',
      back: '/console/clients',
    }),
    async question(_visit, entered) {
      const members = newMembers(entered)
      const given = { name: '', ...byKey(clientMembers, members) } as unknown as ClientRegistration
      const registered = registerClient(given, deps.now())
      if (registered.kind === 'faults') return { faults: registered.faults }
      return {
        title: 'Register this client?',
        effect: 'It registers 1 client. No grant changes.',
        facts: shownMembers(clientWordings, members),
        notes: registered.secret === null ? [] : ['The next page shows the client secret, once.'],
        button: 'Register the client',
        back: '/console/clients/new',
        // A form that is sent twice registers one client.
        more: [['key', entered.text('key') || randomUUID()]],
      }
    },
    async carryOut({ api, frame }, confirmed) {
      const { body } = await api<{ client: ClientRecord; client_secret: string | null }>('POST', '/v1/clients', {
        body: newMembers(confirmed),
        idempotencyKey: confirmed.text('key'),
      })
      return { page: secretPage({ frame, client: body.client, secret: body.client_secret, isNew: true }) }
    },
  })
}

function changesOf(client: ClientRecord, entered: Fields): Record<string, unknown> {
  return enteredChanges(clientMembers, clientChangeWordings, { present: client, entered })
}

function addUpdate(console: Console): void {
  addChange(console, {
    path: '/console/clients/:id/change',
    scope: 'admin.clients',
    async form(visit, entered) {
      const { client, etag } = await readClient(visit)
      return {
        title: 'Change the client',
        intro: `${client.name}, ${client.type}`,
        fields: fieldsFor(clientMembers, clientChangeWordings, { present: client, entered }),
        button: 'Continue',
        back: here(visit),
        more: [['etag', entered?.text('etag') ?? etag]],
      }
    },
    async question(visit, entered) {
      const { client, unended } = await readClient(visit)
      const changes = changesOf(client, entered)
      const names = Object.keys(changes)
      if (names.length === 0) return { faults: ['No value was changed.'] }
      return {
        title: 'Change this client?',
        effect: `It changes ${counted(names.length, 'setting')} of a client with ${counted(unended, 'grant', COUNTED_AT_MOST)} that ${unended === 1 ? 'has' : 'have'} not ended.`,
        facts: shownMembers(clientChangeWordings, changes),
        button: 'Change the client',
        back: here(visit),
      }
    },
    async carryOut(visit, confirmed) {
      const { client } = await readClient(visit)
      await visit.api('PATCH', apiPath(visit), { body: changesOf(client, confirmed), ifMatch: confirmed.text('etag') })
      return { path: here(visit, 'changed') }
    },
  })
}

const OVERLAPS = [
  { value: '86400', label: 'one more day' },
  { value: '2592000', label: '30 more days' },
  { value: '0', label: 'no longer: it leaked' },
]

function addSecretRotation(console: Console): void {
  addChange(console, {
    path: '/console/clients/:id/rotate-secret',
    scope: 'admin.clients',
    async form(visit, entered) {
      const { client, etag } = await readClient(visit)
      return {
        title: 'Rotate the secret',
        intro: `${client.name} gets a new secret.`,
        fields: [
          {
            kind: 'choice',
            name: 'overlap',
            label: 'The present secret is valid for',
            value: entered?.text('overlap') ?? '86400',
            choices: OVERLAPS,
          },
        ],
        button: 'Continue',
        back: here(visit),
        more: [['etag', etag]],
      }
    },
    async question(visit, entered) {
      const { client } = await readClient(visit)
      const overlap = OVERLAPS.find(({ value }) => value === entered.text('overlap'))
      if (!overlap) return { faults: ['Choose how long the present secret is valid.'] }
      return {
        title: 'Rotate the secret?',
        effect: `It makes 1 new secret for ${client.name}. The present one is valid for ${overlap.label}.`,
        notes: ['Its grants stay valid. The next page shows the secret, once.'],
        button: 'Rotate the secret',
        tone: overlap.value === '0' ? 'danger' : 'plain',
        back: here(visit),
      }
    },
    async carryOut(visit, confirmed) {
      const { body } = await visit.api<{ client: ClientRecord; client_secret: string }>('POST', apiPath(visit, '/secrets'), {
        body: { overlap: Number(confirmed.text('overlap')) },
        ifMatch: confirmed.text('etag'),
      })
      return { page: secretPage({ frame: visit.frame, client: body.client, secret: body.client_secret, isNew: false }) }
    },
  })
}

/** Disabling and enabling a client. */
function addDisabling(console: Console): void {
  for (const [what, disabled] of [['disable', true] as const, ['enable', false] as const])
    addChange(console, {
      path: `/console/clients/:id/${what}`,
      scope: 'admin.clients',
      async question(visit) {
        const { client, unended, etag } = await readClient(visit)
        const grants = counted(unended, 'grant', COUNTED_AT_MOST)
        return {
          title: disabled ? `Disable ${client.name}?` : `Enable ${client.name}?`,
          effect: disabled
            ? `It stops ${grants} until the client is enabled again: users cannot sign in, refreshes are refused, and tokens are inactive at introspection. It ends 0 grants.`
            : `${grants} ${unended === 1 ? 'works' : 'work'} again.`,
          button: disabled ? 'Disable the client' : 'Enable the client',
          tone: disabled ? 'danger' : 'plain',
          back: here(visit),
          more: [['etag', etag]],
        }
      },
      async carryOut(visit, confirmed) {
        await visit.api('PATCH', apiPath(visit), { body: { disabled }, ifMatch: confirmed.text('etag') })
        return { path: here(visit, `${what}d`) }
      },
    })
}

/** The changes that start a job: deleting a client, and ending all its grants. */
function addJobs(console: Console): void {
  const add = (
    path: string,
    words: (shown: { client: ClientRecord; unended: number }) => Pick<Question, 'title' | 'effect' | 'notes' | 'button'>,
    call: { scope: AdminScope; method: 'DELETE' | 'POST'; rest: string },
  ): void =>
    addChange(console, {
      path: `/console/clients/:id/${path}`,
      scope: call.scope,
      async question(visit) {
        const { client, unended, etag } = await readClient(visit)
        const facts: Fact[] = [['Client id', exact(client.client_id)]]
        return { ...words({ client, unended }), facts, tone: 'danger', back: here(visit), more: [['etag', etag]] }
      },
      async carryOut(visit, confirmed) {
        const { body } = await visit.api<{ job_id: string }>(call.method, apiPath(visit, call.rest), {
          ifMatch: confirmed.text('etag'),
        })
        return { path: pathTo('jobs', body.job_id) }
      },
    })
  add(
    'delete',
    ({ client, unended }) => ({
      title: `Delete ${client.name}?`,
      effect: `It ends ${counted(unended, 'grant', COUNTED_AT_MOST)} and deletes the client.`,
      notes: ['The client is disabled at once, so no user can sign in to it from that moment on.', 'This cannot be undone.'],
      button: 'Delete the client',
    }),
    { scope: 'admin.clients', method: 'DELETE', rest: '' },
  )
  add(
    'end-grants',
    ({ client, unended }) => ({
      title: `End all grants of ${client.name}?`,
      effect: `It ends ${counted(unended, 'grant', COUNTED_AT_MOST)}.`,
      notes: ['Users sign in again to use the app. The client itself stays as it is.', 'This cannot be undone.'],
      button: 'End the grants',
    }),
    { scope: 'admin.grants', method: 'POST', rest: '/end-grants' },
  )
}
