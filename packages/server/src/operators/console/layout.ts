/** The layout of every page of the console. */
import { type Fillable, type Html, html } from '../../pages/html.ts'
import { ICON, scriptElement, styleElement } from '../../pages/inline.ts'
import { shortAddress } from '../../pages/words.ts'

/** What every page of the console shows: who is signed in, and where. */
export type Frame = {
  operator: { id: string; role: string }
  /** the grant of the session */
  grantId: string
  signOutToken: string
  /** of this page */
  path: string
  mayReadAudit: boolean
  /** of the package */
  version: string
}

/** A page above this one. */
export type Crumb = readonly [path: string, name: Fillable]

export type ConsolePage = {
  title: string
  content: Html
  /** the pages between the first level and this page */
  crumbs?: readonly Crumb[]
  /** seconds; the page refreshes itself */
  refresh?: number | undefined
}

const PLACES = [
  ['/console', 'Overview'],
  ['/console/clients', 'Clients'],
  ['/console/resources', 'Resources'],
  ['/console/wallet', 'Wallets'],
  ['/console/keys', 'Keys'],
  ['/console/operators', 'Operators'],
  ['/console/audit', 'Audit'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/settings', 'Settings'],
] as const

/** A whole page. It is wider than the pages for users, because operators compare rows. The pages before the sign-in have no frame. */
export function consolePage({ title, content, refresh, crumbs }: ConsolePage, frame?: Frame): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Grantor console</title>
<link rel="icon" href="${ICON}">
${styleElement('console')}
${refresh !== undefined && html`<noscript><meta http-equiv="refresh" content="${refresh}"></noscript>`}
${frame && scriptElement('console')}
</head>
<body class="console">
<a class="skip" href="#page">Skip to the content</a>
${bar(frame)}
<main id="page" tabindex="-1"${refresh !== undefined && html` data-refresh="${refresh}"`}>
${frame && crumbTrail(frame, title, crumbs)}
${content}
</main>
${frame && html`<footer class="foot">Grantor ${frame.version}</footer>`}
</body>
</html>
`.toString()
}

function bar(frame: Frame | undefined): Html {
  return html`<header class="bar">
<p class="brand"><img src="${ICON}" alt="" width="24" height="24"><span>Grantor console</span></p>
${
  frame &&
  html`<button class="button quiet small opens" popovertarget="menu">Menu</button>
<div id="menu" popover><nav aria-label="Console"><ul>${PLACES.filter(
    ([path]) => path !== '/console/audit' || frame.mayReadAudit,
  ).map(
    ([path, name]) =>
      html`<li><a href="${path}"${isHere(path, frame.path) && html` aria-current="${path === frame.path ? 'page' : 'true'}"`}>${name}</a></li>`,
  )}</ul></nav>
<form method="post" action="/console/sign-out" class="who">
<input type="hidden" name="form_token" value="${frame.signOutToken}">
<span><code>${shortAddress(frame.operator.id)}</code> <span class="role">${frame.operator.role}</span></span>
<button class="button quiet small" id="sign-out">Sign out</button>
</form></div>`
}
</header>`
}

/** The way from the first level to this page. A page of the first level has none. */
function crumbTrail({ path }: Frame, title: string, crumbs: readonly Crumb[] = []): Html | false {
  const place = PLACES.find(([each]) => isHere(each, path))
  if (crumbs.length === 0 && (!place || place[0] === path)) return false
  const above: readonly Crumb[] = [...(place?.[0] === path ? [] : [place ?? PLACES[0]]), ...crumbs]
  return html`<nav class="crumbs" aria-label="Breadcrumbs"><ol>${above.map(([to, name]) => html`<li><a href="${to}"><bdi>${name}</bdi></a></li>`)}<li aria-current="page"><bdi>${title}</bdi></li></ol></nav>`
}

function isHere(path: string, present: string): boolean {
  const ofJobs = path === '/console' && present.startsWith('/console/jobs')
  if (path === '/console') return present === path || ofJobs
  const ofGrants = path === '/console/wallet' && /^\/console\/(grants|sessions)(\/|$)/.test(present)
  const ofSettings = path === '/console/settings' && present === '/console/look'
  return present === path || present.startsWith(`${path}/`) || ofGrants || ofSettings
}
