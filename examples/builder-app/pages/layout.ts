import type { Html } from './html.ts'
import { html } from './html.ts'
import { type TabPath, tabsView } from './tabs.ts'

export interface Page {
  title: string
  /** the tab of the page; a page without one is none of the tabs */
  tab?: TabPath
  /** What stands at the right of the top line. */
  aside?: Html | undefined
  content: Html
}

export function layout({ title, tab, aside, content }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header class="top">
<a class="brand" href="/"><img src="/icon.svg" alt="" width="32" height="32"> Demo builder app</a>
${tab && tabsView(tab)}
${aside}
</header>
<main>
${content}
</main>
<footer>Server-rendered, no script. What you see masked here this app keeps on its server, in memory, and forgets when it stops.</footer>
</body>
</html>
`.text
}

/** A time of day a person can compare with the next one, without a script that knows the time zone. */
export function timeOfDay(at: number): string {
  return `${new Date(at * 1_000).toISOString().slice(11, 19)} UTC`
}
