import { type Html, html } from './html.ts'
import { ICON, scriptElement, type scripts, styleElement } from './inline.ts'
import { texts } from './texts.ts'

/**
 * The frame of every page: the wordmark, one slip of paper, and a promise at the foot. The same frame fits every window
 * that an app may request (`display`, OpenID Connect Core §3.1.2.1), also on a small phone.
 */
export type Page = {
  title: string
  slip: Html
  /** Additions to <head>. */
  extras?: Html
  script?: keyof typeof scripts
}

export function layout(page: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${page.title} · ${texts.brand}</title>
<link rel="icon" href="${ICON}">
${styleElement('page')}
${page.extras}
</head>
<body>
<header class="masthead"><img src="${ICON}" alt="" width="28" height="28"><span>${texts.brand}</span></header>
<main id="page">
${page.slip}
</main>
<footer class="promise">${texts.promise}</footer>
${page.script && scriptElement(page.script)}
</body>
</html>
`.toString()
}

/** A slip of paper: the head names the app and its request; the body, below a perforation, has the user's choices. */
export function slip({ head, body }: { head: Html; body: Html }): Html {
  return html`<article class="slip">
<div class="slip-head">${head}</div>
<div class="slip-body">${body}</div>
</article>`
}
