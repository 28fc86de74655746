/** The style sheet of the app. A string, so that the compiled example contains it. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #f7f6f2; --card: #fff; --ink: #1c1b22; --muted: #56545f; --line: #e0ddd3; --wire: #f4f3fa;
  --accent: #4338ca; --on-accent: #fff;
  --good: #14603a; --good-paper: #e2f3e8; --bad: #8f2d0c; --bad-paper: #fcebe0;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #141318; --card: #1d1c23; --ink: #eceaf3; --muted: #b0adbe; --line: #35333f; --wire: #17161d;
    --accent: #b4bffd; --on-accent: #17152b;
    --good: #8ee6ae; --good-paper: #14301f; --bad: #fdbb8c; --bad-paper: #3b2212;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif }
main, .top, footer { max-width: 72rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2rem) }
h1 { font-size: clamp(1.6rem, 4.5vw, 2.5rem); line-height: 1.15; letter-spacing: -0.025em; margin: 0 0 1rem; text-wrap: balance }
h2 { font-size: 1.25rem; letter-spacing: -0.01em; margin: 2.75rem 0 1rem }
h2 span { color: var(--accent); margin-right: 0.4rem }
h3 { font-size: 1.05rem; margin: 0 0 0.35rem }
h4 { font-size: 0.8rem; font-weight: 600; color: var(--muted); margin: 0 0 0.6rem }
p { margin: 0 0 1rem }
code, pre, .line, .wire dt, .wire dd { font-family: var(--mono) }
code { font-size: 0.9em; overflow-wrap: anywhere }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 0.3rem }

.top { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; justify-content: space-between; padding-block: 1rem; margin-bottom: clamp(1rem, 4vw, 2.5rem) }
.brand { display: flex; gap: 0.6rem; align-items: center; font-weight: 650; color: inherit; text-decoration: none; min-height: 2.75rem }
.account { display: flex; gap: 0.75rem; align-items: center }
.chip { font: 0.85rem var(--mono); padding: 0.2rem 0.65rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--card) }
.tabs { display: flex; flex-wrap: wrap; gap: 0.1rem; margin-right: auto }
.tabs a { padding: 0.55rem clamp(0.45rem, 1.5vw, 0.8rem); border: 1px solid transparent; border-radius: 0.5rem; font-size: 0.925rem; color: var(--muted); text-decoration: none }
.tabs a:hover { color: var(--ink); text-decoration: underline; text-underline-offset: 0.25em }
.tabs [aria-current] { color: var(--ink); background: var(--card); border-color: var(--line) }
footer { color: var(--muted); font-size: 0.875rem; padding-block: 3rem 2rem }

.button { display: inline-block; font: inherit; font-weight: 600; line-height: 1.25; padding: 0.7rem 1.25rem; border-radius: 0.6rem; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); text-decoration: none; cursor: pointer }
.button:hover { filter: brightness(1.12) }
.button.quiet { background: transparent; color: var(--ink); border-color: var(--line); padding: 0.5rem 0.9rem }
.button.danger { background: transparent; color: var(--bad); border-color: var(--bad) }
form { margin: 0 }

.hero { display: grid; gap: 2rem clamp(2rem, 6vw, 5rem); align-items: center }
.lead { font-size: 1.125rem; color: var(--muted); max-width: 38rem }
.hint { font-size: 0.9rem; color: var(--muted) }
.phases { list-style: none; counter-reset: phase; margin: 0; padding: 0 }
.phases li { counter-increment: phase; position: relative; padding: 0 0 1.4rem 3.25rem }
.phases li::before { content: counter(phase); position: absolute; left: 0; top: -0.15rem; width: 2.1rem; height: 2.1rem; border-radius: 50%; display: grid; place-items: center; font-weight: 650; background: var(--card); border: 1px solid var(--line); color: var(--accent) }
.phases li:not(:last-child)::after { content: ''; position: absolute; left: 1.05rem; top: 2.1rem; bottom: 0.3rem; border-left: 1px solid var(--line) }
.phases code { display: block; color: var(--muted); font-size: 0.85rem }
.who dl { margin: 0; display: grid; gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 0.9rem; overflow: hidden }
.who div { background: var(--card); padding: 1rem 1.25rem }
.who dt { font-weight: 600 }
.who dd { margin: 0; color: var(--muted) }
.who code { display: block; color: var(--ink) }
.alone { max-width: 40rem; padding-block: 2rem }

.notice .outcome { margin: 0 0 1.5rem; padding: 1rem 1.25rem }
.outcome { margin: 1rem 0 0; padding: 0.7rem 0.9rem; border-radius: 0.6rem; font-size: 0.95rem; background: var(--good-paper); scroll-margin-top: 40vh }
.outcome b, .outcome time { color: var(--good) }
.outcome.refused, .outcome.trouble { background: var(--bad-paper) }
.outcome.refused b, .outcome.refused time, .outcome.trouble b, .outcome.trouble time { color: var(--bad) }
.outcome time { font-size: 0.85rem; white-space: nowrap }

.tokens { margin: 0; display: grid; gap: 0.75rem 2rem; padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--good); border-radius: 0.6rem }
.tokens.over { border-left-color: var(--bad) }
.tokens dt { font-size: 0.8rem; font-weight: 600; color: var(--muted) }
.tokens dd { margin: 0 }
.tokens dd span { display: block; font-size: 0.875rem; color: var(--muted) }

.steps { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem }
.step { display: grid; gap: 1.25rem 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.9rem; padding: clamp(1rem, 3vw, 1.5rem) }
.story { min-width: 0 }
.story p:not(.outcome) { color: var(--muted) }
.story b { color: var(--ink) }
.wire { min-width: 0; background: var(--wire); border: 1px solid var(--line); border-radius: 0.6rem; overflow: hidden; font-size: 0.85rem; line-height: 1.5 }
.wire { align-self: start }
.wire summary { position: relative; display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline; padding: 0.75rem 1rem 0.75rem 2.25rem; cursor: pointer; list-style: none }
.wire summary::-webkit-details-marker { display: none }
.wire summary::before { content: '▸'; position: absolute; left: 1rem; color: var(--muted) }
.wire[open] summary::before { content: '▾' }
.wire summary:hover .line { text-decoration: underline; text-underline-offset: 0.2em }
.wire summary:focus-visible { outline-offset: -3px }
.half { padding: 0.9rem 1rem; border-top: 1px solid var(--line) }
.line { flex: 1 1 13rem; min-width: 0; overflow-wrap: anywhere }
.line b { color: var(--accent) }
.wire dl { margin: 0 0 0.5rem }
.wire dl div { padding: 0.15rem 0 }
.wire dt { font-weight: 600 }
.wire dd { margin: 0; overflow-wrap: anywhere }
.wire small { display: block; color: var(--muted); font: 0.8rem/1.4 system-ui, sans-serif }
.headers { color: var(--muted) }
.headers dt::after { content: ':'; margin-right: 1ch }
.headers dt, .headers dd { display: inline }
.headers dt { white-space: nowrap }
.status { flex: none; padding: 0.05rem 0.5rem; border-radius: 2rem; background: var(--good-paper); color: var(--good); font-family: var(--mono) }
.status.s4, .status.s5 { background: var(--bad-paper); color: var(--bad) }
.empty { margin: 0; color: var(--muted) }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }

.claims { width: 100%; border-collapse: collapse; font-size: 0.875rem }
.claims thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.claims tr { display: block; padding: 0.5rem 0; border-bottom: 1px solid var(--line) }
.claims tbody tr:last-child { border: 0 }
.claims th { text-align: left }
.claims th, .claims td { display: block; padding: 0 }
.claims td { overflow-wrap: anywhere }
.claims td:nth-child(2) { font-family: var(--mono); font-size: 0.8rem }
.claims td:last-child { color: var(--muted) }
.end { margin: 2.5rem 0 0; color: var(--muted); font-size: 0.9rem }

.code { white-space: pre; overflow-x: auto; overflow-wrap: normal; background: var(--wire); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem 1.1rem; margin: 0 0 1rem; font-size: 0.85rem; line-height: 1.55 }
.states, .facts { margin: 0 0 1.5rem; display: grid; gap: 0.9rem }
.states div, .facts div { display: grid; gap: 0.35rem 1.5rem; align-items: center }
.states dd, .facts dd { margin: 0; color: var(--muted) }
.states dd code:first-child { color: var(--ink); margin-right: 0.5rem }
.sample { display: inline-flex; gap: 0.6rem; align-items: center; min-height: 2.75rem; padding: 0.55rem 1.1rem; border-radius: 0.7rem; font-weight: 600; line-height: 1.25; background: light-dark(#0f6a52, #5fd0a8); color: light-dark(#fff, #06231a) }
.sample svg { flex: none }
.sample.checking { opacity: 0.9 }
.sample.signed_in { background: none; color: light-dark(#0f6a52, #5fd0a8); box-shadow: inset 0 0 0 1.5px currentColor }
.flow { padding-left: 1.4rem; color: var(--muted) }
.flow b { color: var(--ink) }

@media (min-width: 40rem) {
  .states div { grid-template-columns: 17.5rem minmax(0, 1fr) }
  .facts div { grid-template-columns: 5rem minmax(0, 1fr) }
  .who dl { grid-template-columns: repeat(2, 1fr) }
  .tokens { grid-template-columns: repeat(3, auto); justify-content: space-between }
  .claims tr { display: table-row }
  .claims th, .claims td { display: table-cell; padding: 0.4rem 1rem 0.4rem 0; vertical-align: top; border-bottom: 1px solid var(--line) }
  .claims tbody tr:last-child > * { border: 0 }
  .claims th { white-space: nowrap }
  .claims td:nth-child(2) { width: 20rem }
  .parameters div { display: grid; grid-template-columns: 12.5rem minmax(0, 1fr) }
}
@media (min-width: 60rem) {
  .hero { grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr) }
  .who dl { grid-template-columns: repeat(4, 1fr) }
  .step.taken { grid-template-columns: minmax(0, 21rem) minmax(0, 1fr) }
  .step:not(.taken) .story { max-width: 42rem }
}
`
