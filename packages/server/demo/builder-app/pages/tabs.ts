import { type Html, html } from './html.ts'

/** The pages of the demo, in the order of their tabs. */
const TABS = [
  { path: '/', label: 'A sign-in' },
  { path: '/in-your-app', label: 'In your app' },
  { path: '/for-your-tests', label: 'For your tests' },
] as const

export type TabPath = (typeof TABS)[number]['path']

export function tabsView(current: TabPath): Html {
  return html`<nav class="tabs" aria-label="Pages of the demo">${TABS.map(({ path, label }) =>
    path === current ? html`<a href="${path}" aria-current="page">${label}</a>` : html`<a href="${path}">${label}</a>`,
  )}</nav>`
}
