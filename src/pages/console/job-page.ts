import { type Html, html } from '../html.ts'
import { fromNow } from '../times.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { buttonLink, counted, exact, facts, link, moment, named, number, pathTo, table, tag, titleRow } from './parts.ts'

/** Long work that an operator started. */
export type JobView = {
  id: string
  kind: 'end_grants_of_client' | 'delete_client'
  clientId: string
  clientName: string
  startedBy: string
  createdAt: number
  grantsEnded: number
  /** the grants that have not ended yet, and whether there may be more; null if the job is done */
  left: { count: number; atMost: number } | null
  doneAt: number | null
}

const TITLES = { end_grants_of_client: 'Ending all grants', delete_client: 'Deleting the client' } as const

export function jobPage({ frame, job, now }: { frame: Frame; job: JobView; now: number }): string {
  const isDone = job.doneAt !== null
  return consoleLayout({
    title: `${isDone ? 'Done: ' : ''}${TITLES[job.kind]}`,
    frame,
    refresh: isDone ? undefined : 2,
    content: html`<div class="narrow"><article class="card">
<h1>${TITLES[job.kind]} ${isDone ? 'is done' : '…'}</h1>
<p class="effect" id="progress" role="status">${counted(job.grantsEnded, 'grant')} ended${job.left !== null && job.left.count > 0 && `, ${counted(job.left.count, 'grant', job.left.atMost)} left`}.</p>
${progress(job)}
${facts([
  ['Client', html`${job.clientName !== '' && html`${named(job.clientName, job.clientId)}<br>`}<code>${job.clientId}</code>`],
  ['Started', html`${fromNow(job.createdAt, now)} by ${exact(job.startedBy)}`],
  ['Done', job.doneAt === null ? 'not yet' : moment(job.doneAt)],
])}
${!isDone && html`<p class="fine">The page refreshes itself. The work goes on if you leave, also if this process ends.</p>`}
<p class="actions">${isDone && job.kind === 'delete_client' ? buttonLink('/console/clients', 'Clients') : buttonLink(pathTo('clients', job.clientId), 'The client')} ${buttonLink('/console/jobs', 'All jobs')}</p>
</article></div>`,
  })
}

function progress({ grantsEnded, left, doneAt }: JobView): Html | false {
  if (doneAt !== null) return html`<progress max="1" value="1" aria-label="Progress">done</progress>`
  if (left === null || left.count >= left.atMost) return html`<progress aria-label="Progress">under way</progress>`
  return html`<progress max="${grantsEnded + left.count || 1}" value="${grantsEnded}" aria-label="Progress">${number(grantsEnded)}</progress>`
}

export function jobsPage({ frame, jobs, now }: { frame: Frame; jobs: JobView[]; now: number }): string {
  return consoleLayout({
    title: 'Jobs',
    frame,
    content: html`${titleRow('Jobs')}
<p class="lead">Long work that operators started, newest first.</p>
${jobsTable(jobs, now, 'No job was started yet.')}`,
  })
}

export function jobsTable(jobs: JobView[], now: number, empty: string): Html {
  return table(
    'Jobs',
    [
      { name: 'Job', cell: ({ id, kind }) => link(pathTo('jobs', id), TITLES[kind]), kind: 'main' },
      { name: 'Client', cell: ({ clientName, clientId }) => named(clientName, clientId) },
      { name: 'Grants ended', cell: ({ grantsEnded }) => number(grantsEnded), kind: 'number' },
      { name: 'Started', cell: ({ createdAt }) => fromNow(createdAt, now) },
      { name: 'State', cell: ({ doneAt }) => (doneAt === null ? tag('under way', 'warn') : tag('done', 'good')) },
    ],
    jobs,
    empty,
  )
}
