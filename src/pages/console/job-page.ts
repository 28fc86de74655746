import type { JobRecord } from '../../operations/jobs.ts'
import { counted, number } from '../../operations/words.ts'
import { type Html, html } from '../html.ts'
import { fromNow } from '../times.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { buttonLink, exact, facts, link, moment, named, pathTo, table, tag, titleRow } from './parts.ts'

/** Long work that an operator or a user started. */
export type JobView = JobRecord & {
  clientName: string
  /** the grants that have not ended yet, and whether there may be more; null if the job is done */
  left: { count: number; atMost: number } | null
}

const TITLES = {
  end_grants_of_client: 'Ending all grants',
  delete_client: 'Deleting the client',
  end_grants_of_wallet: 'Ending the grants of a wallet',
} as const

export function jobPage({ frame, job, now }: { frame: Frame; job: JobView; now: number }): string {
  const isDone = job.done_at !== null
  return consoleLayout({
    title: `${isDone ? 'Done: ' : ''}${TITLES[job.kind]}`,
    frame,
    refresh: isDone ? undefined : 2,
    content: html`<div class="narrow"><article class="card">
<h1>${TITLES[job.kind]} ${isDone ? 'is done' : '…'}</h1>
<p class="effect" id="progress" role="status">${counted(job.grants_ended, 'grant')} ended${job.left !== null && job.left.count > 0 && `, ${counted(job.left.count, 'grant', job.left.atMost)} left`}.</p>
${progress(job)}
${facts([
  job.wallet !== null && ['Wallet', exact(job.wallet)],
  ['Client', clientOf(job)],
  ['Started', html`${fromNow(job.created_at, now)} by ${exact(job.started_by)}`],
  ['Done', job.done_at === null ? 'not yet' : moment(job.done_at)],
])}
${!isDone && html`<p class="fine">The page refreshes itself. The work goes on if you leave, also if this process ends.</p>`}
<p class="actions">${nextPageOf(job)} ${buttonLink('/console/jobs', 'All jobs')}</p>
</article></div>`,
  })
}

function clientOf({ clientName, client_id: clientId }: JobView): Html | string {
  if (clientId === '') return 'all'
  return html`${clientName !== '' && html`${named(clientName, clientId)}<br>`}<code>${clientId}</code>`
}

function nextPageOf({ kind, client_id: clientId, wallet, done_at: doneAt }: JobView): Html {
  if (wallet !== null) return buttonLink(`/console/wallet?wallet=${wallet}`, 'The wallet')
  return doneAt !== null && kind === 'delete_client'
    ? buttonLink('/console/clients', 'Clients')
    : buttonLink(pathTo('clients', clientId), 'The client')
}

function progress({ grants_ended: grantsEnded, left, done_at: doneAt }: JobView): Html | false {
  if (doneAt !== null) return html`<progress max="1" value="1" aria-label="Progress">done</progress>`
  if (left === null || left.count >= left.atMost) return html`<progress aria-label="Progress">under way</progress>`
  return html`<progress max="${grantsEnded + left.count || 1}" value="${grantsEnded}" aria-label="Progress">${number(grantsEnded)}</progress>`
}

export function jobsPage({ frame, jobs, now }: { frame: Frame; jobs: JobView[]; now: number }): string {
  return consoleLayout({
    title: 'Jobs',
    frame,
    content: html`${titleRow('Jobs')}
<p class="lead">Long work that operators and users started, newest first.</p>
${jobsTable(jobs, now, 'No job was started yet.')}`,
  })
}

export function jobsTable(jobs: JobView[], now: number, empty: string): Html {
  return table(
    'Jobs',
    [
      { name: 'Job', cell: ({ job_id: id, kind }) => link(pathTo('jobs', id), TITLES[kind]), kind: 'main' },
      { name: 'Client', cell: ({ clientName, client_id: clientId }) => (clientId === '' ? 'all' : named(clientName, clientId)) },
      { name: 'Grants ended', cell: ({ grants_ended: grantsEnded }) => number(grantsEnded), kind: 'number' },
      { name: 'Started', cell: ({ created_at: createdAt }) => fromNow(createdAt, now) },
      { name: 'State', cell: ({ done_at: doneAt }) => (doneAt === null ? tag('under way', 'warn') : tag('done', 'good')) },
    ],
    jobs,
    empty,
  )
}
