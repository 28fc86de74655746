import { clientCause } from './client-causes.ts'
import { type Html, html } from './html.ts'
import type { Reader } from './languages.ts'
import { layout, type Page, slip } from './layout.ts'
import { factsOfNotice, type NoticeKind } from './notices.ts'
import { placeLine } from './parts.ts'
import { symbol } from './symbols.ts'
import { appTitle, fill, waitingTime } from './words.ts'

export type { NoticeKind } from './notices.ts'

/**
 * A page for a flow that cannot continue: what happened, and what to do now.
 *
 * `retryUrl` becomes a button; `retryAfter` (seconds) becomes the waiting time in words. The last line shows `reason`
 * and `requestId`: the reason as in the audit log, for the app's builder, and the number of the request, for the
 * support.
 */
export type Notice = {
  kind: NoticeKind
  clientName?: string | undefined
  clientHost?: string | undefined
  clientScheme?: string | undefined
  retryUrl?: string | undefined
  retryAfter?: number | undefined
  /** how many grants have ended */
  count?: number | undefined
  reason?: string | undefined
  requestId?: string | undefined
}

export function noticePage(notice: Notice, reader: Reader): string {
  return layout({ ...noticePageOf(notice, reader), hasChooser: true })
}

/** The same words without style and the choice of a language: 3 kB in place of 19. */
export function plainNoticePage(notice: Notice, reader: Reader): string {
  return layout({ ...noticePageOf(notice, reader), hasStyle: false })
}

function noticePageOf(notice: Notice, reader: Reader): Page {
  return { reader, title: reader.texts.notices[notice.kind].title, slip: noticeContent(notice, reader) }
}

/** The slip alone: the login page contains such slips for events while it is open. */
export function noticeContent(notice: Notice, reader: Reader): Html {
  const { texts } = reader
  const { tone, builder } = factsOfNotice(notice.kind)
  const words: NoticeWords = texts.notices[notice.kind]
  const { clientHost = '', clientScheme } = notice
  const cause = clientCause(notice.reason)
  const names = {
    app: notice.clientName ? appTitle({ clientName: notice.clientName, clientHost, clientScheme }, texts) : html`${texts.anApp}`,
    wait: html`${waitingTime(notice.retryAfter ?? 60, reader)}`,
    count: html`${reader.formats().number.format(notice.count ?? 0)}`,
  }
  return slip({
    head: html`<div class="notice" data-notice="${notice.kind}">
${symbol(tone)}
<h1 tabindex="-1">${words.title}</h1>
<p class="lead">${fill(words.text, names)}</p>
</div>`,
    body: html`${cause && html`<p id="cause" lang="en" dir="ltr">${cause}</p>`}<h2 class="label">${texts.whatToDo}</h2>
<p class="next">${fill(words.next, names)}</p>
${words.next.includes('{app}') && (clientHost || clientScheme) && placeLine({ clientHost, clientScheme }, reader)}
${notice.retryUrl && html`<p class="actions"><a class="button" id="retry" href="${notice.retryUrl}">${fill(words.button ?? texts.tryAgain, names)}</a></p>`}
${builder && html`<details class="fold"><summary>${fill(texts.forBuilders, names)}</summary><p lang="en" dir="ltr">${builder}</p></details>`}
${notice.requestId && lastLine(notice.requestId, notice.reason, reader)}`,
  })
}

/** `button`: the label of the button, if the notice has an address for one; if absent, "Try again". */
type NoticeWords = { title: string; text: string; next: string; button?: string }

function lastLine(requestId: string, reason: string | undefined, { texts }: Reader): Html {
  return html`<p class="fine" id="reference">${reason && html`${texts.reason} <code class="number">${reason}</code> · `}${texts.requestNumber} <code class="number">${requestId}</code></p>`
}
