import { type Html, html } from './html.ts'
import { texts } from './texts.ts'

/**
 * The frame of every page: the wordmark, one slip of paper, and a promise at the foot. One frame goes with any window that an
 * app may want (`display`, OpenID Connect Core §3.1.2.1), a small phone's too.
 */
export type Page = {
  title: string
  slip: Html
  /** More for <head>: a script, a refresh. */
  extras?: Html
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
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/grantor.css">
${page.extras}
</head>
<body>
<header class="masthead"><img src="/assets/icon.svg" alt="" width="28" height="28"><span>${texts.brand}</span></header>
<main id="page">
${page.slip}
</main>
<footer class="promise">${texts.promise}</footer>
</body>
</html>
`.toString()
}

/** A slip of paper: its head says who asks for what; below a perforation, its body is what you do about it. */
export function slip({ head, body }: { head: Html; body: Html }): Html {
  return html`<article class="slip">
<div class="slip-head">${head}</div>
<div class="slip-body">${body}</div>
</article>`
}
