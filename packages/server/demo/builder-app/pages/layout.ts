import type { Html } from './html.ts'
import { html } from './html.ts'
import { type TabPath, tabsView } from './tabs.ts'

export interface Page {
  title: string
  /** the tab of the page; absent if the page has no tab */
  tab?: TabPath
  /** shown at the right of the top line */
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
<footer>Server-rendered, no script. This app keeps the masked values on its server, in memory, until it stops.</footer>
</body>
</html>
`.text
}

/** A time of day in UTC: without a script, the page cannot use the reader's time zone. `at` is in epoch seconds. */
export function timeOfDay(at: number): string {
  return `${new Date(at * 1_000).toISOString().slice(11, 19)} UTC`
}
