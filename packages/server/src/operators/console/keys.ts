/** The page of the keys. */

import { type Html, html } from '../../pages/html.ts'
import { isNeeded, KIND_WORDS, listKeys, retireKey, rotateKey, type ShownKey } from '../operations/keys.ts'
import { addChange } from './change.ts'
import { buttonLink, doneMessage, moment, pathTo, section, table, tag, titleRow } from './parts.ts'
import { day, fromNow } from './times.ts'
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
    const keys = (await visit.run(listKeys)).output.items
    const kinds = Object.keys(KIND_WORDS).filter((kind) => keys.some((key) => key.kind === kind))
    return {
      title: 'Keys',
      content: html`${titleRow('Keys')}
${doneMessage(doneOf(visit, [rotateKey, retireKey]))}
<p class="lead">A new key is announced for a minute. Then it is in use until the next key takes over. After that, it only opens what it made. When everything that it made has expired, the key is retired. You need not do anything.</p>
<ul class="legend" aria-hidden="true"><li class="key-announced">announced</li><li class="key-used">in use</li><li class="key-opens">opens only</li><li class="key-now">now</li></ul>
${kinds.map((kind) => section(KIND_WORDS[kind] ?? kind, kindSection(kind, keys, visit)))}`,
    }
  })
  const home = (): string => PLACE
  addChange(console, { operation: rotateKey, path: `${PLACE}/rotate`, form: null, hasRecord: false, home })
  addChange(console, { operation: retireKey, path: `${PLACE}/:id/retire`, form: null, hasRecord: false, home })
}

function kindSection(kind: string, all: ShownKey[], { now, may }: Visit): Html {
  const keys = all.filter((key) => key.kind === kind).sort((a, b) => b.starts_at - a.starts_at)
  const mayChange = may('admin.keys')
  return html`${table(
    KIND_WORDS[kind] ?? kind,
    [
      { name: 'Key', cell: ({ key_id: id }) => html`<code>${id}</code>`, kind: 'main' },
      { name: 'Algorithm', cell: ({ algorithm }) => algorithm },
      { name: 'Made', cell: ({ created_at: at }) => fromNow(at, now) },
      { name: 'State', cell: ({ state }) => tag(STATES[state][0], STATES[state][1]) },
      { name: 'Opens until', cell: untilOf },
      mayChange && { name: 'Retire', cell: (key) => retireLink(key, now) },
    ],
    keys,
    'There is no key of this kind.',
  )}
${timeline(keys, now)}
${mayChange && html`<p class="page-actions">${buttonLink(`/console/keys/rotate?kind=${encodeURIComponent(kind)}`, 'Rotate now')}</p>`}`
}

/** A key that is still needed is retired only after a leak, with everything that it made. */
function retireLink(key: ShownKey, now: number): Html | string {
  const given = isNeeded(key, now) ? '?at_once=yes' : ''
  return key.state === 'retired' ? '–' : buttonLink(`${pathTo('keys', key.key_id, 'retire')}${given}`, 'Retire', 'danger')
}

function untilOf({ state, opens_until: until, retired_at: retiredAt }: ShownKey): Html | string {
  if (retiredAt !== null) return html`retired ${moment(retiredAt)}`
  return state === 'opens' && until !== null ? moment(until) : 'the next key'
}

const WIDTH = 600
const ROW = 14
const DAY = 86_400

/** The life of each key on one line of time: used, opening only, retired. The table has the same facts as text. */
function timeline(keys: ShownKey[], now: number): Html {
  const first = Math.min(...keys.map(({ created_at: at }) => at), now - 60)
  const last = Math.max(...keys.map(({ opens_until: until }) => until ?? now), now) + Math.max(60, (now - first) / 10)
  const x = (at: number): number => Math.round(((Math.min(Math.max(at, first), last) - first) / (last - first)) * WIDTH * 10) / 10
  const rows = keys.map((key, index) => {
    const y = index * ROW + 4
    const { starts_at: startsAt, opens_until: until, retired_at: retiredAt, created_at: createdAt } = key
    const end = retiredAt ?? until ?? last
    const successor = keys[index - 1]
    const used = Math.min(end, successor ? Math.max(startsAt, successor.starts_at) : last)
    const begin = Math.max(startsAt, createdAt)
    return html`<rect class="announced" x="${x(createdAt)}" y="${y}" width="${Math.max(0, x(begin) - x(createdAt))}" height="8"/><rect class="used" x="${x(begin)}" y="${y}" width="${Math.max(1, x(used) - x(begin))}" height="8" rx="2"/><rect class="opens" x="${x(used)}" y="${y}" width="${Math.max(0, x(end) - x(used))}" height="8" rx="2"/>`
  })
  const height = keys.length * ROW + 4
  const label = last - first < 2 * DAY ? moment : day
  return html`<svg class="timeline" viewBox="0 0 ${WIDTH} ${height}" height="${height}" preserveAspectRatio="none" role="img" aria-label="The life of ${keys.length === 1 ? 'this key' : `these ${keys.length} keys`}, as in the table">${rows}<path class="now" d="M${x(now)} 0V${height}"/></svg>
<p class="axis" aria-hidden="true"><span>${label(first)}</span><span>${label(last)}</span></p>`
}
