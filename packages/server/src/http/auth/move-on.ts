import type { FastifyReply } from 'fastify'
import { readerOf } from '../../pages/languages.ts'
import { type MovingOn, movingOnPage } from '../../pages/moving-on-page.ts'
import { pageHeaders } from '../../pages/page-headers.ts'
import { formOrigin } from '../../protocol/oauth/redirect-uri.ts'
import type { UiLocale } from '../../protocol/oauth/ui-locales.ts'

/** A page that continues by itself. If it posts a form, its policy allows only the origin of the form's target. */
export function moveOn(reply: FastifyReply, page: MovingOn & { uiLocale?: UiLocale | null }): FastifyReply {
  const origin = typeof page.to === 'string' ? null : formOrigin(page.to.action)
  return reply
    .headers(origin === null ? pageHeaders(reply) : pageHeaders(reply, origin))
    .send(movingOnPage(page, readerOf(reply, page.uiLocale)))
}
