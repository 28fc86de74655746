import { type Html, html } from './html.ts'
import type { Reader } from './languages.ts'
import { fill } from './words.ts'

/** The name of a browser and its system, from the text that is stored with a session: `Firefox/Windows`. A part may be empty. */
export function browserTitle(name: string, { texts }: Reader): Html {
  const { elsewhere, browserOn } = texts.account
  const [browser = '', system = ''] = name.split('/')
  if (system === '') return html`${browser || elsewhere}`
  return fill(browserOn, { browser: browser || elsewhere, system })
}
