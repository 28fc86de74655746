import { decodeAccessToken } from '../access-token.ts'
import { shortenAddresses } from '../mask.ts'
import type { Html } from './html.ts'
import { html } from './html.ts'
import { timeOfDay } from './layout.ts'
import { claimMeanings } from './meanings.ts'

/** The token's header and claims, one row each, with their meaning. */
export function claimsView(accessToken: string): Html {
  const { header, claims } = decodeAccessToken(accessToken)
  return html`<table class="claims" id="claims">
<thead><tr><th scope="col">Claim</th><th scope="col">Value</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries({ ...header, ...claims }).map(
    ([name, value]) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${show(name, value)}</td><td>${claimMeanings[name]}</td></tr>`,
  )}</tbody>
</table>`
}

const TIMES = ['exp', 'iat', 'auth_time']

function show(name: string, value: unknown): string {
  if (TIMES.includes(name) && typeof value === 'number') return `${value} (${timeOfDay(value)})`
  return shortenAddresses(typeof value === 'string' ? value : JSON.stringify(value))
}
