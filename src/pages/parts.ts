import { type Html, html } from './html.ts'
import { symbol } from './symbols.ts'
import { fill } from './words.ts'

/** Pieces that several pages share. */

export type Scope = { name: string; description: string }

/** Who asks: a tile with the app's first letter, the heading with its name, and its host, which is what cannot be made up. */
export function appHeading({ sentence, app, host }: { sentence: string; app: string; host: string }): Html {
  return html`<div class="app">
<span class="tile" aria-hidden="true">${firstLetter(app)}</span>
<div>
<h1>${fill(sentence, { app })}</h1>
<p class="host">${symbol('host')}<bdi>${host}</bdi></p>
</div>
</div>`
}

/** What the app may do, one line a scope. */
export function permissions({ scopes, app, some, none }: { scopes: Scope[]; app: string; some: string; none: string }): Html {
  if (scopes.length === 0) return html`<p class="lead">${fill(none, { app })}</p>`
  return html`<h2 class="label">${fill(some, { app })}</h2>
<ul class="permissions">
${scopes.map((scope) => html`<li>${symbol('tick')}<span>${scope.description || scope.name} <code>${scope.name}</code></span></li>`)}
</ul>`
}

function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name)
  return first?.segment.toUpperCase() ?? ''
}
