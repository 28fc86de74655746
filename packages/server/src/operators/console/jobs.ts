/** The pages of long work that operators and users started. */

import { type Html, html } from '../../pages/html.ts'
import { COUNTED_AT_MOST } from '../operations/clients.ts'
import { countMatchingGrants, walletOf } from '../operations/grants.ts'
import { getJob, type JobRecord, listJobs, stopJob } from '../operations/jobs.ts'
import { formatCount, number } from '../operations/words.ts'
import { addChange } from './change.ts'
import { buttonLink, exact, facts, link, moment, nameOr, pathTo, table, tag, titleRow } from './parts.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, type Visit } from './visit.ts'

type JobView = JobRecord & { clientName: string }

const TITLES = {
  end_grants_of_client: 'Ending all grants',
  delete_client: 'Deleting the client',
  end_grants_of_wallet: 'Ending the grants of a wallet',
  end_matching_grants: 'Ending several grants',
} as const

/** The page of a job is loaded every two seconds. */
const ROWS_READ = 2000

export function jobPages(console: Console): void {
  addChange(console, {
    operation: stopJob,
    path: '/console/jobs/:id/stop',
    form: null,
    hasRecord: false,
    crumbs: () => [['/console/jobs', 'Jobs']],
    home: homeOf,
  })
  addPage(console, '/console/jobs', async (visit) => ({
    title: 'Jobs',
    content: html`${titleRow('Jobs')}
<p class="lead">Long work that operators and users started, newest first.</p>
${jobsTable(await readJobViews(console, visit), visit.now, 'No job was started yet.')}`,
  }))

  addPage(console, '/console/jobs/:id', async (visit) => {
    const job = await jobView(console, (await visit.run(getJob, { id: visit.params.id ?? '' })).output)
    const isDone = job.done_at !== null
    const state = job.stopped_by === null ? 'is done' : 'was stopped'
    const mayStop = !isDone && job.kind !== 'end_grants_of_wallet' && visit.may(stopJob.scope)
    const left = isDone ? null : await countLeft(console, job)
    return {
      title: `${isDone ? (job.stopped_by === null ? 'Done: ' : 'Stopped: ') : ''}${TITLES[job.kind]}`,
      refresh: isDone ? undefined : 2,
      crumbs: [['/console/jobs', 'Jobs']],
      content: html`<div class="narrow"><article class="card">
<h1>${TITLES[job.kind]} ${isDone ? state : '…'}</h1>
<p class="effect" id="progress" role="status">${formatCount(job.grants_ended, 'grant')} ended${left !== null && left > 0 && `, ${formatCount(left, 'grant', COUNTED_AT_MOST)} left`}.</p>
${progress(job.grants_ended, left)}
${facts([
  job.wallet !== null && ['Wallet', exact(job.wallet)],
  ['Client', clientOfJob(job)],
  job.scope !== null && ['Scope', exact(job.scope)],
  job.created_before !== null && ['Created before', moment(job.created_before)],
  ['Started', html`${fromNow(job.created_at, visit.now)} by ${exact(job.started_by)}`],
  job.stopped_by !== null && ['Stopped', html`by ${exact(job.stopped_by)}`],
  ['Done', job.done_at === null ? 'not yet' : moment(job.done_at)],
])}
${!isDone && html`<p class="fine">The page refreshes itself. The work goes on if you leave, also if this process ends.</p>`}
<p class="actions">${nextPageOf(job)} ${buttonLink('/console/jobs', 'All jobs')} ${mayStop && buttonLink(pathTo('jobs', job.job_id, 'stop'), 'Stop', 'danger')}</p>
</article></div>`,
    }
  })
}

const homeOf = ({ params }: Visit): string => pathTo('jobs', params.id ?? '')

export async function readJobViews(console: Console, visit: Visit): Promise<JobView[]> {
  const { items } = (await visit.run(listJobs)).output
  return Promise.all(items.map((job) => jobView(console, job)))
}

async function jobView({ service }: Console, job: JobRecord): Promise<JobView> {
  return { ...job, clientName: await service.nameOfClient(job.client_id) }
}

/** The grants that have not ended yet; `COUNTED_AT_MOST` if they are not counted. */
async function countLeft({ service }: Console, { kind, wallet, client_id: clientId, ...others }: JobRecord): Promise<number> {
  if (kind === 'end_matching_grants') {
    const { scope, created_before: before } = others
    const conditions = {
      client_id: clientId,
      ...(wallet !== null && { wallet }),
      ...(scope !== null && { scope }),
      ...(before !== null && { created_before: before }),
    }
    const { number: left, kind: how } = await countMatchingGrants(service, conditions, ROWS_READ)
    return how === 'exact' ? left : COUNTED_AT_MOST
  }
  const of = wallet === null ? { clientId } : { wallet: walletOf(wallet) }
  return service.store.grants.countUnendedGrants(of, COUNTED_AT_MOST)
}

function clientOfJob({ clientName, client_id: clientId }: JobView): Html | string {
  if (clientId === '') return 'all'
  return html`${clientName !== '' && html`${nameOr(clientName, clientId)}<br>`}<code>${clientId}</code>`
}

function nextPageOf({ kind, client_id: clientId, wallet, done_at: doneAt }: JobView): Html {
  if (kind === 'end_matching_grants') return buttonLink('/console/grants', 'Grants')
  if (wallet !== null) return buttonLink(`/console/wallet?wallet=${wallet}`, 'The wallet')
  return doneAt !== null && kind === 'delete_client'
    ? buttonLink('/console/clients', 'Clients')
    : buttonLink(pathTo('clients', clientId), 'The client')
}

/** `left` is null if the job is done. */
function progress(ended: number, left: number | null): Html {
  if (left === null) return html`<progress max="1" value="1" aria-label="Progress">done</progress>`
  if (left >= COUNTED_AT_MOST) return html`<progress aria-label="Progress">under way</progress>`
  return html`<progress max="${ended + left || 1}" value="${ended}" aria-label="Progress">${number(ended)}</progress>`
}

function stateTag({ done_at: doneAt, stopped_by: stoppedBy }: JobView): Html {
  if (doneAt === null) return tag('under way', 'warn')
  return stoppedBy === null ? tag('done', 'good') : tag('stopped')
}

export function jobsTable(jobs: JobView[], now: number, empty: string): Html {
  return table(
    'Jobs',
    [
      { name: 'Job', cell: ({ job_id: id, kind }) => link(pathTo('jobs', id), TITLES[kind]), kind: 'main' },
      { name: 'Client', cell: ({ clientName, client_id: clientId }) => (clientId === '' ? 'all' : nameOr(clientName, clientId)) },
      { name: 'Grants ended', cell: ({ grants_ended: grantsEnded }) => number(grantsEnded), kind: 'number' },
      { name: 'Started', cell: ({ created_at: createdAt }) => fromNow(createdAt, now) },
      { name: 'State', cell: stateTag },
    ],
    jobs,
    empty,
  )
}
