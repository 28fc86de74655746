/**
 * The page of a new secret. The secret is in a sealed cookie for some minutes, and is stored nowhere: so the form of the change is answered by a
 * redirect like every form, and a page that did not load can be loaded again.
 */

import type { FastifyReply } from 'fastify'
import { setCookie } from '../../http/cookies.ts'
import { type Html, html } from '../../pages/html.ts'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Members } from '../members/member.ts'
import { subjectOf, subjects } from '../operations/all.ts'
import { nameOf, type Operation, recordIn, type Subject } from '../operations/operation.ts'
import type { SubjectName } from '../operations/subject-name.ts'
import { buttonLink, clock, exact, facts, moment, nameOr, pathTo, withCopyButton } from './parts.ts'
import { redirectTo } from './replies.ts'
import { consoleCookie, openCookie } from './session.ts'
import { addPage, type Console, type Visit } from './visit.ts'

/** Seconds. */
const SHOWN_FOR = 300

/** The member of an output that is shown once. */
const SECRET = 'secret'

/** `secret` is null for a record without one. `earlierUntil`: how long the secret before works, in epoch seconds. */
type ShownSecret = {
  grantId: string
  subject: SubjectName
  id: string
  title: string
  name: string
  secret: string | null
  earlierUntil: number | null
  isRotated: boolean
  until: number
}
const SHOWN: SealedFormat<ShownSecret> = sealedFormat('consoleSecret')

/** The new secret in the output of an operation; undefined if the operation makes no secrets. */
export function secretIn(subject: Subject, output: Members): string | null | undefined {
  return (output[SECRET] ?? output[`${subject.noun}_${SECRET}`]) as string | null | undefined
}

/** Redirects to the page of the secret. */
export function redirectToSecret(
  { admin }: Console,
  { reply, frame, now }: Visit,
  { operation, output, secret }: { operation: Operation; output: Members; secret: string | null },
): FastifyReply {
  const subject = subjectOf(operation.subject)
  const record = recordIn(subject, output)
  const id = String(record[subject.idName])
  const secrets = (record.secrets ?? []) as readonly { expires_at: number | null }[]
  const shown: ShownSecret = {
    grantId: frame.grantId,
    subject: operation.subject,
    id,
    title: operation.page?.done ?? '',
    name: [...nameOf(subject, record)].slice(0, LONGEST_NAME).join(''),
    secret,
    earlierUntil: secrets.find(({ expires_at: at }) => at !== null)?.expires_at ?? null,
    isRotated: operation.kind !== 'create',
    until: now + SHOWN_FOR,
  }
  setCookie(reply, consoleCookie(admin, 'secret'), { value: SHOWN.seal(admin.deps.keys, shown), seconds: SHOWN_FOR })
  return redirectTo(reply, pathTo(operation.subject, id, 'secret'))
}

/** In characters. A name is shown up to this length, and the cookie stays short. */
const LONGEST_NAME = 80

/** The pages of secrets. */
export function secretPages(console: Console): void {
  for (const { name } of subjects.filter(({ lead }) => lead !== undefined))
    addPage(console, `${pathTo(name)}/:id/secret`, async (visit) => {
      const shown = openCookie({ admin: console.admin, request: visit.request, name: 'secret' }, SHOWN)
      const isShown =
        shown?.grantId === visit.frame.grantId &&
        shown.subject === name &&
        shown.id === visit.params.id &&
        shown.until > visit.now
      const title = isShown ? shown.title : 'The secret is no longer shown'
      if (!isShown) visit.reply.code(404)
      return {
        title,
        content: html`<div class="narrow"><article class="card">
<h1>${title}</h1>
${isShown ? secretContent(shown) : html`<p class="lead">A secret is shown for five minutes, in the browser that made the secret. It is stored nowhere. If you have no copy, make a new one.</p>`}
<p class="actions">${buttonLink(pathTo(name, visit.params.id ?? ''), `The ${subjectOf(name).noun}`)}</p>
</article></div>`,
      }
    })
}

function secretContent({ subject: subjectName, id, name, secret, earlierUntil, isRotated, until }: ShownSecret): Html {
  const { noun, displays } = subjectOf(subjectName)
  const label = displays.find(({ isTitle }) => isTitle)?.label ?? ''
  return html`${facts([
    name !== id && [label, nameOr(name, 'without a name')],
    ['Id', withCopyButton(html`<span id="${noun}-id">${exact(id)}</span>`, 'the id')],
    isRotated &&
      secret !== null && [
        'Earlier secret',
        earlierUntil === null ? 'no longer valid' : html`valid until ${moment(earlierUntil)}`,
      ],
  ])}
${
  secret === null
    ? html`<p>This ${noun} has no secret.</p>`
    : html`<h2>Secret</h2>
<p class="message problem">Copy it now. This page shows it until ${clock(until)}, in this browser only. It is stored nowhere.</p>
${withCopyButton(html`<p class="paper" id="${noun}-secret">${secret}</p>`, 'the secret')}`
}`
}
