/** Plots, drawn on the server as SVG. The text beside a plot has its numbers, so the drawing is not the only form. */
import { type Html, html } from '../../pages/html.ts'

export type PlotLine = { name: string; values: (number | null)[] }

const WIDTH = 600
const HEIGHT = 120
const TOP = 2
const BOTTOM = 2

type PlotView = {
  lines: PlotLine[]
  summary: string
  format: (value: number) => string
  empty: string
  /** the first and the last moment */
  ends: readonly [first: string, last: string]
}

/** `summary` is read in place of the drawing. `format` writes the largest value at the scale. `empty`: there is no value above zero. */
export function plot({ lines, summary, format, empty, ends: [first, last] }: PlotView): Html {
  const top = Math.max(...lines.flatMap(({ values }) => values.map((value) => value ?? 0)))
  if (top <= 0) return html`<p class="lead empty">${empty}</p>`
  return html`<p class="axis" aria-hidden="true"><span>${format(top)}</span></p>
<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}" preserveAspectRatio="none">
<path class="scale" d="M0 ${TOP}H${WIDTH}M0 ${HEIGHT - BOTTOM}H${WIDTH}"/>
${lines.map(({ values }, index) => html`<path class="line line-${index}" d="${pathOf(values, top)}"/>`)}
</svg>
<p class="axis" aria-hidden="true"><span>${first}</span><span>${last}</span></p>
${lines.length > 1 && html`<ul class="legend" aria-hidden="true">${lines.map(({ name }, index) => html`<li class="key-${index}">${name}</li>`)}</ul>`}`
}

type BarsView = Omit<PlotView, 'lines'> & { values: readonly number[] }

/** One bar for each value. */
export function bars({ values, summary, format, empty, ends: [first, last] }: BarsView): Html {
  const top = Math.max(...values)
  if (top <= 0) return html`<p class="lead empty">${empty}</p>`
  const width = WIDTH / values.length
  const height = HEIGHT - BOTTOM - TOP
  const bar = (value: number, index: number): string => {
    const rise = round((height * value) / top)
    return value === 0 ? '' : `M${round(index * width)} ${HEIGHT - BOTTOM}v-${rise}h${round(width * 0.7)}v${rise}z`
  }
  return html`<p class="axis" aria-hidden="true"><span>${format(top)}</span></p>
<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}" preserveAspectRatio="none">
<path class="scale" d="M0 ${TOP}H${WIDTH}M0 ${HEIGHT - BOTTOM}H${WIDTH}"/>
<path class="bars" d="${values.map(bar).join('')}"/>
</svg>
<p class="axis" aria-hidden="true"><span>${first}</span><span>${last}</span></p>`
}

/** A gap where a value is missing. */
function pathOf(values: (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length - 1)
  const height = HEIGHT - BOTTOM - TOP
  let isDown = false
  return values
    .map((value, index) => {
      if (value === null) {
        isDown = false
        return ''
      }
      const point = `${round(index * step)} ${round(TOP + height * (1 - value / top))}`
      const command = isDown ? `L${point}` : `M${point}h.1L${point}`
      isDown = true
      return command
    })
    .join('')
}

const round = (value: number): number => Math.round(value * 10) / 10
