/** Charts of the documentation: bars or lines, as plain SVG in light or dark as the reader prefers. */

export type Bar = { series: string; value: number }
export type Group = { label: string; bars: Bar[] }

const WIDTH = 760
const LEFT = 230
const RIGHT = 90
const MARGIN = 12
const [BAR, GAP, GROUP_GAP, TOP] = [16, 3, 16, 58]

/** The colours of each series on a light and on a dark ground. */
const COLOURS = [
  ['#1f6feb', '#58a6ff'],
  ['#9a6700', '#d29922'],
  ['#8c959f', '#6e7681'],
] as const

/** `left`: the width of the labels; `digits`: of the values, after the point; `aim`: a value that is marked by a line. */
export function chartOf(title: string, groups: Group[], { left = LEFT, digits = 0, aim = 0 } = {}): string {
  const series = [...new Set(groups.flatMap(({ bars }) => bars.map((bar) => bar.series)))]
  const largest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const lengthOf = (value: number) => Math.max(1, Math.round((value / largest) * (WIDTH - left - RIGHT)))

  const lines: string[] = []
  let top = TOP
  for (const { label, bars } of groups) {
    const middle = top + (bars.length * (BAR + GAP) - GAP) / 2
    lines.push(`<text class="label" x="${left - 12}" y="${middle + 4}" text-anchor="end">${escape(label)}</text>`)
    for (const { series: name, value } of bars) {
      lines.push(
        `<rect class="s${series.indexOf(name)}" x="${left}" y="${top}" width="${lengthOf(value)}" height="${BAR}" rx="2"/>`,
      )
      lines.push(
        `<text x="${left + lengthOf(value) + 6}" y="${top + BAR - 4}">${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}</text>`,
      )
      top += BAR + GAP
    }
    top += GROUP_GAP
  }

  if (aim > 0) {
    const x = left + lengthOf(aim)
    lines.push(`<line class="grid" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${top - GROUP_GAP + 6}"/>`)
  }
  let x = left
  const legend = series.flatMap((name, index) => {
    const entry = [
      `<rect class="s${index}" x="${x}" y="32" width="11" height="11" rx="2"/>`,
      `<text x="${x + 16}" y="42">${escape(name)}</text>`,
    ]
    x += 16 + name.length * 6.8 + 24
    return entry
  })
  return drawing(title, top, [...legend, ...lines], MARGIN)
}

export type Line = { name: string; values: number[] }

const PLOT = { left: 48, right: 84, top: 40, height: 220, bottom: 32 }

/** A line for each name; the values are one for each minute. */
export function lineChartOf(title: string, all: Line[]): string {
  const count = Math.max(...all.map(({ values }) => values.length))
  const largest = Math.max(...all.flatMap(({ values }) => values))
  const [width, bottom] = [WIDTH - PLOT.left - PLOT.right, PLOT.top + PLOT.height]
  const x = (index: number) => Math.round(PLOT.left + (index / Math.max(1, count - 1)) * width)
  const y = (value: number) => Math.round((bottom - (value / largest) * PLOT.height) * 10) / 10
  const scale = [0, 0.5, 1].map(
    (share) => `<text x="${PLOT.left - 8}" y="${y(largest * share) + 4}" text-anchor="end">${(largest * share).toFixed(1)}</text>
<line class="grid" x1="${PLOT.left}" x2="${PLOT.left + width}" y1="${y(largest * share)}" y2="${y(largest * share)}"/>`,
  )
  const minutes = [1, Math.ceil(count / 2), count].map(
    (minute) => `<text x="${x(minute - 1)}" y="${bottom + 20}" text-anchor="middle">${minute}</text>`,
  )
  const lines = all.map(({ name, values }, index) => {
    const points = values.map((value, place) => `${x(place)},${y(value)}`).join(' ')
    const end = y(values.at(-1) ?? 0) + 4
    return `<polyline class="l${index}" points="${points}"/>
<text x="${PLOT.left + width + 8}" y="${end}">${escape(name)}</text>`
  })
  return drawing(title, bottom + PLOT.bottom, [...scale, ...minutes, ...lines])
}

function drawing(title: string, height: number, content: string[], titleLeft = PLOT.left): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}">
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328; font-variant-numeric: tabular-nums }
  .title { font-weight: 600; font-size: 14px } .label { font-size: 13px } .ground { fill: #fff }
  polyline { fill: none; stroke-width: 2 } .grid { stroke: #8c959f; stroke-opacity: 0.35 }
${COLOURS.map(([light], index) => `  .s${index} { fill: ${light} } .l${index} { stroke: ${light} }`).join('\n')}
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .ground { fill: #0d1117 }
${COLOURS.map(([, dark], index) => `    .s${index} { fill: ${dark} } .l${index} { stroke: ${dark} }`).join('\n')}
  }
</style>
<rect class="ground" width="${WIDTH}" height="${height}"/>
<text class="title" x="${titleLeft}" y="20">${escape(title)}</text>
${content.join('\n')}
</svg>
`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
