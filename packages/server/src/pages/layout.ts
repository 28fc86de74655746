import { type Html, html } from './html.ts'
import { scriptElement, type scripts, styleElement } from './inline.ts'
import { languageChooser } from './language-chooser.ts'
import type { Reader } from './languages.ts'
import { GRANTOR_LOOK, type Look } from './look.ts'

/**
 * The frame of every page: the wordmark, one slip of paper, and a promise at the foot. The same frame fits every window
 * that an app may request (`display`, OpenID Connect Core §3.1.2.1), also on a small phone.
 */
export type Page = {
  reader: Reader
  title: string
  slip: Html
  /** Additions to <head>. */
  extras?: Html
  script?: keyof typeof scripts
  /** Whether the page can be requested again, in another language. */
  hasChooser?: boolean
  /** Whether the two halves of the slip stand side by side on a desktop. */
  isWide?: boolean
  /** Whether the page has the style, which is most of its length; true if absent. */
  hasStyle?: boolean
}

export function layout(page: Page): string {
  const { tag, dir, texts, look = GRANTOR_LOOK } = page.reader
  return html`<!doctype html>
<html lang="${tag}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${page.title} · ${look.name}</title>
<link rel="icon" href="${look.icon}">
${page.hasStyle !== false && [styleElement('page'), look.style]}
${page.extras}
</head>
<body>
${masthead(look)}
<main id="page"${page.isWide && html` class="wide"`}>
${page.slip}
</main>
<footer class="promise">${texts.promise}${links(page.reader)}${page.hasChooser && languageChooser(page.reader)}</footer>
${page.script && scriptElement(page.script)}
</body>
</html>
`.toString()
}

/** The name of the platform and its picture. The console previews it. */
export function masthead({ mark, name }: Look): Html {
  return html`<header class="masthead">${mark}<bdi>${name}</bdi></header>`
}

/** Each opens in a tab of its own, so that the sign-in stays open. */
function links({ texts, look }: Reader): Html | false {
  const { helpUrl, privacyUrl } = look ?? GRANTOR_LOOK
  if (helpUrl === undefined && privacyUrl === undefined) return false
  const link = (url: string | undefined, text: string): Html | false =>
    url !== undefined && html`<a href="${url}" target="_blank" rel="noopener">${text}</a>`
  return html`<nav class="platform-links">${link(helpUrl, texts.help)}${link(privacyUrl, texts.privacy)}</nav>`
}

/** A slip of paper: the head names the app and its request; the body, below a perforation, has the user's choices. */
export function slip({ head, body }: { head: Html; body: Html }): Html {
  return html`<article class="slip">
<div class="slip-head">${head}</div>
<div class="slip-body">${body}</div>
</article>`
}
