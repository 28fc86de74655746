/** The page of the keys. */

import { type Html, html } from '../../pages/html.ts'
import { isNeeded, KIND_WORDS, listKeys, retireKey, rotateKey, type ShownKey } from '../operations/keys.ts'
import { addChange } from './change.ts'
import { buttonLink, type Column, doneMessage, moment, pathTo, table, tag, titleRow } from './parts.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, doneOf, type Visit } from './visit.ts'

const PLACE = '/console/keys'

const STATES = {
  announced: ['announced', 'plain'],
  makes: ['in use', 'good'],
  opens: ['opens only', 'warn'],
  retired: ['retired', 'plain'],
} as const satisfies Record<ShownKey['state'], readonly [string, 'good' | 'plain' | 'warn']>

export function keyPages(console: Console): void {
  addPage(console, PLACE, async (visit) => {
    const kinds = Object.keys(KIND_WORDS)
    const keys = (await visit.run(listKeys)).output.items.toSorted(
      (a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || b.starts_at - a.starts_at,
    )
    const isRetired = ({ state }: ShownKey): boolean => state === 'retired'
    const retired = keys.filter(isRetired)
    return {
      title: 'Keys',
      content: html`${titleRow('Keys')}
${doneMessage(doneOf(visit, [rotateKey, retireKey]))}
<p class="lead">A new key is announced for a minute. Then it is in use until the next key takes over. After that, it only opens what it made. When everything that it made has expired, the key is retired. You need not do anything.</p>
${keysTable(
  'Keys',
  keys.filter((key) => !isRetired(key)),
  visit,
)}
${retired.length > 0 && html`<details class="block"><summary>Retired keys</summary>${keysTable('Retired keys', retired, visit)}</details>`}`,
    }
  })
  const home = (): string => PLACE
  addChange(console, { operation: rotateKey, path: `${PLACE}/rotate`, form: null, hasRecord: false, home })
  addChange(console, { operation: retireKey, path: `${PLACE}/:id/retire`, form: null, hasRecord: false, home })
}

function keysTable(caption: string, keys: ShownKey[], { now, may }: Visit): Html {
  const columns: (Column<ShownKey> | false)[] = [
    { name: 'Makes', cell: ({ kind }) => KIND_WORDS[kind] ?? kind, kind: 'main' },
    { name: 'Key', cell: ({ key_id: id, algorithm }) => html`<code>${id}</code><br><span class="fine">${algorithm}</span>` },
    { name: 'State', cell: ({ state }) => tag(STATES[state][0], STATES[state][1]) },
    { name: 'Made', cell: ({ created_at: at }) => fromNow(at, now) },
    { name: 'Next', cell: (key) => nextOf(key, now) },
    may('admin.keys') && { name: 'Change', cell: (key) => html`<span class="page-actions">${changesOf(key, now)}</span>` },
  ]
  return table(caption, columns, keys, 'There is no key.')
}

/** What happens to the key next, and when. */
function nextOf(
  { state, rotates_at: rotates, starts_at: starts, opens_until: until, retired_at: retired }: ShownKey,
  now: number,
): Html | string {
  if (retired !== null) return html`retired ${moment(retired)}`
  if (state === 'announced') return html`in use ${fromNow(starts, now)}`
  if (until !== null) return html`retired ${fromNow(until, now)}`
  return rotates === null ? 'a new key takes over' : html`rotation ${fromNow(rotates, now)}`
}

/** A key that is still needed is retired only after a leak, with everything that it made. */
function changesOf(key: ShownKey, now: number): Html | string {
  if (key.state === 'retired') return '–'
  const given = isNeeded(key, now) ? '?at_once=yes' : ''
  const isYoungest = key.rotates_at !== null
  return html`${isYoungest && buttonLink(`${PLACE}/rotate?kind=${encodeURIComponent(key.kind)}`, 'Rotate now')} ${buttonLink(`${pathTo('keys', key.key_id, 'retire')}${given}`, 'Retire', 'danger')}`
}
