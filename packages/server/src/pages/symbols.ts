import { type Html, html } from './html.ts'

/** Small line drawings in the colour of the text around them. They repeat the meaning of the text. */
export type SymbolName = 'stop' | 'wait' | 'info' | 'done' | 'host' | 'device' | 'clock' | 'calendar' | 'tick'

export function symbol(name: SymbolName): Html {
  return html`<svg class="symbol symbol-${name}" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">${SHAPES[name]}</svg>`
}

const CIRCLE = html`<circle cx="12" cy="12" r="9.25"/>`
const SHAPES: Record<SymbolName, Html> = {
  stop: html`${CIRCLE}<path d="M12 7.5v5.5M12 16.4v.1"/>`,
  wait: html`${CIRCLE}<path d="M12 7v5.2l3.2 2"/>`,
  info: html`${CIRCLE}<path d="M12 11.2v5.3M12 7.6v.1"/>`,
  done: html`${CIRCLE}<path d="m8 12.4 2.7 2.7L16.2 9.4"/>`,
  clock: html`${CIRCLE}<path d="M12 7v5.2l3.2 2"/>`,
  calendar: html`<path d="M4 6.5h16v13H4zM4 10.5h16M8.5 4v4M15.5 4v4"/>`,
  device: html`<path d="M7.5 2.75h9v18.5h-9zM11 18.2h2"/>`,
  host: html`${CIRCLE}<path d="M3 12h18M12 2.9c5.2 5 5.2 13.2 0 18.2M12 2.9c-5.2 5-5.2 13.2 0 18.2"/>`,
  tick: html`<path d="m5 12.8 4.4 4.4L19 7.4"/>`,
}
