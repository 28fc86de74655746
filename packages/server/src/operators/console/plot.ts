/** Plots, drawn on the server as SVG. The text beside a plot has its numbers, so the drawing is not the only form. */
import { type Html, html } from '../../pages/html.ts'

/** `tone`: the colour, by the names of the styles; the place in the list unless given. */
export type PlotLine = { name: string; values: readonly (number | null)[]; tone?: number }

const WIDTH = 600
const HEIGHT = 120

type Frame = {
  /** read in place of the drawing */
  summary: string
  /** writes a value at the scale */
  format: (value: number) => string
  /** there is no value above zero */
  empty: string
  /** below the drawing, from the first moment to the last */
  times: readonly string[]
  /** for counts: the scale has whole numbers only */
  isCount?: true
}

type PlotView = Frame & { lines: readonly PlotLine[] }

export function plot({ lines, ...frame }: PlotView): Html {
  return framed(
    frame,
    lines.flatMap(({ values }) => values),
    (top) => ({
      drawing: html`${lines.map(({ values, tone }, index) => html`<path class="line line-${tone ?? index}" d="${pathOf(values, top)}"/>`)}`,
      below:
        lines.length > 1 &&
        html`<ul class="legend" aria-hidden="true">${lines.map(({ name, tone }, index) => html`<li class="key-${tone ?? index}">${name}</li>`)}</ul>`,
    }),
  )
}

type BarsView = Frame & { values: readonly number[] }

/** One bar for each value. */
export function bars({ values, ...frame }: BarsView): Html {
  const width = WIDTH / values.length
  const bar = (value: number, index: number, top: number): string => {
    const rise = round((HEIGHT * value) / top)
    return value === 0 ? '' : `M${round((index + 0.15) * width)} ${HEIGHT}v-${rise}h${round(width * 0.7)}v${rise}z`
  }
  return framed(frame, values, (top) => ({
    drawing: html`<path class="bars" d="${values.map((value, index) => bar(value, index, top)).join('')}"/>`,
    below: false,
  }))
}

/** The scale at the side has the largest value, the half, and zero. */
function framed(
  { summary, format, empty, times, isCount }: Frame,
  values: readonly (number | null)[],
  draw: (top: number) => { drawing: Html; below: Html | false },
): Html {
  const most = Math.max(0, ...values.map((value) => value ?? 0))
  if (most === 0) return html`<p class="lead empty">${empty}</p>`
  const top = roundTop(isCount ? Math.max(2, most) : most)
  const { drawing, below } = draw(top)
  return html`<div class="plot-frame">
<p class="scale-names" aria-hidden="true"><span>${format(top)}</span><span>${format(top / 2)}</span><span>0</span></p>
<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}" preserveAspectRatio="none">
<path class="scale" d="M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}"/>
${drawing}
</svg>
<p class="axis" aria-hidden="true">${times.map((time) => html`<span>${time}</span>`)}</p>
</div>
${below}`
}

/** The next of 2, 4, 6, 8, 10, 20, 40 …: the half of each is easy to read too. */
function roundTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [2, 4, 6, 8, 10].find((each) => each * power >= value) ?? 10
  return step * power
}

/** A gap where a value is missing. */
function pathOf(values: readonly (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length - 1)
  let isDown = false
  return values
    .map((value, index) => {
      if (value === null) {
        isDown = false
        return ''
      }
      const point = `${round(index * step)} ${round(HEIGHT * (1 - value / top))}`
      const command = isDown ? `L${point}` : `M${point}h.1L${point}`
      isDown = true
      return command
    })
    .join('')
}

const round = (value: number): number => Math.round(value * 10) / 10
